package postgres_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// A move within the states that an index has, and a heartbeat within a minute, write no
// index of the records: PostgreSQL counts them as HOT.
func TestMovesWriteNoIndex(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), pgtest.DSN(t)
	store, err := postgres.Open(ctx, dsn, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The engine's own statements say what the indexes name: what corrects others never runs.
	if _, err := db.ExecContext(ctx, `CREATE OR REPLACE FUNCTION "lifecycle_computed"() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'it was left to the trigger'; END $$`); err != nil {
		t.Fatal(err)
	}
	lease := time.Now().Add(time.Hour).Truncate(time.Minute)
	const jobs, beats = 20, 5
	for i := range jobs {
		n := 0
		call := func(at lifecycle.Outcome) (fsm.Ref, fsm.Call) {
			n++
			return at.Record.Ref(), fsm.Call{Actor: "w", RequestID: fmt.Sprint("r", n)}
		}
		out, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: fmt.Sprint("e", i)})
		if err != nil {
			t.Fatal(err)
		}
		ref, by := call(out)
		if out, err = m.ClaimNextOf(ctx, ref, lifecycle.ClaimNextInput{Lease: lease}, by); err != nil {
			t.Fatal(err)
		}
		ref, by = call(out)
		if out, err = m.Start(ctx, ref, by); err != nil {
			t.Fatal(err)
		}
		for i := range beats {
			ref, by = call(out)
			in := lifecycle.HeartbeatInput{Lease: lease.Add(time.Duration(i+1) * time.Second)}
			if out, err = m.Heartbeat(ctx, ref, in, by); err != nil {
				t.Fatal(err)
			}
		}
		ref, by = call(out)
		if _, err = m.Complete(ctx, ref, lifecycle.CompleteInput{Result: fsm.MustJSON("1")}, by); err != nil {
			t.Fatal(err)
		}
	}
	store.Close() // a session tells the server what it did when it ends
	var all, hot int
	for all < jobs*(beats+3) && ctx.Err() == nil {
		if err := db.QueryRowContext(ctx, `SELECT n_tup_upd, n_tup_hot_upd
			FROM pg_stat_user_tables, pg_sleep(0.02) WHERE relname = 'lifecycle'`).Scan(&all, &hot); err != nil {
			t.Fatal(err)
		}
	}
	if want := jobs * (beats + 1); hot < want*9/10 { // a page that is full writes elsewhere
		t.Errorf("%d of %d updates wrote no index, want %d: each start and heartbeat", hot, all, want)
	}
}

// Whatever a stranger writes into the columns that indexes name, they say what the row says.
func TestComputedColumnsAreKept(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), pgtest.DSN(t)
	store, err := postgres.Open(ctx, dsn, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // a setting is its session's
	for _, text := range []string{
		`SET session_replication_role = replica`, // rows that no trigger has seen
		`INSERT INTO "lifecycle" ("id", "state", "rev", "created_at", "updated_at", "owner", "lease", "attempt")
			SELECT 'j' || n, 'running', 3, now(), now(), 'w', now(), 1 FROM generate_series(1, 3) AS n`,
		`SET session_replication_role = origin`,
		`UPDATE "lifecycle" SET "_open" = false WHERE "id" = 'j1'`,
		`UPDATE "lifecycle" SET "_minute_lease" = now() + interval '1 year' WHERE "id" = 'j2'`,
		`UPDATE "lifecycle" SET "_in_queued_or_stalled" = true, "_in_claimed_or_running" = false WHERE "id" = 'j3'`,
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	var right int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM "lifecycle" WHERE "_open" AND "_in_claimed_or_running"
		AND NOT "_in_queued_or_stalled" AND "_minute_lease" = date_trunc('minute', "lease")`).Scan(&right); err != nil || right != 3 {
		t.Errorf("%d of 3 rows are right, %v", right, err)
	}
}
