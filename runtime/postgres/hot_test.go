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
	lease := time.Now().Add(time.Hour).Truncate(time.Minute)
	const jobs, beats = 20, 5
	for range jobs {
		n := 0
		call := func(at lifecycle.Outcome) (fsm.Ref, fsm.Call) {
			n++
			return at.Record.Ref(), fsm.Call{Actor: "w", RequestID: fmt.Sprint("r", n)}
		}
		out, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: fmt.Sprint("e", time.Now().UnixNano())})
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
			if out, err = m.Heartbeat(ctx, ref, lifecycle.HeartbeatInput{Lease: lease.Add(time.Duration(i+1) * time.Second)}, by); err != nil {
				t.Fatal(err)
			}
		}
		ref, by = call(out)
		if _, err = m.Complete(ctx, ref, lifecycle.CompleteInput{Result: fsm.MustJSON("1")}, by); err != nil {
			t.Fatal(err)
		}
	}
	store.Close() // a session tells the server what it did when it ends
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all, hot int
	for all < jobs*(beats+3) && ctx.Err() == nil {
		if err := db.QueryRowContext(ctx, `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'lifecycle'`).Scan(&all, &hot); err != nil {
			t.Fatal(err)
		}
	}
	if want := jobs * (beats + 1); hot < want*9/10 { // a page that is full writes elsewhere
		t.Errorf("%d of %d updates wrote no index, want %d: each start and heartbeat", hot, all, want)
	}
}
