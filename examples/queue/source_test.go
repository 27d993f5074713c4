package main

import (
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// What the source says of leases and of who stalls and requeues (002:28-32, 71-72,
// 88, 104), as a caller meets it.
func TestSource(t *testing.T) {
	t.Parallel()
	clock := fsmtest.NewClock()
	store := memstore.New()
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(t.Context(), store, fsm.WithClock(clock.Now))
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
		return func(out lifecycle.Outcome, err error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%+v, %v; want %v", out, err, want)
			}
		}
	}
	ctx := t.Context()
	job := must(m.Enqueue(ctx, "a", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "1"}))
	claim := func(id string, d time.Duration) (lifecycle.Outcome, error) {
		return m.ClaimNextOf(ctx, job, lifecycle.ClaimNextInput{Lease: clock.Now().Add(d)}, fsm.Call{RequestID: id, Actor: "w"})
	}
	refused(lifecycle.ErrLeaseInThePast)(claim("2", 0))
	job = must(claim("3", time.Minute))
	beat := func(id string, d time.Duration) (lifecycle.Outcome, error) {
		return m.Heartbeat(ctx, job, lifecycle.HeartbeatInput{Lease: clock.Now().Add(d)}, fsm.Call{RequestID: id, Actor: "w"})
	}
	refused(lifecycle.ErrLeaseShortened)(beat("4", time.Minute-time.Microsecond))
	refused(lifecycle.ErrLeaseInThePast)(beat("5", -time.Second))
	stall := func(id, who string) (lifecycle.Outcome, error) {
		return m.Stall(ctx, job, fsm.Call{RequestID: id, Actor: who, Reason: "its machine is gone"})
	}
	held := job
	job = must(beat("7", time.Minute))
	current := job
	job = held
	refused(fsm.ErrStale)(stall("8", "anna")) // CAS
	job = current
	job = must(stall("9", "anna")) // who does not own it knows that the worker is dead, before the lease is over
	if e := job.Events[0]; e.Name != "stalled" || e.Actor != "anna" || e.Reason != "its machine is gone" {
		t.Errorf("%+v", e)
	}
	job = must(m.RequeueStalled(ctx, job, fsm.Call{RequestID: "10", Actor: "berta"}))
	if e := job.Events[0]; e.Name != "requeued" || e.Actor != "berta" {
		t.Errorf("%+v", e)
	}

	job = must(claim("11", time.Minute))
	clock.Advance(time.Minute)
	if _, err := m.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	var swept fsm.Event
	for e, err := range m.History(ctx, "a") {
		if err != nil {
			t.Fatal(err)
		}
		swept = e
	}
	if swept.Name != "stalled" || swept.Actor != "system" || swept.RequestID == "" {
		t.Errorf("the sweeper wrote %+v", swept)
	}
	refused(fsm.ErrStale)(stall("12", "anna"))
}
