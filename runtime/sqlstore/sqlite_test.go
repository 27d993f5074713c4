package sqlstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// code is an error as drivers with a method Code make it.
type code struct {
	text string
	n    int
}

func (c code) Error() string { return c.text }
func (c code) Code() int     { return c.n }

// Drivers word SQLite's errors differently; all must be understood.
func TestFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want failure
	}{
		{code{"constraint failed: UNIQUE constraint failed: t.a (2067)", 2067}, failConstraint},
		{code{"constraint failed: fsm: t: the id is taken (1811)", 1811}, failConstraint},
		{code{"constraint failed: own trigger (1811)", 1811}, failDenied},
		{code{"constraint failed: FOREIGN KEY constraint failed (1811)", 1811}, failConstraint},
		{code{"database is locked (5) (SQLITE_BUSY)", 5}, failBusy},
		{code{"database is locked (517)", 517}, failBusy},
		{code{"database table is locked (6)", 6}, failBusy},
		{code{"database or disk is full (13)", 13}, failFull},
		{code{"string or blob too big (18)", 18}, failTooLarge},
		{code{"SQL logic error: no such table: t (1)", 1}, failSchema},
		{code{"SQL logic error: table t has no column named b (1)", 1}, failSchema},
		{code{"SQL logic error: near \"x\": syntax error (1)", 1}, failDenied},
		{code{"SQL logic error: cannot rollback - no transaction is active (1)", 1}, failGone},
		{code{"disk I/O error (522)", 522}, failOpen},
		{errors.New("UNIQUE constraint failed: t.a"), failConstraint},
		{errors.New("CHECK constraint failed: rev is at least 1"), failConstraint},
		{errors.New("sqlite3: database is locked"), failBusy},
		{errors.New("database or disk is full"), failFull},
		{errors.New("string or blob too big"), failTooLarge},
		{errors.New("no such table: t"), failSchema},
		{fmt.Errorf("wrapped: %w", code{"database is locked", 5}), failBusy},
		{errors.New("disk I/O error"), failOpen},
		{nil, failOpen},
	} {
		if got := (sqlite{}).failure(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
	}
}

func TestRule(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"constraint failed: CHECK constraint failed: held: due is present (275)":      "held: due is present",
		"CHECK constraint failed: rev is at least 1":                                  "rev is at least 1",
		"constraint failed: fsm: parcel: the state held leads to waiting only (1811)": "the state held leads to waiting only",
		"constraint failed: NOT NULL constraint failed: parcel.lane (1299)":           "",
	} {
		if got := (sqlite{}).rule(errors.New(message), "parcel"); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have [3]int
		want bool
	}{
		{[3]int{3, 51, 2}, true}, {[3]int{3, 40, 1}, true}, {[3]int{2, 99, 9}, true},
		{[3]int{3, 51, 3}, false}, {[3]int{3, 52, 0}, false}, {[3]int{4, 0, 0}, false},
	} {
		if got := older(c.have, oldestSQLite); got != c.want {
			t.Errorf("%v: got %t, want %t", c.have, got, c.want)
		}
	}
}

// numbered is SQLite with PostgreSQL's parameters.
type numbered struct{ sqlite }

func (numbered) placeholder(n int) string { return fmt.Sprintf("$%d", n) }

func TestStatements(t *testing.T) {
	t.Parallel()
	s := &driver.Schema{Machine: "m", Table: "m",
		Columns: []driver.Column{{Name: "a b", Stored: `a"b`, Kind: driver.KindString, Optional: true}, {Name: "n", Stored: "n", Kind: driver.KindCounter}},
		States:  []driver.StateInfo{{Stored: "one"}, {Stored: "t'wo"}, {Stored: "three"}}}
	tab, err := newTable(&Store{dialect: numbered{}}, s)
	if err != nil {
		t.Fatal(err)
	}
	w := &driver.Write{Prev: driver.Ref{ID: "x", Rev: 3}, PrevState: "one", Changed: []int{1},
		Row: &driver.Row{ID: "x", State: "one", Rev: 4, Values: []any{nil, int64(7)}}}
	text, args := tab.moving(w)
	if !strings.Contains(text, `, "a""b" = ?, "n" = ?`+"\n"+`WHERE r."id" = ? AND`) || len(args) != 8 {
		t.Errorf("a move that stays: %s, %v", text, args)
	}
	w.Row.State = "three"
	if text, args = tab.moving(w); !strings.Contains(text, `% 4294967296, "state" = ?, "a""b" = ?, "n" = ?`) || len(args) != 9 {
		t.Errorf("a move that leaves: %s, %v", text, args)
	}
	for _, c := range []struct {
		q    driver.Query
		want string
	}{
		{driver.Query{}, ` ORDER BY "id"`},
		{driver.Query{States: []string{}}, ` WHERE 1 = 0 ORDER BY "id"`},
		{driver.Query{States: []string{"three", "one", "one"}, After: "i", Limit: 2}, ` WHERE "state" IN ('one', 'three') AND "id" > $1 ORDER BY "id" LIMIT $2 + 0`},
		{driver.Query{States: []string{"t'wo", "gone"}}, ` WHERE "state" IN ('t''wo', 'gone') ORDER BY "id"`},
		{driver.Query{Where: []driver.Cond{{Column: `a"b`, Op: driver.OpEq}}}, ` WHERE 1 = 0 ORDER BY "id"`},
		{driver.Query{Where: []driver.Cond{{Column: `a"b`, Op: driver.OpAbsent}, {Column: "n", Op: driver.OpGe, Value: int64(2)}}},
			` WHERE "a""b" IS NULL AND "n" >= $1 ORDER BY "a""b", "id"`},
		{driver.Query{Order: []driver.Order{{Column: `a"b`, Descending: true}, {Column: "n"}}}, ` ORDER BY "a""b" IS NULL, "a""b" DESC, "n", "id"`},
	} {
		b, err := tab.selectRows(&c.q)
		if err != nil {
			t.Errorf("%v: %v", c.q, err)
			continue
		}
		if _, got, _ := strings.Cut(b.String(), `FROM "main"."m"`); got != c.want {
			t.Errorf("query:\n got %s\nwant %s", got, c.want)
		}
	}
	if _, err := tab.selectRows(&driver.Query{Where: []driver.Cond{{Column: "missing", Op: driver.OpEq, Value: "x"}}}); err == nil {
		t.Error("a query by an unknown column was built")
	}
}
