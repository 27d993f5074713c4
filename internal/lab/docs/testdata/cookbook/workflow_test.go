package cookbook

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.com/cookbook/edge"
	"example.com/cookbook/stage"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func TestWorkflow(t *testing.T) {
	workflow(t, memstore.New(), 1000)
	workflow(t, must(sqlite.Open(filepath.Join(t.TempDir(), "workflow.db"))), 300)
}

// TestWorkflowOnPostgres runs where the caller of these tests names a database.
func TestWorkflowOnPostgres(t *testing.T) {
	if address := os.Getenv("COOKBOOK_POSTGRES"); address != "" {
		workflow(t, must(postgres.Open(t.Context(), address)), 300)
	}
}

// workflow runs a random graph of stages, of which a few fail: each stage begins when all before it are done, and those behind
// one that failed are cancelled.
func workflow(t *testing.T, store fsm.Store, stages int) {
	t.Helper()
	ctx := t.Context()
	t.Cleanup(func() { _ = store.Close() })
	if err := errors.Join(stage.Migrate(ctx, store), edge.Migrate(ctx, store)); err != nil {
		t.Fatal(err)
	}
	on := &onward{}
	all := must(stage.Open(ctx, store, on))
	on.edges = must(edge.Open(ctx, store, all))
	name := func(n int) string { return fmt.Sprintf("stage-%04d", n) }
	random := rand.New(rand.NewPCG(1, 2))
	before := make([][]int, stages)
	fails := map[int]bool{}
	must(all.Batch(ctx, func(m *stage.Machine) error {
		var errs []error
		for n := range stages {
			_, err := m.Add(ctx, name(n), stage.AddInput{Workflow: "w"}, fsm.Call{})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}))
	must(on.edges.Batch(ctx, func(m *edge.Machine) error {
		var errs []error
		for n := range stages {
			fails[n] = n > 0 && random.IntN(stages) < 4
			for range min(n, random.IntN(4)) {
				b := n - 1 - random.IntN(min(n, 20))
				before[n] = append(before[n], b)
				_, err := m.Draw(ctx, "", edge.DrawInput{Before: name(b), After: name(n)}, fsm.Call{})
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}))
	must(all.LaunchEach(ctx, stage.LaunchInput{Of: "w"}, fsm.Call{RequestID: "launch w"}))
	var lock sync.Mutex
	ended := map[string]bool{}
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for work(ctx, t, all, &lock, ended, before, fails) {
			}
		})
	}
	workers.Wait()
	for n := range stages {
		want := stage.StateDone
		if fails[n] {
			want = stage.StateFailed
		}
		for _, b := range before[n] {
			if s := must(all.Record(ctx, name(b))).State; s == stage.StateFailed || s == stage.StateCancelled {
				want = stage.StateCancelled
			}
		}
		if got := must(all.Record(ctx, name(n))).State; got != want {
			t.Errorf("%s is %v, want %v", name(n), got, want)
		}
	}
}

// work takes one stage, or performs what is due; false when nothing is left.
func work(ctx context.Context, t *testing.T, all *stage.Machine, lock *sync.Mutex, ended map[string]bool, before [][]int, fails map[int]bool) bool {
	out, err := all.Take(ctx, fsm.Call{})
	if errors.Is(err, fsm.ErrNothingToDo) {
		if _, err := all.Deliver(ctx); err != nil {
			t.Error(err)
		}
		left := must(all.Count(ctx, stage.StateWaiting, stage.StateReady, stage.StateRunning))
		return left[stage.StateWaiting]+left[stage.StateReady]+left[stage.StateRunning] > 0
	}
	if err != nil {
		t.Error(err)
		return false
	}
	var n int
	if _, err := fmt.Sscanf(out.Record.ID, "stage-%d", &n); err != nil {
		t.Error(err)
	}
	lock.Lock()
	for _, b := range before[n] {
		if id := fmt.Sprintf("stage-%04d", b); !ended[id] {
			t.Errorf("%s begins before %s is done", out.Record.ID, id)
		}
	}
	ended[out.Record.ID] = !fails[n]
	lock.Unlock()
	if fails[n] {
		_, err = all.Fail(ctx, out.Record, fsm.Call{})
	} else {
		_, err = all.Finish(ctx, out.Record, fsm.Call{})
	}
	if err != nil {
		t.Error(err)
	}
	return true
}
