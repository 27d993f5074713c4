package sqlstore

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var classNames = map[class]string{ambiguous: "ambiguous", definite: "definite", busy: "busy", stop: "stop"}

// listed calls f with each code of a list, and the name of its class.
func listed(t *testing.T, file string, least int, f func(code, class string)) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if v := strings.Fields(line); v[0] != "#" {
			f(v[0], v[1])
			n++
		}
	}
	if n < least {
		t.Errorf("%s lists %d codes, expected %d at least", file, n, least)
	}
}

// Each code has one class, and the engine hears of it by one kind of answer, whether the
// statement was a transaction of its own or one of many.
func TestEachCodeHasOneClass(t *testing.T) {
	t.Parallel()
	check := func(d Dialect, err error, code, want string) {
		t.Helper()
		f := d.failure(err)
		got := classNames[f.class()]
		if f == failFull {
			if got = "full"; !d.aborted(err) { // the commit may be in the log, and the store goes on
				got = "logged"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
		s := &Store{dialect: d, file: "x.db"}
		if d.server() {
			s.file = ""
		}
		tab := &table{store: s, dialect: d, schema: &driver.Schema{Machine: "m"}}
		w := step(func(*driver.Write) {})
		within, atCommit := tab.blame(w, err), tab.lost(w, err)
		var refused *fsm.Refusal
		refuses := errors.As(within, &refused)
		poisoned := s.Failed() != nil
		switch want {
		case "definite":
			if !refuses || refused.Retry() != fsm.NoRetry || !errors.As(atCommit, &refused) || poisoned {
				t.Errorf("%s: %v and %v at the commit, want refusals, the same for the same call", code, within, atCommit)
			}
		case "busy":
			if !errors.Is(within, fsm.ErrBusy) || !errors.Is(atCommit, fsm.ErrBusy) || poisoned {
				t.Errorf("%s: %v and %v at the commit, want busy", code, within, atCommit)
			}
		case "stop":
			if !errors.Is(within, fsm.ErrPoisoned) || !errors.Is(within, ErrCorrupt) || !errors.Is(s.poisoned("m"), fsm.ErrPoisoned) || !errors.Is(s.Failed(), ErrCorrupt) || !errors.Is(s.Failed(), err) {
				t.Errorf("%s: %v, and the store says %v; want both to say that it takes no more writes", code, within, s.Failed())
			}
			if !d.server() == d.aborted(err) {
				t.Errorf("%s: at the commit it says that nothing was written: %t", code, d.aborted(err))
			}
		case "full":
			if !errors.Is(atCommit, fsm.ErrFull) || !errors.Is(within, fsm.ErrFull) || poisoned {
				t.Errorf("%s: %v, and %v at the commit, want ErrFull", code, within, atCommit)
			}
		case "logged":
			if !errors.Is(atCommit, fsm.ErrAmbiguous) || !errors.Is(within, fsm.ErrFull) || poisoned {
				t.Errorf("%s: %v, and %v at the commit, want ErrFull, and an ambiguous one there", code, within, atCommit)
			}
		case "ambiguous":
			if !errors.Is(atCommit, fsm.ErrAmbiguous) || errors.Is(within, fsm.ErrAmbiguous) || d.aborted(err) || poisoned != (s.file != "") {
				t.Errorf("%s: %v, and %v at the commit, want an ambiguous one there", code, within, atCommit)
			}
		}
	}
	listed(t, "sqlstates.txt", 240, func(code, class string) { check(Postgres(), fmt.Errorf("wrapped: %w", state(code)), code, class) })
	listed(t, "sqlitecodes.txt", 100, func(text, class string) {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		check(SQLite(), fmt.Errorf("wrapped: %w", code{"said", n}), text, class)
	})
}

// The list has each code of an error in the lists of the servers that are installed.
func TestListOfServersIsWhole(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("/usr/share/postgresql/*/errcodes.txt")
	if err != nil || len(files) == 0 {
		t.Skip("no server with its list of codes is installed here")
	}
	known := map[string]bool{}
	listed(t, "sqlstates.txt", 240, func(code, _ string) { known[code] = true })
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if v := strings.Fields(line); len(v) > 2 && v[1] == "E" && len(v[0]) == 5 && !known[v[0]] {
				t.Errorf("%s: %s (%s) is not in sqlstates.txt", file, v[0], v[2])
			}
		}
	}
}

// Without a code the server has not spoken: the connection is gone, or nobody knows.
func TestWithoutACode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want failure
	}{
		{sqldriver.ErrBadConn, failLost}, {context.DeadlineExceeded, failLost}, {errors.New("conn closed"), failLost},
		{errors.New("commit unexpectedly resulted in rollback"), failGone}, {errors.New("?"), failOpen}, {nil, failOpen}, {state("?"), failOpen},
	} {
		if got := Postgres().failure(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
	}
}

// What the database said can be taken out of a refusal, whatever the driver.
func TestDatabaseError(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"42501": state("42501"), "8": code{"attempt to write a readonly database", 8}} {
		d := Postgres()
		if want == "8" {
			d = SQLite()
		}
		tab := &table{store: &Store{dialect: d}, dialect: d, schema: &driver.Schema{Machine: "m"}}
		refused := tab.fault("write", err)
		var said *DatabaseError
		if !errors.Is(refused, fsm.ErrDenied) || !errors.As(refused, &said) || said.Code != want || !errors.Is(refused, err) || !strings.Contains(refused.Error(), err.Error()) {
			t.Errorf("%v", refused)
		}
	}
}

// duplicate is an error of a unique index, by a server that speaks German.
type duplicate struct {
	state
	ConstraintName string
}

func (d duplicate) Error() string {
	return fmt.Sprintf("FEHLER: doppelter Schlüsselwert verletzt Unique-Constraint „%s“ (SQLSTATE 23505)", d.ConstraintName)
}

// An index of the generated schema may refuse what another writer has just committed; one of the
// user's own refuses for good.
func TestWhoseIndex(t *testing.T) {
	t.Parallel()
	for index, ours := range map[string]bool{"m_pkey": true, "m_events_request": true, "m_unique_lane": true, "m_outbox_pkey": true, "m_groups_pkey": true,
		"m_lane": false, "other_events_request": false, "m": false, "": true, strings.Repeat("x", 63): true} {
		if got := Postgres().hidden(duplicate{"23505", index}, "m"); got != ours {
			t.Errorf("%q: %t, want %t", index, got, ours)
		}
	}
	if Postgres().hidden(duplicate{"23503", "m_pkey"}, "m") {
		t.Error("another rule is taken for an index")
	}
}
