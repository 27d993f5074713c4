package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"

	"example.com/shop/job"
)

func TestRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	var out bytes.Buffer
	if err := run(t.Context(), path, []string{"12 Elm Street", " "}, &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "sent to 12 Elm Street\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	jobs := open(t, path)
	count, err := jobs.Count(t.Context(), job.States()...)
	if err != nil || count[job.StateDone] != 1 || count[job.StateFailed] != 1 {
		t.Errorf("jobs by state: %v, %v; want one done and one failed", count, err)
	}
	for f, err := range audit.Run(t.Context(), jobs) {
		t.Errorf("the audit found %v, %v", f, err)
	}
}

// A worker died with a job in its hands. When the lease is over the next one
// takes the job up, and the dead one may not finish it any more.
func TestDeadWorker(t *testing.T) {
	t.Parallel()
	ctx, store, clock := t.Context(), memstore.New(), fsmtest.NewClock()
	if err := job.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	jobs, err := job.Open(ctx, store, fsm.WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	held := fsmtest.Given(t, store, jobs.Core(), job.Job{
		State: job.StateRunning, Address: "12 Elm Street", Owner: fsm.Some("dead"), Lease: fsm.Some(clock.Now().Add(time.Minute)),
	})
	clock.Advance(time.Minute)
	var out bytes.Buffer
	if err := work(ctx, jobs, &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "sent to 12 Elm Street\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if _, err := jobs.Finish(ctx, held, fsm.Call{RequestID: "late", Actor: "dead"}); !errors.Is(err, fsm.ErrStale) {
		t.Errorf("the dead worker comes back: %v, want ErrStale", err)
	}
}

func open(t *testing.T, path string) *job.Machine {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := job.Migrate(context.WithoutCancel(t.Context()), store); err != nil {
		t.Fatal(err)
	}
	jobs, err := job.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}
