package fsmtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
)

// TestFaulty orders each fault once and looks at what the caller is told, and at
// what is in the store.
func TestFaulty(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		order func(f *fsmtest.Faults, other func())
		is    error // what the caller is told
		state lifecycle.State
	}{
		{"nothing", func(*fsmtest.Faults, func()) {}, nil, lifecycle.StateRunning},
		{"one commit fails", func(f *fsmtest.Faults, _ func()) { f.FailBefore(1) }, nil, lifecycle.StateRunning},
		{"commits go on failing", func(f *fsmtest.Faults, _ func()) { f.FailBefore(1000) }, fsm.ErrBusy, lifecycle.StateClaimed},
		{"an answer is lost", func(f *fsmtest.Faults, _ func()) { f.FailAfter(1) }, nil, lifecycle.StateRunning},
		{"the line is cut", func(f *fsmtest.Faults, _ func()) { f.Cut() }, fsm.ErrAmbiguous, lifecycle.StateRunning},
		{"the store is down", func(f *fsmtest.Faults, _ func()) { f.Down(true) }, fsm.ErrBusy, lifecycle.StateClaimed},
		{"a slow store", func(f *fsmtest.Faults, _ func()) { f.Delay(time.Hour) }, context.DeadlineExceeded, lifecycle.StateClaimed},
		{"another one is faster", func(f *fsmtest.Faults, other func()) { f.Overtake(other) }, fsm.ErrStale, lifecycle.StateStalled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f *fsmtest.Faults
			clock := fsmtest.NewClock()
			jobs, store := opened(t, lifecycle.Migrate, func(ctx context.Context, s fsm.Store) (*lifecycle.Machine, error) {
				f = fsmtest.Faulty(s)
				return lifecycle.Open(ctx, f, fsm.WithClock(clock.Now))
			})
			j := fsmtest.Given(t, store, jobs.Core(), lifecycle.Job{State: lifecycle.StateClaimed, Owner: fsm.Some("w1"), Lease: fsm.Some(fsmtest.Start.Add(time.Second))})
			clock.Advance(time.Minute)
			tt.order(f, func() {
				if _, err := jobs.Stall(t.Context(), j, fsm.Call{RequestID: "other"}); err != nil {
					t.Error(err)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			out, err := jobs.Start(ctx, j, fsm.Call{RequestID: "r", Actor: "w1"})
			if !errors.Is(err, tt.is) {
				t.Errorf("the caller is told %v, want %v", err, tt.is)
			}
			if err == nil && !out.Record.UpdatedAt.Equal(fsmtest.Start.Add(time.Minute)) {
				t.Errorf("updated at %v, not when the clock says", out.Record.UpdatedAt)
			}
			if f.Commits() == 0 {
				t.Error("nothing was asked of the store")
			}
			f.Down(false)
			if got, err := jobs.Record(t.Context(), j.ID); err != nil || got.State != tt.state {
				t.Errorf("the record is %v, %v; want %v", got.State, err, tt.state)
			}
		})
	}
}

// A clock is wound forwards, backwards and set.
func TestClock(t *testing.T) {
	t.Parallel()
	c := fsmtest.NewClock()
	if got := c.Advance(time.Hour); got != fsmtest.Start.Add(time.Hour) || c.Advance(-time.Hour) != c.Now() || c.Now() != fsmtest.Start {
		t.Errorf("after an hour on and one back it is %v", c.Now())
	}
	at := fsmtest.Start.AddDate(1, 0, 0)
	if c.Set(at); c.Now() != at {
		t.Errorf("set to %v it is %v", at, c.Now())
	}
}
