package claims_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/claims/slot"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// A job that is made in a transaction of pgx's is there with what the caller wrote beside
// it, or neither is. It is worked on, finished and purged like others.
func TestJobInACallersTransaction(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	m, store, err := openSlots(t.Context(), "postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), `CREATE TABLE users (name text)`); err != nil {
		t.Fatal(err)
	}
	for i, commit := range []bool{false, true} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO users VALUES ('ann')`); err != nil {
			t.Fatal(err)
		}
		in, err := m.In(t.Context(), postgres.Join(store.(*sqlstore.Store), tx))
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Submit(t.Context(), "", slot.SubmitInput{ReadyAt: fsm.Some(time.Unix(0, 0))}, fsm.Call{})
		if err != nil {
			t.Fatal(err)
		}
		if commit {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Record(t.Context(), out.Record.ID); (err == nil) != commit {
			t.Errorf("committed %t: the job is read with %v", commit, err)
		}
		users := 0
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM users`).Scan(&users); err != nil || users != i {
			t.Errorf("committed %t: %d users, %v", commit, users, err)
		}
	}
	out, err := m.Claim(t.Context(), fsm.Call{Actor: "w"})
	if err == nil {
		_, err = m.Finish(t.Context(), out.Record, fsm.Call{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := audit.Purge(t.Context(), m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Actor: "me", Reason: "old"}); n != 1 || err != nil {
		t.Errorf("%d records were purged, %v; want 1", n, err)
	}
	if _, err := m.Claim(t.Context(), fsm.Call{Actor: "w"}); !errors.Is(err, fsm.ErrNothingToDo) {
		t.Errorf("a claim: %v, want that there is nothing to do", err)
	}
}

// Many jobs are made at once; one with a key that another one has is that one.
func TestJobsMadeAtOnce(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), pgtest.DSN(t), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	outs, err := m.Batch(t.Context(), func(m *lifecycle.Machine) error {
		for range 300 {
			if _, err := m.Enqueue(t.Context(), "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: driver.NewID()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(outs) != 300 {
		t.Fatalf("%d jobs, %v", len(outs), err)
	}
	var ids []string
	for i := range 2 {
		out, err := m.Enqueue(t.Context(), "", lifecycle.EnqueueInput{DedupeKey: fsm.Some("only one")}, fsm.Call{RequestID: driver.NewID()})
		if err != nil || out.Existing != (i == 1) {
			t.Errorf("job %d with the key: existing %t, %v", i, out.Existing, err)
		}
		ids = append(ids, out.Record.ID)
	}
	if ids[0] != ids[1] {
		t.Errorf("the key has the jobs %v, want one", ids)
	}
	if n, err := m.Count(t.Context(), lifecycle.StateQueued); err != nil || n[lifecycle.StateQueued] != 301 {
		t.Errorf("%v jobs, %v; want 301", n, err)
	}
}

// openSlots opens the machine that parks, in a database that may be others' as well.
func openSlots(ctx context.Context, kind, address string) (*slot.Machine, fsm.Store, error) {
	var store fsm.Store
	var err error
	if kind == "sqlite" {
		store, err = sqlite.Open(address)
	} else {
		store, err = postgres.Open(ctx, address, postgres.WithMaxSessions(4), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		return nil, nil, err
	}
	err = slot.Migrate(ctx, store)
	m := (*slot.Machine)(nil)
	if err == nil {
		m, err = slot.Open(ctx, store)
	}
	return m, store, err
}
