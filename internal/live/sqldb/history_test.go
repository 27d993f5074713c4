package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// work enqueues three jobs, claims two and completes one.
func work(t *testing.T, store fsm.Store) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(lifecycle.Migrate(ctx, store))
	m, err := lifecycle.Open(ctx, store)
	check(err)
	for i := range 3 {
		_, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{}`))}, fsm.Call{RequestID: fmt.Sprint("enqueue-", i)})
		check(err)
	}
	for i := range 2 {
		job, err := m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Hour)}, fsm.Call{RequestID: fmt.Sprint("claim-", i), Actor: "w"})
		check(err)
		if i > 0 {
			continue
		}
		out, err := m.Start(ctx, job, fsm.Call{RequestID: "start", Actor: "w"})
		check(err)
		_, err = m.Complete(ctx, out.Record, lifecycle.CompleteInput{Result: fsm.MustJSON(`1`)}, fsm.Call{RequestID: "complete", Actor: "w"})
		check(err)
	}
}

var worked = []chart.Traffic{
	{Operation: "claim_next", From: "queued", To: "claimed", Count: 2},
	{Operation: "complete", From: "running", To: "succeeded", Count: 1},
	{Operation: "enqueue", To: "queued", Count: 3},
	{Operation: "start", From: "claimed", To: "running", Count: 1},
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs of a day?.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	work(t, store)
	// The application still has the file open: reading does not need it alone.
	got, err := History(t.Context(), path, "lifecycle")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(worked, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := History(t.Context(), path, "task"); err == nil || !strings.Contains(err.Error(), `no log of the machine "task"`) {
		t.Errorf("another machine's log: %v", err)
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	store, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	work(t, store)
	got, err := History(t.Context(), dsn, "lifecycle")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(worked, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := History(t.Context(), dsn, "task"); err == nil || !strings.Contains(err.Error(), `no log of the machine "task"`) {
		t.Errorf("another machine's log: %v", err)
	}
}

// What cannot be read is said without the password.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	missing := filepath.Join(t.TempDir(), "none.db")
	if _, err := History(ctx, missing, "task"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "expected the path of a SQLite file") {
		t.Errorf("a missing file: %v", err)
	}
	for _, address := range []string{"postgres://u:hunter2@127.0.0.1:1/db", "postgres://u:hunter2@127.0.0.1:x/db"} {
		if _, err := History(ctx, address, "task"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
