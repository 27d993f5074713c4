package postgres_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// A held record is known by its chain, where nobody has changed it: neither who holds it nor who
// edits the stored one goes unnoticed.
func TestHeldRecordsThatWereChanged(t *testing.T) {
	t.Parallel()
	path, dsn := filepath.Join(t.TempDir(), "jobs.db"), pgtest.DSN(t)
	onFile, err := sqlite.Open(path, sqlite.WithEnforce("checks"))
	if err != nil {
		t.Fatal(err)
	}
	onServer, err := postgres.Open(t.Context(), dsn, postgres.WithEnforce("checks"), quiet)
	if err != nil {
		t.Fatal(err)
	}
	for driver, of := range map[string]struct {
		store   fsm.Store
		address string
	}{"sqlite": {onFile, path}, "pgx": {onServer, dsn}} {
		t.Run(driver, func(t *testing.T) {
			defer of.store.Close()
			db, err := sql.Open(driver, of.address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := lifecycle.Migrate(t.Context(), of.store); err != nil {
				t.Fatal(err)
			}
			m, err := lifecycle.Open(t.Context(), of.store)
			if err != nil {
				t.Fatal(err)
			}
			lease := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
			requests := 0
			by := func() fsm.Call {
				requests++
				return fsm.Call{RequestID: fmt.Sprint("call ", requests), Actor: "w"}
			}
			beat := func(at fsm.Target) lifecycle.Outcome {
				lease = lease.Add(time.Second)
				out, err := m.Heartbeat(t.Context(), at, lifecycle.HeartbeatInput{Lease: lease}, by())
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			if _, err = m.Enqueue(t.Context(), "j1", lifecycle.EnqueueInput{}, by()); err != nil {
				t.Fatal(err)
			}
			held, err := m.ClaimNextOf(t.Context(), fsm.Ref{ID: "j1", Rev: 1}, lifecycle.ClaimNextInput{Lease: lease}, by())
			if err != nil {
				t.Fatal(err)
			}
			held = beat(beat(held))
			held.Record.Attempt = 7
			if held = beat(held); held.Record.Attempt != 1 {
				t.Errorf("a holder's own change counts: attempt %d, want 1", held.Record.Attempt)
			}
			for i := range 3 { // the second edit comes behind one that took the chain away
				if _, err := db.ExecContext(t.Context(), `UPDATE "lifecycle" SET "attempt" = "attempt" + 10 WHERE "id" = 'j1'`); err != nil {
					t.Fatal(err)
				}
				if held = beat(held); held.Record.Attempt != 1+10*int64(i+1) {
					t.Errorf("an edit of the stored row is not seen: attempt %d, want %d", held.Record.Attempt, 1+10*(i+1))
				}
			}
			for _, chain := range []string{"-1", "4294967296"} { // no chain at all
				if _, err := db.ExecContext(t.Context(), `UPDATE "lifecycle" SET "_chain" = `+chain); err != nil {
					t.Fatal(err)
				}
				held = beat(held)
			}
			if driver == "sqlite" {
				return // its triggers cannot change what is being written
			}
			if _, err := db.ExecContext(t.Context(), `ALTER TABLE "lifecycle" ADD COLUMN "extra" int;
				CREATE FUNCTION "mine"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW."attempt" := NEW."extra"; RETURN NEW; END $$;
				CREATE TRIGGER "mine" BEFORE UPDATE OF "extra" ON "lifecycle" FOR EACH ROW EXECUTE FUNCTION "mine"();
				UPDATE "lifecycle" SET "extra" = 50`); err != nil {
				t.Fatal(err)
			}
			if held = beat(held); held.Record.Attempt != 50 {
				t.Errorf("what a user's trigger has changed is not seen: attempt %d, want 50", held.Record.Attempt)
			}
		})
	}
}
