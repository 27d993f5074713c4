package gen_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// TestLife leads one job through everything that a caller of the durable layer
// meets: dedupe, picking, a guard, a deadline, a late worker, a replay, batches.
func TestLife(t *testing.T) {
	ctx := context.Background()
	store := memstore.New()
	clock := now
	if _, err := lifecycle.Open(ctx, store); !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Fatalf("Open on a store without tables: %v", err)
	}
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store, fsm.WithClock(func() time.Time { return clock }))
	if err != nil {
		t.Fatal(err)
	}
	must := func(out lifecycle.Outcome, err error) lifecycle.Outcome {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	refused := func(want error) func(lifecycle.Outcome, error) {
		return func(_ lifecycle.Outcome, err error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("got %v, expected %v", err, want)
			}
		}
	}
	lease := func() time.Time { return clock.Add(time.Minute) }

	first := must(m.Enqueue(ctx, "", lifecycle.EnqueueInput{DedupeKey: fsm.Some("k"), Payload: fsm.Some(fsm.MustJSON(`{"a": 1}`))}, fsm.Call{RequestID: "r1"}))
	if again := must(m.Enqueue(ctx, "", lifecycle.EnqueueInput{DedupeKey: fsm.Some("k")}, fsm.Call{RequestID: "r2"})); !again.Existing || again.Record.ID != first.Record.ID {
		t.Errorf("the same key gave %+v", again)
	}
	refused(fsm.ErrRequestMissing)(m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, fsm.Call{}))
	claimed := must(m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease()}, fsm.Call{RequestID: "r3", Actor: "w1"}))
	refused(fsm.ErrNothingToDo)(m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease()}, fsm.Call{RequestID: "r4", Actor: "w1"}))
	refused(lifecycle.ErrNotOwner)(m.Start(ctx, claimed, fsm.Call{RequestID: "r5", Actor: "w2"}))
	started := must(m.Start(ctx, claimed.Record, fsm.Call{RequestID: "r5", Actor: "w1"}))

	clock = lease()
	if n, err := m.Sweep(ctx); n != 1 || err != nil {
		t.Fatalf("Sweep took %d steps: %v", n, err)
	}
	_, late := m.Complete(ctx, started, lifecycle.CompleteInput{Result: fsm.MustJSON("1")}, fsm.Call{RequestID: "r6", Actor: "w1"})
	if state, ok := lifecycle.StateOf(late); !errors.Is(late, fsm.ErrStale) || !ok || state != lifecycle.StateStalled {
		t.Errorf("the late worker got %v", late)
	}
	stalled, err := m.Record(ctx, first.Record.ID)
	if err != nil || stalled.State != lifecycle.StateStalled || stalled.Owner.Present() {
		t.Fatalf("the sweeper left %+v: %v", stalled, err)
	}
	again := must(m.ClaimNextOf(ctx, stalled, lifecycle.ClaimNextInput{Lease: lease()}, fsm.Call{RequestID: "r7", Actor: "w2"}))
	started = must(m.Start(ctx, again, fsm.Call{RequestID: "r8", Actor: "w2"}))
	complete, call := lifecycle.CompleteInput{Result: fsm.MustJSON("1")}, fsm.Call{RequestID: "r9", Actor: "w2"}
	done := must(m.Complete(ctx, started, complete, call))
	if replay := must(m.Complete(ctx, started, complete, call)); !replay.Replayed || !replay.Record.Equal(done.Record) {
		t.Errorf("the same request gave %+v", replay)
	}
	complete.Result = fsm.MustJSON("2")
	refused(fsm.ErrRequestReused)(m.Complete(ctx, started, complete, call))

	outs, err := m.Batch(ctx, func(m *lifecycle.Machine) error {
		for _, id := range []string{"b1", "b2", "b3"} {
			if _, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: id}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(outs) != 3 {
		t.Fatalf("Batch made %d records: %v", len(outs), err)
	}
	outs, err = m.ClaimNextN(ctx, 5, lifecycle.ClaimNextInput{Lease: lease()}, fsm.Call{RequestID: "c", Actor: "w3"})
	if err != nil || len(outs) != 3 {
		t.Fatalf("ClaimNextN took %d records: %v", len(outs), err)
	}
	taken := outs
	outs, err = m.Batch(ctx, func(m *lifecycle.Machine) error {
		_, one := m.Start(ctx, taken[0], fsm.Call{RequestID: "s1", Actor: "w3"})
		_, two := m.Start(ctx, taken[1], fsm.Call{RequestID: "s2", Actor: "w3"})
		return errors.Join(one, two)
	})
	if err != nil || len(outs) != 2 {
		t.Fatalf("Batch took %d records: %v", len(outs), err)
	}
	counts, err := m.Count(ctx, lifecycle.StateRunning, lifecycle.StateClaimed, lifecycle.StateSucceeded)
	if err != nil || len(counts) != 3 || counts[lifecycle.StateRunning] != 2 || counts[lifecycle.StateClaimed] != 1 || counts[lifecycle.StateSucceeded] != 1 {
		t.Errorf("counts %v: %v", counts, err)
	}
	listed := 0
	for j, err := range m.List(ctx, lifecycle.StateRunning, lifecycle.StateClaimed) {
		if err != nil || j.Owner != fsm.Some("w3") {
			t.Errorf("listed %+v: %v", j, err)
		}
		listed++
	}
	if listed != 3 {
		t.Errorf("listed %d records, expected 3", listed)
	}

	var log []fsm.Event
	for e, err := range m.History(ctx, done.Record.ID) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, e)
	}
	folded, err := lifecycle.Fold(log)
	if err != nil || !folded.Equal(done.Record) || len(log) != 7 {
		t.Errorf("%d events fold to %+v, expected %+v: %v", len(log), folded, done.Record, err)
	}
	for f, err := range audit.Run(ctx, m) {
		t.Errorf("audit: %v %v", f, err)
	}
}
