package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// visited returns how many entries of indexes and rows of tables the transaction
// has read so far.
func visited(tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRow(`SELECT (SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables)
		+ (SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) FROM pg_stat_user_indexes)`).Scan(&n)
	return n, err
}

// The work of a purge is so many rows for each event, however long the log is.
func TestPurgeIsLinear(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	const few, many = 500, 4000
	reads := map[int]int64{}
	for _, events := range []int{few, many} {
		id := fmt.Sprint("p", events)
		p, err := d.m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: id}))
		if err == nil {
			p, err = d.m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", time.Now().Add(time.Hour)))
		}
		if err == nil {
			p, err = d.m.Apply(t.Context(), p, storetest.Expel(storetest.Meta{Actor: "ann", Reason: "why"}))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.db.Exec(`INSERT INTO "parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
			SELECT "id", "rev", c.n, 'touch', 'touch', "to_state", "to_state", "occurred_at", 'ann', '', -1, '', 1, 0
			FROM "parcel_events", generate_series(1, $2::bigint) AS c (n) WHERE "id" = $1 AND "rev" = $3`, id, events, p.Record.Rev); err != nil {
			t.Fatal(err)
		}
		if _, err := d.db.Exec(`ANALYZE`); err != nil {
			t.Fatal(err)
		}
		table, err := d.store.Table(d.schema)
		if err != nil {
			t.Fatal(err)
		}
		row := storetest.Encode(&p.Record)
		e := fsm.Event{ID: id, Rev: row.Rev, Operation: "__purge", Name: "__purge", From: row.State, To: row.State, At: time.Now(), Actor: "root",
			RequestID: "sys:__purge:" + id, RequestN: -1, Inputs: fsm.MustJSON("{}"), Changes: fsm.MustJSON("{}"), Version: 1}
		err = table.Update(t.Context(), func(tx fsm.Tx) error {
			gone, err := tx.Purge(&driver.Write{Prev: row.Ref(), PrevState: row.State, Event: e})
			if err == nil && !gone {
				err = fmt.Errorf("%s was not removed", id)
			}
			if err == nil {
				reads[events], err = visited(d.store.Transaction(tx))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("rows and entries read: %v", reads)
	if limit := int64(10 * many); reads[many] > limit || reads[few] < few {
		t.Errorf("a purge of %d events read %d rows and entries, one of %d events %d; want at most %d", few, reads[few], many, reads[many], limit)
	}
}

// A record that a foreign key or a trigger of the users' keeps is reported, and keeps no
// other one from being removed.
func TestPurgePassesOverWhatUsersKeep(t *testing.T) {
	t.Parallel()
	_, db, begin := ground(t)
	_, m := begin()
	for _, id := range []string{"p1", "p2", "p3"} {
		p, err := m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: id}))
		if err == nil {
			p, err = m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", time.Now().Add(time.Hour)))
		}
		if err == nil {
			_, err = m.Apply(t.Context(), p, storetest.Expel(storetest.Meta{Actor: "ann", Reason: "why"}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`CREATE TABLE "mine" ("parcel" text CONSTRAINT "kept" REFERENCES "parcel" ("id") ON DELETE RESTRICT); INSERT INTO "mine" VALUES ('p1');
		CREATE FUNCTION keeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'mine'; END $$;
		CREATE TRIGGER "keeps" BEFORE DELETE ON "parcel" FOR EACH ROW WHEN (OLD."id" = 'p2') EXECUTE FUNCTION keeps()`); err != nil {
		t.Fatal(err)
	}
	n, err := audit.Purge(t.Context(), m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Actor: "root", Reason: "too old"})
	if n != 1 || !errors.Is(err, fsm.ErrInvariant) || !errors.Is(err, fsm.ErrDenied) ||
		!strings.Contains(err.Error(), `"p1"`) || !strings.Contains(err.Error(), `"p2"`) {
		t.Errorf("purged %d, %v; want p3 removed, p1 and p2 reported", n, err)
	}
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Name != "kept" {
		t.Errorf("%#v, want the foreign key named", r)
	}
	if rec, err := m.Record(t.Context(), "p3"); !errors.Is(err, fsm.ErrNotFound) {
		t.Errorf("p3 is %v, %v", rec, err)
	}
}
