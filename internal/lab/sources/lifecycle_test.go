package sources_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// queue makes calls with request ids of their own.
type queue struct {
	*lifecycle.Machine
	t     *testing.T
	clock *clock
	n     int
}

func newQueue(t *testing.T, store *sqlstore.Store, opts ...fsm.Option) *queue {
	t.Helper()
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	c := &clock{start}
	m := must[*lifecycle.Machine](t)(lifecycle.Open(t.Context(), store, append(opts, fsm.WithClock(c.Now))...))
	return &queue{Machine: m, t: t, clock: c}
}

func (q *queue) by(actor string) fsm.Call {
	q.n++
	return fsm.Call{RequestID: fmt.Sprint("r", q.n), Actor: actor}
}

// enqueue makes a job, a second after what was done before.
func (q *queue) enqueue(id string) lifecycle.Outcome {
	q.t.Helper()
	q.clock.pass(time.Second)
	return must[lifecycle.Outcome](q.t)(q.Enqueue(q.t.Context(), id, lifecycle.EnqueueInput{}, q.by("ann")))
}

// claim returns the id of the job that a worker gets, empty when there is none.
func (q *queue) claim() lifecycle.Outcome {
	q.t.Helper()
	q.clock.pass(time.Second)
	out, err := q.ClaimNext(q.t.Context(), lifecycle.ClaimNextInput{Lease: q.clock.in(time.Minute)}, q.by("w"))
	if err != nil {
		refused[lifecycle.Outcome](q.t, fsm.ErrNothingToDo)(out, err)
	}
	return out
}

// sweep lets all leases end.
func (q *queue) sweep() {
	q.t.Helper()
	q.clock.pass(time.Minute)
	must[int](q.t)(q.Sweep(q.t.Context()))
}

// 002:32, 88: who presumes the worker dead stalls the job before its lease is over, at the
// revision that was seen, from the two states, with a reason.
func TestStallBeforeTheEnd(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		q := newQueue(t, store)
		ctx := t.Context()
		dead := func() fsm.Call {
			c := q.by("supervisor")
			c.Reason = "its machine is gone"
			return c
		}
		for _, running := range []bool{false, true} {
			queued := q.enqueue(fmt.Sprint("job ", running))
			refused[lifecycle.Outcome](t, fsm.ErrWrongState)(q.Stall(ctx, queued, dead()))
			job := q.claim()
			seen := job
			if running {
				job = must[lifecycle.Outcome](t)(q.Start(ctx, job, q.by("w")))
				refused[lifecycle.Outcome](t, fsm.ErrStale)(q.Stall(ctx, seen, dead()))
			}
			out := must[lifecycle.Outcome](t)(q.Stall(ctx, job, dead()))
			e := last(t, q.History(ctx, job.Record.ID))
			if out.Record.State != lifecycle.StateStalled || e.Actor != "supervisor" || e.Reason != "its machine is gone" {
				t.Errorf("%s: %+v", out.Record.State, e)
			}
			refused[lifecycle.Outcome](t, fsm.ErrStale)(q.Heartbeat(ctx, job, lifecycle.HeartbeatInput{Lease: q.clock.in(time.Hour)}, q.by("w")))
		}
	})
}

// 002:67 and C31: a stalled job does not overtake a queued one, however young, unless
// somebody says so: by its name, by a requeue, or by a policy at Open.
func TestReclaim(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		stalled := map[string]time.Time{}
		wait := 10 * time.Minute
		q := newQueue(t, store, fsm.WithEligible("claim_next", func(j lifecycle.Job, now time.Time) bool {
			return j.State != lifecycle.StateStalled || !now.Before(stalled[j.ID].Add(wait))
		}))
		old := q.enqueue("old")
		q.claim()
		q.enqueue("young")
		q.sweep()
		stalled["old"] = q.clock.now
		q.enqueue("younger")
		for _, want := range []string{"young", "younger", ""} {
			if got := q.claim().Record.ID; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		q.clock.pass(wait)
		if got := q.claim(); got.Record.ID != "old" || got.Record.Attempt != 2 {
			t.Errorf("got %q, attempt %d; want the old job's second one", got.Record.ID, got.Record.Attempt)
		}

		// By name at once, and by a requeue behind what waits.
		stall := func() lifecycle.Outcome {
			t.Helper()
			job := must[lifecycle.Job](t)(q.Record(t.Context(), "old"))
			out := must[lifecycle.Outcome](t)(q.Stall(t.Context(), job, q.by("ann")))
			stalled["old"] = q.clock.now
			return out
		}
		out := must[lifecycle.Outcome](t)(q.ClaimNextOf(t.Context(), stall(), lifecycle.ClaimNextInput{Lease: q.clock.in(time.Minute)}, q.by("w")))
		if out.Record.ID != old.Record.ID || out.Record.Attempt != 3 {
			t.Errorf("%+v", out.Record)
		}
		at := stall()
		q.enqueue("youngest")
		q.clock.pass(time.Second)
		must[lifecycle.Outcome](t)(q.RequeueStalled(t.Context(), at, q.by("ann")))
		for _, want := range []string{"youngest", "old"} {
			if got := q.claim().Record.ID; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// Without a policy a stalled job is claimed when nothing is queued.
func TestReclaimWithoutPolicy(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		q := newQueue(t, store)
		q.enqueue("old")
		q.claim()
		q.sweep()
		q.enqueue("young")
		for _, want := range []string{"young", "old"} {
			if got := q.claim().Record.ID; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// 002:104: the event of a sweep names an actor, like each other one.
func TestSweepNamesTheSystem(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		q := newQueue(t, store)
		q.enqueue("a")
		q.claim()
		q.sweep()
		if e := last(t, q.History(t.Context(), "a")); e.Name != "stalled" || e.Actor != "system" || e.From != "claimed" || e.To != "stalled" {
			t.Errorf("%+v", e)
		}
	})
}

// 002:48, 52: JSON null is no result and no error.
func TestNullIsNoResult(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		q := newQueue(t, store)
		ctx := t.Context()
		q.enqueue("a")
		job := must[lifecycle.Outcome](t)(q.Start(ctx, q.claim(), q.by("w")))
		for _, null := range []string{"null", " null "} {
			refused[lifecycle.Outcome](t, fsm.ErrInvalidInput)(q.Complete(ctx, job, lifecycle.CompleteInput{Result: fsm.MustJSON(null)}, q.by("w")))
			refused[lifecycle.Outcome](t, fsm.ErrInvalidInput)(q.Fail(ctx, job, lifecycle.FailInput{Error: fsm.MustJSON(null)}, q.by("w")))
		}
		out := must[lifecycle.Outcome](t)(q.Complete(ctx, job, lifecycle.CompleteInput{Result: fsm.MustJSON("0")}, q.by("w")))
		if out.Record.State != lifecycle.StateSucceeded {
			t.Errorf("%+v", out.Record)
		}
	})
}
