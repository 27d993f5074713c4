package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
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
	for f, err := range jobs.Audit(t.Context()) {
		t.Errorf("the audit found %v, %v", f, err)
	}
}

// A worker that died leaves its job behind; the next one takes it up.
func TestDeadWorker(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	jobs := open(t, path)
	ctx := t.Context()
	if _, err := jobs.As("shop").Submit(ctx, job.SubmitRequest{Address: "12 Elm Street"}); err != nil {
		t.Fatal(err)
	}
	dead, err := jobs.As("dead").Claim(ctx, job.ClaimRequest{Lease: time.Now().Add(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond)
	var out bytes.Buffer
	if err := work(ctx, jobs, &out); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		t.Error("nothing was sent")
	}
	if _, err := dead.Finish(ctx); !errors.Is(err, fsm.ErrStale) {
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
