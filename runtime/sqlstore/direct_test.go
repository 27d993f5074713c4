package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Statements are prepared once, and closed before their connection is: one with
// statements that are open would keep its locks.
func TestStraightStatementsEnd(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{prepares: true}
	s, on, batch := together(t, db, "ab")
	for range 3 {
		for _, j := range batch {
			j.fate = pending
		}
		if broken := wonAndCommitted(s, on, batch); broken || batch[0].err != nil || batch[1].err != nil {
			t.Fatalf("broken is %t, got %v and %v", broken, batch[0].err, batch[1].err)
		}
	}
	const want = 5 // begin, whether others have written, an event, a move, commit
	if db.prepared != want || db.closed != 0 {
		t.Errorf("%d statements prepared and %d closed, want %d and none", db.prepared, db.closed, want)
	}
	for _, a := range on.direct.args[:cap(on.direct.args)] {
		if a.Value != nil {
			t.Errorf("the argument %v is kept", a.Value)
		}
	}
	on.close(true)
	if diff := cmp.Diff([]string{"closed", "closed", "closed", "closed", "closed", "gone"}, db.ends); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// After a panic nothing is left of the transaction, nor of the connection.
func TestStraightPanic(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{prepares: true, refuse: map[string][]error{"move a": {errPanic}}}
	s, on, batch := together(t, db, "a")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		wonAndCommitted(s, on, batch)
	}()
	if diff := cmp.Diff([]string{"begin immediate", "log a", "move a", "rollback"}, db.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	on.close(true)
	if diff := cmp.Diff([]string{"closed", "closed", "closed", "closed", "closed", "gone"}, db.ends); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// A driver without what it takes is used by database/sql, and asked no more.
func TestIndirect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		db       *scriptedDB
		indirect bool
		prepared int
	}{
		"connections that do not prepare": {&scriptedDB{}, true, 0},
		"statements without a context":    {&scriptedDB{prepares: true, plain: true}, true, 1},
		"no statement for now":            {&scriptedDB{prepares: true, refuse: map[string][]error{"prepare begin immediate": {errAny, errAny}}}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, on, batch := together(t, c.db, "a")
			for range 2 {
				c.db.asked, batch[0].fate = nil, pending
				if broken := wonAndCommitted(s, on, batch); broken || batch[0].err != nil {
					t.Errorf("broken is %t, got %v", broken, batch[0].err)
				}
				if diff := cmp.Diff([]string{"begin", "claim", "log a", "move a", "commit"}, c.db.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			}
			if on.indirect != c.indirect || c.db.prepared != c.prepared {
				t.Errorf("indirect is %t after %d statements, want %t after %d", on.indirect, c.db.prepared, c.indirect, c.prepared)
			}
		})
	}
}

// How many statements stay prepared is bounded.
func TestStraightStatementsAreBounded(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{prepares: true}
	d := &direct{conn: preparingDB{db}, texts: map[string]statement{}, forms: map[form]statement{}}
	for i := range maxStatements + 3 {
		if _, err := d.exec(t.Context(), fmt.Sprint("SELECT ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.texts) != maxStatements || db.closed != 3 {
		t.Errorf("%d statements are kept and %d closed, want %d and 3", len(d.texts), db.closed, maxStatements)
	}
}

// answers is a statement with the rows that it is given.
type answers struct {
	scriptedStmt
	args []driver.NamedValue
	rows [][]driver.Value
	err  error // after the rows, or at once where there are none
}

func (a *answers) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	a.args = append(a.args, args...)
	if len(a.rows) == 0 && a.err != nil {
		return nil, a.err
	}
	return a, nil
}

func (a *answers) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	a.args = append(a.args, args...)
	return driver.RowsAffected(1), a.err
}

func (*answers) Columns() []string { return []string{"a"} }

func (a *answers) Next(values []driver.Value) error {
	if len(a.rows) == 0 {
		if a.err != nil {
			return a.err
		}
		return io.EOF
	}
	copy(values, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

// A straight query reads integers, and hands over what is wrong.
func TestStraightQuery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows  [][]driver.Value
		err   error
		arg   any
		into  any
		want  []int64
		fails string
	}{
		"integers":         {rows: [][]driver.Value{{int64(3)}, {int64(4)}}, arg: 7, into: new(int64), want: []int64{3, 4}},
		"none":             {arg: "x", into: new(int64)},
		"a text":           {rows: [][]driver.Value{{"3"}}, into: new(int64), fails: "sqlstore: a string cannot be read into a *int64"},
		"into a text":      {rows: [][]driver.Value{{int64(3)}}, into: new(string), fails: "sqlstore: a int64 cannot be read into a *string"},
		"an error at once": {err: errAny, into: new(int64), fails: "any"},
		"an error later":   {rows: [][]driver.Value{{int64(3)}}, err: errAny, into: new(int64), want: []int64{3}, fails: "any"},
		"a wrong argument": {arg: struct{}{}, into: new(int64), fails: "unsupported type struct {}, a struct"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &scriptedDB{}
			st := &answers{scriptedStmt: scriptedStmt{d: db}, rows: c.rows, err: c.err}
			d := &direct{texts: map[string]statement{"Q": st}}
			got, err := func() (got []int64, err error) {
				rows, err := d.query(t.Context(), "Q", "a", c.arg)
				if err != nil {
					return nil, err
				}
				defer rows.Close()
				for rows.Next() {
					if err := rows.Scan(c.into); err != nil {
						return got, err
					}
					got = append(got, *c.into.(*int64))
				}
				return got, rows.Err()
			}()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || err.Error() != c.fails) {
				t.Errorf("got %v, want %q", err, c.fails)
			}
			if n, ok := c.arg.(int); ok {
				want := []driver.NamedValue{{Ordinal: 1, Value: "a"}, {Ordinal: 2, Value: int64(n)}}
				if diff := cmp.Diff(want, st.args); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Only what an event and its row both say as the engine makes them has a form, and
// a form has bits for so many columns.
func TestFormed(t *testing.T) {
	t.Parallel()
	wide := func(n int) (*table, *fsm.Write) {
		tab := &table{schema: &fsm.Schema{Columns: make([]fsm.Column, n)}}
		return tab, &fsm.Write{Prev: fsm.Ref{ID: "a", Rev: 3}, PrevState: "on", Row: &fsm.Row{ID: "a", State: "off", Rev: 4, Values: make([]any, n)},
			Event: fsm.Event{ID: "a", Rev: 4, From: "on", To: "off"}}
	}
	for n, want := range map[int]bool{0: true, 64: true, 65: false} {
		if tab, w := wide(n); tab.formed(w) != want {
			t.Errorf("with %d columns a write is formed: %t, want %t", n, !want, want)
		}
	}
	tab, w := wide(1)
	if w.Event.Rev = 5; tab.formed(w) {
		t.Error("a write is formed whose event is of another revision")
	}
	tab, w = wide(64)
	tab.dialect = sqlite{}
	for i := range tab.schema.Columns {
		tab.schema.Columns[i].Stored = fmt.Sprint("c", i)
	}
	w.Changed, w.Old = []int{63}, &fsm.Row{Values: make([]any, 64)}
	w.Row.Values[63], w.Old.Values[63] = "new", "old"
	st := &answers{}
	d := &direct{conn: preparingDB{&scriptedDB{}}, forms: map[form]statement{
		{schema: tab.schema, words: words{from: "on", to: "off"}, state: true, old: true, changed: 1 << 63, present: 1 << 63}: st,
	}}
	x := &txn{reader: reader{ctx: t.Context(), t: tab, q: d}}
	if n, err := x.moveRow(d, w); n != 1 || err != nil || len(d.forms) != 1 {
		t.Fatalf("%d rows moved, %v, %d forms", n, err, len(d.forms))
	}
	var args []any
	for _, a := range st.args {
		args = append(args, a.Value)
	}
	at := time.Time{}.UnixMicro()
	if diff := cmp.Diff([]any{int64(4), at, "new", "a", int64(3), at, at, "old"}, args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// A write that cannot be formed is made all the same.
func TestUnformedWrite(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{prepares: true}
	s, on, batch := together(t, db, "a")
	batch[0].w.Event.Name = "other"
	batch[0].w.Event.To = "elsewhere"
	if broken := wonAndCommitted(s, on, batch); broken || batch[0].err != nil {
		t.Errorf("broken is %t, got %v", broken, batch[0].err)
	}
	if len(on.direct.forms) != 0 || len(on.direct.texts) != 5 {
		t.Errorf("%d statements by form and %d by text, want none and 5", len(on.direct.forms), len(on.direct.texts))
	}
}

// What the database says of a formed statement counts as of any other one.
func TestChangeFormed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		dead bool
	}{
		"done":         {},
		"a constraint": {code{"constraint failed", 19}, false},
		"another":      {code{"disk I/O error", 10}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &answers{err: c.err}
			d := &direct{args: []driver.NamedValue{{Ordinal: 1, Value: "a"}}}
			x := &txn{reader: reader{ctx: t.Context(), t: &table{dialect: sqlite{}, schema: &fsm.Schema{}}, q: d}, kept: &fsm.Row{}}
			n, err := x.changeFormed(st)
			if !errors.Is(err, c.err) || err == nil && n != 1 || x.changed != (err == nil) || !x.ran || x.kept != nil {
				t.Errorf("got %d and %v; changed is %t, ran %t, kept %v", n, err, x.changed, x.ran, x.kept)
			}
			if (x.err != nil) != c.dead {
				t.Errorf("the transaction's error is %v", x.err)
			}
			if diff := cmp.Diff(d.args, st.args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if x.err = errAny; true {
				if _, err := x.changeFormed(st); !errors.Is(err, errAny) || len(st.args) != 1 {
					t.Errorf("a transaction that is over ran a statement: %v", err)
				}
			}
		})
	}
}

// The texts of formed statements, for a reader to judge.
func TestTextsOfForms(t *testing.T) {
	t.Parallel()
	tab, err := newTable(&Store{dialect: SQLite()}, &fsm.Schema{Machine: "m", Table: "m", Columns: []fsm.Column{{Stored: "a"}, {Stored: "b"}, {Stored: "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	const nothing = 1<<columnFrom | 1<<columnReason | 1<<columnRequestID | 1<<columnLabels | 1<<columnInputs | 1<<columnChanges | 1<<columnImage | 1<<columnCause | 1<<columnGuard
	said := words{operation: "go", name: "gone", from: "it's", to: "off"}
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"an event with everything": {tab.appendText(&form{}), `INSERT INTO "main"."m_events" ("id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint", ` +
			`"labels", "inputs", "changes", "image", "version", "cause", "guard", "sum", "chain") VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ` +
			`(coalesce((SELECT p."chain" FROM "main"."m_events" AS p WHERE p."id" = ? AND p."rev" = ? AND p."n" = 0), 0) * 16777619 + ?) % 4294967296)`},
		"an event with nothing": {tab.appendText(&form{absent: nothing, request: true, linked: true}),
			`INSERT INTO "main"."m_events" ("id", "rev", "n", "operation", "name", "to", "at", "actor", "reason", "request_n", "fingerprint", "version", "sum", "chain") ` +
				`VALUES (?, ?, 0, ?, ?, ?, ?, ?, '', -1, ?, ?, ?, ?)`},
		"an event with words": {tab.appendText(&form{absent: nothing &^ (1 << columnFrom), linked: true, words: said}),
			`INSERT INTO "main"."m_events" ("id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_n", "fingerprint", "version", "sum", "chain") ` +
				`VALUES (?, ?, 0, 'go', 'gone', 'it''s', 'off', ?, ?, '', ?, ?, ?, ?, ?)`},
		"a move": {tab.moveText(&form{changed: 0b101}),
			`UPDATE "main"."m" SET "rev" = ?, "updated_at" = ?, "a" = ?, "c" = ? WHERE "id" = ? AND "rev" = ? AND "state" = ?`},
		"a move with all": {tab.moveText(&form{changed: 0b10, present: 0b101, state: true, old: true, words: said}),
			`UPDATE "main"."m" SET "rev" = ?, "updated_at" = ?, "state" = 'off', "b" = ? WHERE "id" = ? AND "rev" = ? AND "state" = 'it''s' AND "created_at" = ? AND "updated_at" = ? ` +
				`AND "a" = ? AND "b" IS NULL AND "c" = ?`},
		"a move without words": {tab.moveText(&form{state: true}),
			`UPDATE "main"."m" SET "rev" = ?, "updated_at" = ?, "state" = ? WHERE "id" = ? AND "rev" = ? AND "state" = ?`},
	} {
		if diff := cmp.Diff(c.want, c.text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
