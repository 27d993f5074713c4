package sqlstore

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the driver

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// names are the statements' names by their texts.
func (t *table) names() map[string]string {
	list := map[string]string{}
	for _, q := range t.queries() {
		list[q.Text] = q.Name
	}
	return list
}

// Why a write did nothing is one question, and then as many as are needed.
func TestWhyAWriteDidNothing(t *testing.T) {
	t.Parallel()
	const unique = state("23505")
	move := func(change func(w *driver.Write)) *driver.Write {
		w := &driver.Write{Prev: driver.Ref{ID: "x", Rev: 3}, PrevState: "on", Row: &driver.Row{ID: "x"},
			Event: driver.Event{ID: "x", Operation: "go", RequestID: "r", RequestN: -1}}
		change(w)
		return w
	}
	plain := func(*driver.Write) {}
	creation := func(w *driver.Write) { w.Prev.Rev = 0 }
	recorded := func(w *driver.Write) { w.Row = nil }
	whole := func(w *driver.Write) { w.Old = &driver.Row{} }
	for name, c := range map[string]struct {
		change func(w *driver.Write)
		cause  error
		logged bool
		why    string // what the database says
		fails  bool
		sqlite bool
		want   error // nil: no more than that it changed nothing
		then   []string
	}{
		"a known request":             {change: plain, why: "request", want: driver.ErrRequestTaken},
		"the database cannot say":     {change: plain, fails: true, want: fsm.ErrBusy},
		"it moved":                    {change: plain, why: "moved", want: driver.ErrMoved},
		"the id is taken":             {change: creation, why: "id", want: driver.ErrIDTaken},
		"another row was decided on":  {change: whole, logged: true, want: driver.ErrMoved, then: []string{"row_locked"}},
		"a rule against a whole row":  {change: whole, cause: constraint, logged: true, want: fsm.ErrInvariant},
		"a rule against a creation":   {change: creation, cause: constraint, logged: true, want: fsm.ErrInvariant},
		"what was in its way is gone": {change: plain, want: fsm.ErrBusy, then: []string{"row_locked"}},
		"a record is gone again":      {change: recorded, cause: unique, want: fsm.ErrBusy},
		"a rule":                      {change: plain, cause: constraint, want: fsm.ErrInvariant},
		"there is one writer only":    {change: plain, sqlite: true, want: fsm.ErrDenied, then: []string{"row_locked"}},
	} {
		d := Postgres()
		if c.sqlite {
			d = SQLite()
		}
		x, s := scriptedTx(t, d, mode{})
		names := x.t.names()
		s.words = map[string]string{x.t.text("explain_write"): c.why}
		if c.fails {
			s.refuse[x.t.text("explain_write")] = deadlock
		}
		err := x.explain(move(c.change), c.cause, c.logged)
		if c.want != nil && !errors.Is(err, c.want) || err == nil || c.want == nil && errors.Is(err, fsm.ErrBusy) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if again := errors.Is(err, fsm.ErrBusy); again != (x.err != nil) {
			t.Errorf("%s: the transaction keeps the error %v", name, x.err)
		}
		if r := (*fsm.Refusal)(nil); errors.Is(err, fsm.ErrInvariant) && (!errors.As(err, &r) || r.ID != "x" || r.Operation != "go") {
			t.Errorf("%s: %+v names no record and operation", name, err)
		}
		if errors.Is(err, fsm.ErrInvariant) != (c.want == fsm.ErrInvariant) {
			t.Errorf("%s: %v tells of a broken invariant, want %v", name, err, c.want)
		}
		var asked []string
		for _, text := range s.asked {
			asked = append(asked, names[text])
		}
		if diff := cmp.Diff(append([]string{"explain_write"}, c.then...), asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	x, s := scriptedTx(t, Postgres(), mode{})
	x.err = deadlock
	if err := x.explain(move(plain), nil, false); !errors.Is(err, deadlock) || s.asked != nil {
		t.Errorf("after an error: %v, asked %q", err, s.asked)
	}
}

// Who counts the records of a group locks it on a server first; records with an
// absent value are in no group, but in a sequence.
func TestGroupsAreLocked(t *testing.T) {
	t.Parallel()
	const serializable = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"
	const peers = `SELECT /* m: others */ count(*) FROM "m" WHERE "state" IN ('on') AND "a" = $1 AND "id" <> $2`
	of, _ := scriptedTx(t, Postgres(), mode{})
	lock, try := of.t.text("lock_group"), of.t.text("try_group")
	group := func(v any) driver.PeerQuery {
		return driver.PeerQuery{Name: "g", Columns: []string{"a"}, Values: []any{v}, States: []string{"on"}, Except: "x"}
	}
	begin := func(d Dialect) (*txn, *script) {
		x, s := scriptedTx(t, d, mode{})
		x.t.schema.Columns = []driver.Column{{Name: "a", Stored: "a", Kind: driver.KindString, Optional: true}}
		s.numbers = map[string]int64{peers: 4, x.t.text("number"): 6, lock: 1, try: 0}
		return x, s
	}
	x, s := begin(Postgres())
	if n, err := x.Peers(group("v")); n != 4 || err != nil {
		t.Errorf("got %d, %v, want 4", n, err)
	}
	s.want(t, serializable, lock, peers)
	x, s = begin(Postgres())
	locked := group("v")
	locked.Locked = true
	if n, err := x.Peers(locked); n != 4 || err != nil {
		t.Errorf("where locks are enough it got %d, %v, want 4", n, err)
	}
	s.want(t, lock, peers)
	x, s = begin(Postgres())
	tried := group("v")
	tried.Try = true
	if n, err := x.Peers(tried); !errors.Is(err, driver.ErrHeld) || x.err != nil {
		t.Errorf("of a group that another one has it got %d, %v, want ErrHeld and a transaction that goes on", n, err)
	}
	s.want(t, serializable, try)
	x, s = begin(Postgres())
	if n, err := x.Peers(group(nil)); n != 0 || err != nil {
		t.Errorf("an absent value has %d peers, %v", n, err)
	}
	s.want(t, serializable)
	for _, v := range []any{"v", nil} {
		x, s = begin(Postgres())
		if n, err := x.NextNumber(group(v)); n != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", n, err)
		}
		s.want(t, lock, x.t.text("number"), x.t.text("put_number"))
	}
	for _, text := range []string{serializable, lock, peers} {
		x, s = begin(Postgres())
		s.refuse[text] = deadlock
		if _, err := x.Peers(group("v")); !errors.Is(err, fsm.ErrBusy) || s.asked[len(s.asked)-1] != text {
			t.Errorf("%s is refused: %v after %q", text, err, s.asked)
		}
	}
	for _, text := range []string{lock, x.t.text("number"), x.t.text("put_number")} {
		x, s = begin(Postgres())
		s.refuse[text] = deadlock
		if n, err := x.NextNumber(group("v")); n != 0 || !errors.Is(err, fsm.ErrBusy) || s.asked[len(s.asked)-1] != text {
			t.Errorf("%s is refused: %d, %v after %q", text, n, err, s.asked)
		}
	}
	x, s = begin(SQLite()) // whose writer is alone
	if n, err := x.NextNumber(group("v")); n != 7 || err != nil {
		t.Errorf("got %d, %v, want 7", n, err)
	}
	s.want(t, x.t.text("number"), x.t.text("put_number"))
}

// An instant is the same group in every zone.
func TestGroupOfAnInstant(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	for _, v := range []time.Time{at, at.In(time.FixedZone("elsewhere", 3600))} {
		key, whole, err := groupKey(&driver.PeerQuery{Values: []any{"a", v, int64(7)}})
		if key != `["a",1772366400000005,7]` || !whole || err != nil {
			t.Errorf("%v: %s, %t, %v", v, key, whole, err)
		}
	}
}

// The other records of a group are counted whatever it is a group by.
func TestOthersOfAnyGroup(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]driver.PeerQuery{
		`SELECT count(*) FROM "main"."m" WHERE "id" <> ?`:                                                    {},
		`SELECT count(*) FROM "main"."m" WHERE "state" IN ('on') AND "id" <> ?`:                              {States: []string{"on"}},
		`SELECT count(*) FROM "main"."m" WHERE "a" = ? AND "id" <> ?`:                                        {Columns: []string{"a"}, Values: []any{"v"}},
		`SELECT count(*) FROM "main"."m" WHERE likelihood("state" IN ('on'), 0.9) AND "a" = ? AND "id" <> ?`: {States: []string{"on"}, Columns: []string{"a"}, Values: []any{"v"}},
	} {
		x, s := scriptedTx(t, SQLite(), mode{})
		x.t.schema.Columns = []driver.Column{{Name: "a", Stored: "a", Kind: driver.KindString}}
		s.numbers = map[string]int64{want: 4}
		if n, err := x.Peers(q); n != 4 || err != nil {
			t.Errorf("%s: got %d, %v, want 4", want, n, err)
		}
		s.want(t, want)
	}
}

// The databases name the first cause: a known request before an id that is taken, and before a record that moved.
func TestCausesHaveAnOrder(t *testing.T) {
	t.Parallel()
	databases := map[string]Dialect{pgtest.DSN(t): Postgres(), "": SQLite()}
	for dsn, d := range databases {
		driverName := "pgx"
		if dsn == "" {
			driverName, dsn = "sqlite", "file:"+filepath.Join(t.TempDir(), "causes.db")
		}
		db, err := sql.Open(driverName, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		for _, text := range []string{
			`CREATE TABLE "m" ("id" text, "rev" bigint, "state" text)`, `INSERT INTO "m" VALUES ('a', 3, 'on')`,
			`CREATE TABLE "m_events" ("id" text, "request_id" text, "request_n" bigint)`,
			`INSERT INTO "m_events" VALUES ('a', 'r', -1), ('b', 'batch', 0)`,
		} {
			if _, err := db.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		x, _ := scriptedTx(t, d, mode{})
		for _, c := range []struct {
			id      string
			request any
			n, rev  int64
			state   string
			logged  bool
			want    string
		}{
			{"a", "r", -1, 2, "on", false, "request"},
			{"a", "r", -1, 0, "", false, "request"},
			{"c", "batch", 0, 0, "", false, "request"},
			{"c", "r", -1, 0, "", false, ""}, // of another record
			{"a", nil, -1, 0, "", false, "id"},
			{"a", nil, -1, 0, "", true, "id"},
			{"b", nil, -1, 0, "", false, "id"}, // its log alone
			{"b", nil, -1, 0, "", true, ""},
			{"a", "x", -1, 2, "on", false, "moved"},
			{"a", "x", -1, 3, "off", true, "moved"},
			{"a", "x", -1, 3, "on", false, ""},
		} {
			got := "?"
			err := db.QueryRowContext(t.Context(), x.t.text("explain_write"), c.id, c.request, c.n, c.rev, c.state, c.logged).Scan(&got)
			if err != nil || got != c.want {
				t.Errorf("%s, %+v: got %q, %v", d.Name(), c, got, err)
			}
		}
	}
}

// A limit has one lock by whatever name, and in whatever order of its fields, two versions have it; other fields have another.
func TestOneLockForALimit(t *testing.T) {
	t.Parallel()
	place := func(name string, columns []string, values ...any) string {
		of, key, err := placeOf(&driver.PeerQuery{Name: name, Columns: columns, Values: values})
		if err != nil {
			t.Fatal(err)
		}
		return of + ": " + key
	}
	want := place("room", []string{"tenant", "queue"}, "t", "q")
	if got := place("space", []string{"queue", "tenant"}, "q", "t"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, got := range []string{
		place("room", []string{"tenant", "queue"}, "q", "t"), place("room", []string{"tenant"}, "t"), place("room", nil),
		place("room", []string{"tenant", "line"}, "t", "q"),
	} {
		if got == want {
			t.Errorf("another group has the lock %q", got)
		}
	}
}
