package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// state is an error as PostgreSQL makes it.
type state string

func (s state) Error() string    { return "the server says " + string(s) }
func (s state) SQLState() string { return string(s) }

const constraint, deadlock = state("23514"), state("40P01")

// script is a connection that keeps the texts it is asked with, and refuses some.
type script struct {
	asked   []string
	refuse  map[string]error
	changed int64            // what each statement changes
	rows    []string         // the ids of the rows that each query finds
	spoilt  error            // of reading a row
	numbers map[string]int64 // what the queries of one number find
	words   map[string]string
	given   []any // to the last query
}

func (s *script) answer(text string) error {
	s.asked = append(s.asked, text)
	return s.refuse[text]
}

func (s *script) exec(_ context.Context, text string, _ ...any) (sql.Result, error) {
	return sqldriver.RowsAffected(s.changed), s.answer(text)
}

func (s *script) query(_ context.Context, each func(Rows) error, text string, args ...any) error {
	s.given = args
	if err := s.answer(text); err != nil {
		return err
	}
	if word, ok := s.words[text]; ok {
		return each(&scripted{id: word})
	}
	if n, ok := s.numbers[text]; ok {
		return each(&scripted{n: n})
	}
	for _, id := range s.rows {
		if err := each(&scripted{id: id, spoilt: s.spoilt}); err != nil {
			return err
		}
	}
	return nil
}

// scripted is a row whose id is known, in the state on at revision 3, or a number.
type scripted struct {
	id     string
	n      int64
	spoilt error
}

func (r *scripted) Scan(dest ...any) error {
	if len(dest) == 1 {
		switch to := dest[0].(type) {
		case *int64:
			*to = r.n
		case *string:
			*to = r.id
		}
		return nil
	}
	*dest[0].(*string), *dest[1].(*string), *dest[2].(*int64) = r.id, "on", 3
	return errors.Join(r.spoilt, dest[3].(sql.Scanner).Scan(int64(0)), dest[4].(sql.Scanner).Scan(int64(0)))
}

func scriptedTx(t *testing.T, d Dialect, how mode) (*txn, *script) {
	t.Helper()
	tab, err := newTable(&Store{dialect: d}, &driver.Schema{Machine: "m", Table: "m", Columns: []driver.Column{}})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{refuse: map[string]error{}, changed: 1}
	return &txn{reader: reader{ctx: t.Context(), t: tab, q: s}, mode: how}, s
}

func (s *script) want(t *testing.T, texts ...string) {
	t.Helper()
	if diff := cmp.Diff(texts, s.asked); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

// A careful transaction on a server makes a savepoint before each write, keeps one
// at a time, and goes back to it when the write is refused.
func TestCarefulWrites(t *testing.T) {
	t.Parallel()
	const save, next, back = "SAVEPOINT fsm_write", "RELEASE SAVEPOINT fsm_write; SAVEPOINT fsm_write", "ROLLBACK TO SAVEPOINT fsm_write"
	x, s := scriptedTx(t, Postgres(), mode{careful: true})
	s.refuse["b"] = constraint
	for _, text := range []string{"a", "b", "c"} {
		n, err := x.change(text)
		if want := s.refuse[text]; !errors.Is(err, want) || want == nil && (n != 1 || !x.changed) {
			t.Errorf("%s: %d, %v, want the refusal %v", text, n, err, want)
		}
	}
	s.want(t, save, "a", next, "b", back, next, "c")

	for name, c := range map[string]struct {
		refuse map[string]error
		asked  []string
	}{
		"no savepoint is to be had": {map[string]error{save: deadlock}, []string{save}},
		"no way back":               {map[string]error{"a": constraint, back: deadlock}, []string{save, "a", back}},
		"another writer":            {map[string]error{"a": deadlock}, []string{save, "a"}},
	} {
		x, s := scriptedTx(t, Postgres(), mode{careful: true})
		s.refuse = c.refuse
		for range 2 { // nothing is done after it
			if _, err := x.change("a"); !errors.Is(err, fsm.ErrBusy) {
				t.Errorf("%s: %v, want ErrBusy", name, err)
			}
		}
		s.want(t, c.asked...)
	}
}

// A transaction that is not careful makes no savepoint: on a server a refusal ends
// it, for it to be run again as a careful one. SQLite goes on.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		x, s := scriptedTx(t, Postgres(), mode{strict: strict})
		s.refuse["b"] = constraint
		if _, err := x.change("a"); err != nil {
			t.Error(err)
		}
		for range 2 {
			_, err := x.change("b")
			if more := (*anew)(nil); !errors.As(err, &more) || more.mode != (mode{strict: strict, careful: true}) {
				t.Errorf("strict %t: %v, want it run again as careful", strict, err)
			}
		}
		s.want(t, "a", "b")
	}
	x, s := scriptedTx(t, SQLite(), mode{strict: true, careful: true}) // as a caller's transaction is
	s.refuse["b"] = code{"constraint failed: fsm: m: it is so", 1811}
	for _, text := range []string{"a", "b", "c"} {
		if _, err := x.change(text); !errors.Is(err, s.refuse[text]) {
			t.Errorf("%s: %v, want %v", text, err, s.refuse[text])
		}
	}
	s.want(t, "a", "b", "c")
	x, s = scriptedTx(t, SQLite(), mode{})
	s.changed = 0
	if n, err := x.change("a"); n != 0 || err != nil || x.changed {
		t.Errorf("a write that changed nothing: %d, %v, changed is %t", n, err, x.changed)
	}
	for _, n := range []int64{1, 0} {
		s.changed = n
		if got, err := x.change("a"); got != n || err != nil || !x.changed {
			t.Errorf("a write that changed %d: %d, %v, changed is %t", n, got, err, x.changed)
		}
	}
}

// A transaction becomes one that sees no other writer while nothing has run in it;
// after that it is to be run again.
func TestStrict(t *testing.T) {
	t.Parallel()
	const set = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"
	x, s := scriptedTx(t, Postgres(), mode{})
	for range 2 {
		if err := x.strict(); err != nil {
			t.Error(err)
		}
	}
	s.want(t, set)
	for name, run := range map[string]func(x *txn) error{
		"a read":  func(x *txn) error { _, err := x.found("a"); return err },
		"a write": func(x *txn) error { _, err := x.change("a"); return err },
	} {
		for _, careful := range []bool{false, true} {
			x, s := scriptedTx(t, Postgres(), mode{careful: careful})
			if err := run(x); err != nil {
				t.Error(err)
			}
			asked := len(s.asked)
			err := x.strict()
			if more := (*anew)(nil); !errors.As(err, &more) || more.mode != (mode{strict: true, careful: careful}) || len(s.asked) != asked {
				t.Errorf("after %s: %v, want it run again as strict", name, err)
			}
			if again := x.strict(); again != err {
				t.Errorf("after %s: %v the second time, want %v", name, again, err)
			}
		}
	}
	x, s = scriptedTx(t, Postgres(), mode{})
	s.refuse[set] = deadlock
	for range 2 { // nothing is done after it
		if err := x.strict(); !errors.Is(err, fsm.ErrBusy) || x.mode.strict {
			t.Errorf("got %v, strict is %t, want ErrBusy", err, x.mode.strict)
		}
	}
	s.want(t, set)
	x, s = scriptedTx(t, SQLite(), mode{}) // whose only writer it is
	if _, err := x.change("a"); err != nil || x.strict() != nil {
		t.Errorf("%v, %v", err, x.strict())
	}
	s.want(t, "a")
}

// The row that a request locked is not asked for again, unless it is another one
// or a write came between.
func TestLockedRowIsReadOnce(t *testing.T) {
	t.Parallel()
	x, s := scriptedTx(t, Postgres(), mode{})
	lock, ask, batch := x.t.text("row_locked"), x.t.text("request"), x.t.text("request_of_machine")
	if !strings.HasSuffix(lock, " FOR NO KEY UPDATE") {
		t.Fatalf("%s locks nothing", lock)
	}
	events := map[string]error{ask: errors.New("no events here"), batch: errors.New("no events here")}
	s.rows = []string{"x"}
	step := func(what string, f func() error, texts ...string) {
		t.Helper()
		x.err, s.asked, s.refuse = nil, nil, events // the log is not what this is about
		_ = f()
		if diff := cmp.Diff(texts, s.asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	request := func(id, request string) func() error {
		return func() error { _, err := x.Request(id, request); return err }
	}
	row := func(id string) func() error {
		return func() error {
			r, err := x.Row(id)
			if err != nil || r.State != "on" || r.Rev != 3 {
				t.Errorf("row %s: %+v, %v", id, r, err)
			}
			return err
		}
	}
	step("a request of a record", request("x", "r"), lock, ask)
	step("the same again", request("x", "r"), ask)
	step("its row", row("x"))
	step("its row again", row("x"), lock)
	step("no request", request("x", ""))
	step("a request of nobody", request("", "r"), batch)
	step("a request of a record", request("x", "r"), lock, ask)
	step("another row", row("y"), lock)
	step("another record", request("z", "r"), lock, ask)
	step("a write", func() error { _, err := x.change("w"); return err }, "w")
	step("the row after a write", row("x"), lock)

	s.rows = nil
	step("a request of who is not there", request("x", "r"), lock, ask)
	if x.kept != nil {
		t.Errorf("a row is kept that there is not: %+v", x.kept)
	}
	x.err, s.asked, s.refuse = nil, nil, map[string]error{lock: deadlock}
	if _, err := x.Request("x", "r"); !errors.Is(err, fsm.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	s.want(t, lock)

	x, s = scriptedTx(t, Postgres(), mode{})
	s.rows, s.spoilt = []string{"x"}, errors.New("not to be read")
	if _, err := x.Request("x", "r"); !errors.Is(err, s.spoilt) {
		t.Errorf("got %v, want %v", err, s.spoilt)
	}
	s.want(t, lock)

	x, s = scriptedTx(t, SQLite(), mode{}) // which locks all
	if _, err := x.Request("x", "r"); err != nil {
		t.Error(err)
	}
	s.want(t, x.t.text("request"))
}

// lent is a transaction of another driver.
type lent struct {
	Querier
	ended bool
}

func (l *lent) Ended() bool { return l.ended }

func TestEndOfALentTransaction(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		if got := (&txn{foreign: &lent{ended: ended}}).Ended(); got != ended {
			t.Errorf("got %t, want %t", got, ended)
		}
	}
}

// What cannot be written is refused before the database is asked.
func TestUnfitWrites(t *testing.T) {
	t.Parallel()
	ref := driver.Ref{ID: "x", Rev: 1}
	row, wide := &driver.Row{ID: "x"}, &driver.Row{ID: "x", Values: []any{1}}
	for want, f := range map[string]func(x *txn) error{
		"1 values":      func(x *txn) error { return x.Write(&driver.Write{Prev: ref, Row: wide}) },
		" 1 values, m ": func(x *txn) error { return x.Write(&driver.Write{Prev: ref, Row: row, Old: wide}) },
		"without a row": func(x *txn) error { return x.Write(&driver.Write{Prev: driver.Ref{ID: "x"}}) },
		"group g has 1 columns and 2 values": func(x *txn) error {
			_, err := x.Peers(driver.PeerQuery{Name: "g", Columns: []string{"a"}, Values: []any{1, 2}})
			return err
		},
		"group s has 1 columns and 0 values": func(x *txn) error {
			_, err := x.NextNumber(driver.PeerQuery{Name: "s", Columns: []string{"a"}})
			return err
		},
	} {
		x, s := scriptedTx(t, SQLite(), mode{})
		if err := f(x); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
		if s.asked != nil {
			t.Errorf("%s: the database was asked %q", want, s.asked)
		}
	}
}

// A write to a server is one statement; one that did nothing is explained.
func TestWriteInOneStatement(t *testing.T) {
	t.Parallel()
	w := &driver.Write{Prev: driver.Ref{ID: "x", Rev: 3}, PrevState: "on", Row: &driver.Row{ID: "x", State: "off", Rev: 4},
		Event: driver.Event{ID: "x", Rev: 4, Operation: "go", From: "on", To: "off", RequestN: -1}}
	x, s := scriptedTx(t, Postgres(), mode{})
	text, _ := x.t.writing(true, w)
	if err := x.Write(w); err != nil || x.last != w {
		t.Errorf("got %v, the last write is %v", err, x.last)
	}
	s.want(t, text)
	s.asked, s.changed, s.words = nil, 0, map[string]string{x.t.text("explain_write"): "moved"}
	if err := x.Write(w); !errors.Is(err, driver.ErrMoved) {
		t.Errorf("got %v, want ErrMoved", err)
	}
	s.want(t, text, x.t.text("explain_write"))
	s.asked, s.changed, s.refuse[text] = nil, 1, deadlock
	if err := x.Write(w); !errors.Is(err, fsm.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	s.want(t, text)
}

// A call that is recorded only locks its record on a server before its number is
// counted, and is written no more when the record has moved.
func TestRecordedCallLocksItsRecord(t *testing.T) {
	t.Parallel()
	begin := func() (*txn, *script, *driver.Write) {
		x, s := scriptedTx(t, Postgres(), mode{})
		return x, s, &driver.Write{Prev: driver.Ref{ID: "x", Rev: 3}, PrevState: "on",
			Event: driver.Event{ID: "x", Rev: 3, N: 5, Operation: "go", From: "on", To: "on", RequestN: -1}}
	}
	x, s, w := begin()
	insert := x.t.writes.record().text
	w.Event.N, s.rows, s.numbers = 0, []string{"x"}, map[string]int64{x.t.text("record_n"): 5}
	if err := x.Write(w); err != nil || w.Event.N != 5 {
		t.Errorf("got %v and the number %d, want 5", err, w.Event.N)
	}
	s.want(t, x.t.text("row_locked"), x.t.text("await_batches"), x.t.text("record_n"), insert)
	x, s, w = begin() // where nobody is
	s.words = map[string]string{x.t.text("explain_write"): "moved"}
	if err := x.Write(w); !errors.Is(err, driver.ErrMoved) {
		t.Errorf("got %v, want ErrMoved", err)
	}
	s.want(t, x.t.text("row_locked"), x.t.text("await_batches"), x.t.text("record_n"), x.t.text("explain_write"))
	x, s, w = begin()
	s.refuse[x.t.text("row_locked")] = deadlock
	if err := x.Write(w); !errors.Is(err, fsm.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	s.want(t, x.t.text("row_locked"))
	x, s, w = begin()
	s.rows, s.spoilt = []string{"x"}, errors.New("not to be read")
	if err := x.Write(w); !errors.Is(err, s.spoilt) {
		t.Errorf("got %v, want %v", err, s.spoilt)
	}
	s.want(t, x.t.text("row_locked"))
}
