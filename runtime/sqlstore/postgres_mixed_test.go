package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// looseParcels returns a session on a server with the tables of parcels, without any
// rule for their rows, and the function that runs a query of texts.
func looseParcels(t *testing.T) (*session, func(query string, args ...any) []string) {
	t.Helper()
	_, s, texts := looseDatabase(t)
	return s, texts
}

// looseDatabase returns the database of looseParcels as well.
func looseDatabase(t *testing.T) (*sql.DB, *session, func(query string, args ...any) []string) {
	t.Helper()
	schema, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	tables, _, _ := strings.Cut(string(schema), "-- section: checks")
	db, err := sql.Open("pgx", pgtest.DSN(t)+"&search_path=loose&synchronous_commit=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"CREATE SCHEMA loose", tables, `DO $$ DECLARE c name; BEGIN
		FOR c IN SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid = 'parcel'::regclass LOOP EXECUTE format('ALTER TABLE parcel DROP CONSTRAINT %I', c); END LOOP; END $$`,
		`DROP INDEX "parcel_unique_dedupe_register"`} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return db, &session{conn: conn}, func(query string, args ...any) (texts []string) {
		t.Helper()
		rows, err := conn.QueryContext(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return texts
	}
}

// Whatever writes a batch is of, and whatever its text says of all of them, it leaves
// the rows and events that each of them alone does; one that was decided on another
// row writes nothing in either way.
func TestABatchWritesWhatEachWriteDoes(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	tab := parcels(t, Postgres())
	ctx := context.Background()
	born := func(id string) *driver.Write {
		return parcelStep(id, func(w *driver.Write) { w.Prev.Rev, w.Event.RequestID = 0, id+" is made" })
	}
	moved := func(id string, change func(w *driver.Write)) *driver.Write {
		w := parcelStep(id, func(w *driver.Write) { w.PrevState, w.Event.From = "held", "held" })
		w.Prev.Rev, w.Row.Rev, w.Event.Rev = 1, 2, 2
		w.Row.State, w.Event.To = "sent", "sent"
		change(w)
		return w
	}
	kinds := []struct {
		name   string
		create bool
		change func(w *driver.Write)
	}{
		{"a move", false, func(*driver.Write) {}},
		{"another operation", false, func(w *driver.Write) { w.Event.Operation, w.Event.Name, w.Event.Version = "send", "was_sent", 2 }},
		{"a call that stays", false, func(w *driver.Write) { w.Row.State, w.Event.To = "held", "held" }},
		{"of a held record", false, func(w *driver.Write) { w.Old = born(w.Prev.ID).Row; w.Old.Chain = 99 }},
		{"of one that is another", false, func(w *driver.Write) { w.Old = born(w.Prev.ID).Row; w.Old.Chain = 98 }},
		{"out of another state", false, func(w *driver.Write) { w.PrevState, w.Event.From = "waiting", "waiting" }},
		{"columns that change", false, func(w *driver.Write) { w.Changed = []int{0, 4, 6}; w.Row.Values[6] = nil }},
		{"columns that become absent", false, func(w *driver.Write) { w.Changed = []int{4, 6}; w.Row.Values[4], w.Row.Values[6] = nil, nil }},
		{"at the time of the row, without a reason", false, func(w *driver.Write) { w.Event.At, w.Event.Reason = w.Row.UpdatedAt, "" }},
		{"changes like the inputs, a place in a batch", false, func(w *driver.Write) { w.Event.Changes, w.Event.RequestN = w.Event.Inputs, 5 }},
		{"an event that says little", false, func(w *driver.Write) {
			e := &w.Event
			e.RequestID, e.Labels, e.Inputs, e.Changes, e.Image = "", nil, driver.JSON{}, driver.JSON{}, driver.JSON{}
		}},
		{"what led to it", false, func(w *driver.Write) { w.Event.Cause, w.Event.Guard = "other", "late" }},
		{"an effect", false, func(w *driver.Write) {
			w.Outbox = []driver.Delivery{{ID: w.Prev.ID, Rev: 2, Effect: "carry", Key: "k", Attempts: 1, Due: w.Row.UpdatedAt}}
		}},
		{"an effect that is left", false, func(w *driver.Write) { w.Leave = true }},
		{"a creation", true, func(*driver.Write) {}},
		{"a creation at its time", true, func(w *driver.Write) { w.Row.CreatedAt, w.Event.At = w.Row.UpdatedAt, w.Row.UpdatedAt }},
		{"a creation elsewhere", true, func(w *driver.Write) {
			w.Row.State, w.Event.To, w.Row.Values[3], w.Row.Values[6] = "shelved", "shelved", "bob", nil
		}},
		{"a creation with an effect", true, func(w *driver.Write) {
			w.Outbox = []driver.Delivery{{ID: w.Prev.ID, Rev: 1, Effect: "carry", Key: "k", Due: w.Row.UpdatedAt.Add(time.Hour)}}
		}},
	}
	// of returns the write of a kind, ready to be made.
	of := func(kind int, id string) *driver.Write {
		k := kinds[kind]
		if k.create {
			w := born(id)
			k.change(w)
			return w
		}
		text, args := tab.writing(false, born(id))
		if _, err := write(ctx, s, text, args, nil); err != nil {
			t.Fatal(err)
		}
		texts(`INSERT INTO "parcel_outbox" VALUES ($1, 1, 0, 'old', 'k', 0, now(), '') RETURNING ''`, id)
		return moved(id, k.change)
	}
	left := func(id string) string {
		all := texts(`SELECT concat(to_json(r)) FROM "parcel" AS r WHERE "id" = $1 UNION ALL
			SELECT concat(to_jsonb(e) - 'xid') FROM (SELECT * FROM "parcel_events" WHERE "id" = $1 ORDER BY "rev") AS e UNION ALL
			SELECT concat(to_jsonb(o) - CASE WHEN "rev" = 1 AND "effect" = 'old' THEN 'due' ELSE '' END) FROM (SELECT * FROM "parcel_outbox" WHERE "id" = $1 ORDER BY "rev") AS o`, id)
		return strings.ReplaceAll(strings.Join(all, "\n"), id, "ID")
	}
	n := 0
	for a := range kinds {
		for b := a; b < len(kinds); b++ {
			if kinds[a].create != kinds[b].create {
				continue
			}
			n++
			var batch []*driver.Write
			alone := map[string]bool{}
			for i, kind := range []int{a, b} {
				id := fmt.Sprint("one", n, "of", i)
				text, args := tab.writing(false, of(kind, id))
				wrote, err := write(ctx, s, text, args, nil)
				if err != nil {
					t.Fatalf("%s: %v", kinds[kind].name, err)
				}
				alone[fmt.Sprint("all", n, "of", i)] = wrote == 1
				batch = append(batch, of(kind, fmt.Sprint("all", n, "of", i)))
			}
			together, err := tab.writeMany(ctx, s, batch, false)
			if err != nil {
				t.Fatalf("%s, and %s: %v", kinds[a].name, kinds[b].name, err)
			}
			for i, kind := range []int{a, b} {
				id := fmt.Sprint("all", n, "of", i)
				if together[id] != alone[id] {
					t.Errorf("%s, with %s and %s: written is %t, alone %t", kinds[kind].name, kinds[a].name, kinds[b].name, together[id], alone[id])
				}
				if diff := cmp.Diff(left(fmt.Sprint("one", n, "of", i)), left(id)); diff != "" {
					t.Errorf("%s, with %s and %s (-alone +in the batch):\n%s", kinds[kind].name, kinds[a].name, kinds[b].name, diff)
				}
			}
		}
	}
}
