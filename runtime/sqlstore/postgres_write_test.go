package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// parcelStep is a write of a parcel: each value says where it comes from.
func parcelStep(id string, change func(w *driver.Write)) *driver.Write {
	at := func(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }
	values := func(of string, weight int64) []any {
		return []any{of + " label", of + " lane", of + " slot", nil, weight, weight > 0, at(int(weight)), `{"of":"` + of + `"}`, "small", `["` + of + `"]`, weight}
	}
	w := &driver.Write{
		Prev: driver.Ref{ID: id, Rev: 3}, PrevState: "waiting",
		Row: &driver.Row{ID: id, State: "held", Rev: 4, CreatedAt: at(1), UpdatedAt: at(2), Values: values(id+"'s new", 8)},
		Event: driver.Event{ID: id, Rev: 4, Operation: "hold", Name: "was_held", From: "waiting", To: "held", At: at(3), Actor: id + "'s actor", Reason: id + "'s reason",
			RequestID: id + "'s request", RequestN: -1, Fingerprint: id + "'s print", Labels: map[string]string{"l": id}, Inputs: driver.MustJSON(`{"in":1}`),
			Changes: driver.MustJSON(`{"ch":1}`), Image: driver.MustJSON(`{"im":1}`), Version: 1, Sum: 99},
	}
	change(w)
	if w.Old != nil {
		w.Old = &driver.Row{ID: id, State: "waiting", Rev: 3, CreatedAt: at(1), UpdatedAt: at(4), Values: values(id+"'s old", 7)}
	}
	if w.Outbox != nil {
		w.Outbox = []driver.Delivery{{ID: id, Rev: w.Row.Rev, Effect: "carry", Key: id + "'s key", Attempts: 2, Due: at(5), LastError: id + "'s error"}}
	}
	if w.Prev.Rev == 0 {
		w.PrevState, w.Row.Rev, w.Event.Rev, w.Event.From = "", 1, 1, ""
	}
	return w
}

// The statements of writes to a server are what the golden file shows, each with
// its arguments, for a reader to judge.
func TestTextsOfWrites(t *testing.T) {
	t.Parallel()
	plain := func(*driver.Write) {}
	created := func(w *driver.Write) { w.Prev.Rev = 0 }
	stays := func(w *driver.Write) { w.Row.State, w.Event.To, w.Changed = "waiting", "waiting", []int{4, 7} }
	held := func(w *driver.Write) { w.Old, w.Changed = &driver.Row{}, []int{0} }
	asks := func(w *driver.Write) { w.Outbox, w.Changed = []driver.Delivery{{}}, []int{3, 9} }
	leaves := func(w *driver.Write) { w.Leave = true }
	names := func(w *driver.Write) { w.Changed = []int{3} }
	bareEvent := func(w *driver.Write) {
		e := &w.Event
		e.RequestID, e.Labels, e.Inputs, e.Image = "", nil, driver.JSON{}, driver.JSON{}
	}
	both := func(a, b func(*driver.Write)) func(*driver.Write) { return func(w *driver.Write) { a(w); b(w) } }
	bare := storetest.Schema()
	bare.Uniques = append(bare.Uniques, driver.UniqueRule{Name: "nowhere", Columns: []string{"lane"}, States: []string{}})
	var b strings.Builder
	for _, c := range []struct {
		name   string
		writes []func(*driver.Write) // one: a statement for it
		how    extent
		schema *driver.Schema // nil: that of parcels
	}{
		{"a move that changes no column", []func(*driver.Write){plain}, whole, nil},
		{"the same in a transaction", []func(*driver.Write){plain}, behind, nil},
		{"a call that stays", []func(*driver.Write){stays}, whole, nil},
		{"a move of a held record", []func(*driver.Write){held}, whole, nil},
		{"a move that asks for an effect", []func(*driver.Write){asks}, whole, nil},
		{"a move that leaves an effect behind", []func(*driver.Write){leaves}, whole, nil},
		{"a creation", []func(*driver.Write){created}, whole, nil},
		{"a creation that counts what it lacks as changed", []func(*driver.Write){both(created, names)}, whole, nil},
		{"a creation that asks for an effect, in a transaction", []func(*driver.Write){both(created, asks)}, behind, nil},
		{"a move whose event says little", []func(*driver.Write){bareEvent}, whole, nil},
		{"moves", []func(*driver.Write){plain, plain}, whole, nil},
		{"moves in a transaction", []func(*driver.Write){plain, plain}, behind, nil},
		{"calls that stay", []func(*driver.Write){stays, stays}, whole, nil},
		{"a move, one of a held record, and one that stays", []func(*driver.Write){plain, held, stays}, whole, nil},
		{"a move, and a call that stays", []func(*driver.Write){stays, plain}, whole, nil},
		{"a move, and one that asks for an effect", []func(*driver.Write){plain, asks}, whole, nil},
		{"a move, and one that leaves an effect behind", []func(*driver.Write){plain, leaves}, whole, nil},
		{"creations", []func(*driver.Write){created, both(created, asks)}, whole, nil},
		{"creations where a rule is over no state", []func(*driver.Write){created, created}, whole, bare},
	} {
		tab := parcels(t, Postgres())
		if c.schema != nil {
			var err error
			if tab, err = newTable(&Store{dialect: Postgres()}, c.schema); err != nil {
				t.Fatal(err)
			}
		}
		var list []*driver.Write
		for i, change := range c.writes {
			list = append(list, parcelStep(string(rune('c'-i)), change))
		}
		var text string
		for i := range 2 { // made anew, and as it is kept
			now, args := tab.compose(c.how, list...)
			shown := now
			for j, a := range args {
				if at, ok := a.(time.Time); ok {
					a = at.UTC().Format(time.RFC3339Nano)
				}
				shown += fmt.Sprintf("\n--   $%d = %#v", j+1, a)
			}
			if i == 1 && shown != text {
				t.Errorf("%s: the second time it is\n%s\n, at first it was\n%s", c.name, shown, text)
			}
			text = shown
		}
		fmt.Fprintf(&b, "-- %s\n%s\n\n", c.name, text)
	}
	path := filepath.Join("testdata", "writes.postgres.sql")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("statements (-want +got; make them anew with -update and look at them):\n%s", diff)
	}
}

// A write finds its record by the id, in a plan that is kept, also when the planner
// knows of no rows: what the text says leads to no other index.
func TestAWriteFindsItsRecordByItsID(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", pgtest.DSN(t)+"&search_path=plans&plan_cache_mode=force_generic_plan")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{"CREATE SCHEMA plans", string(schema)} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	tab := parcels(t, Postgres())
	for i, from := range []string{"waiting", "held", "shelved"} { // of each there is an index
		text, args := tab.compose(whole, parcelStep("a", func(w *driver.Write) {
			w.PrevState, w.Event.From, w.Old = from, from, &driver.Row{}
		}))
		name := fmt.Sprint("p", i)
		if _, err := db.Exec("PREPARE " + name + " AS " + text); err != nil {
			t.Fatal(err)
		}
		lines, err := db.Query("EXPLAIN EXECUTE " + name + "(" + strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ") + ")")
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for lines.Next() {
			var line string
			if err := lines.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, line)
		}
		if err := errors.Join(lines.Err(), lines.Close()); err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(plan, "\n")
		if !strings.Contains(whole, "Scan using parcel_pkey on parcel ") && !strings.Contains(whole, "Scan using parcel_state on parcel ") {
			t.Errorf("from %s: %s\n%s", from, text, whole)
		}
	}
}

// However many operations there are, the texts that are about one are bounded; those
// beyond fit any.
func TestTextsOfOperationsAreBounded(t *testing.T) {
	t.Parallel()
	tab, err := newTable(&Store{dialect: Postgres()}, &driver.Schema{Machine: "m", Table: "m", Columns: []driver.Column{}})
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int) string {
		text, args := tab.compose(whole, step(func(w *driver.Write) { w.Event.Operation, w.Outbox = fmt.Sprint("op", i), nil }))
		if len(args) == 0 {
			t.Fatal("no arguments")
		}
		return text
	}
	texts := map[string]bool{}
	first := text(0)
	for i := range maxTexts {
		texts[text(i)] = true
	}
	if len(texts) != maxTexts || text(0) != first {
		t.Errorf("%d texts of %d operations", len(texts), maxTexts)
	}
	if a, b := text(maxTexts), text(maxTexts+1); a != b || texts[a] {
		t.Errorf("beyond the bound: %s\n%s", a, b)
	}
	if text(0) != first {
		t.Error("a text that is kept is no longer used")
	}
}
