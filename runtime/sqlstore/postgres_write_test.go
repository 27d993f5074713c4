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

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
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
		text, args := tab.writing(false, parcelStep("a", func(w *driver.Write) {
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
