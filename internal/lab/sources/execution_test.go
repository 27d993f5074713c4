package sources_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/examples/fm001/job"
	"github.com/fsmgen/fsmgen/examples/fm001/jobs"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

type noEffect struct{}

func (noEffect) ApplyResult(context.Context, *sql.Tx, execution.Execution, string, fsm.Event) error {
	return nil
}

// works are jobs, with calls that have request ids of their own.
type works struct {
	*jobs.Jobs
	t     *testing.T
	clock *clock
	n     int
}

func newWorks(t *testing.T, store *sqlstore.Store, opts ...fsm.Option) *works {
	t.Helper()
	if err := jobs.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	w := &works{t: t, clock: &clock{start}}
	w.Jobs = &jobs.Jobs{
		Submitted:  must[*job.Machine](t)(job.Open(t.Context(), store, fsm.WithClock(w.clock.Now))),
		Executions: must[*execution.Machine](t)(execution.Open(t.Context(), store, noEffect{}, append(opts, fsm.WithClock(w.clock.Now))...)),
	}
	return w
}

func (w *works) by(actor string) fsm.Call {
	w.n++
	return fsm.Call{RequestID: fmt.Sprint("r", w.n), Actor: actor}
}

func (w *works) submit(id, payload string) jobs.Job {
	w.t.Helper()
	w.clock.pass(time.Second)
	return must[jobs.Job](w.t)(w.Submit(w.t.Context(), id, fsm.Some(fsm.MustJSON(payload)), w.by("ann")))
}

// lease makes an attempt of a minute.
func (w *works) lease(exec, id string) (execution.Outcome, jobs.Job, error) {
	w.clock.pass(time.Second)
	return w.Lease(w.t.Context(), exec, execution.LeaseInput{JobID: id, LeaseExpiresAt: w.clock.in(time.Minute)}, w.by("w"))
}

func (w *works) leased(exec, id string) (execution.Outcome, jobs.Job) {
	w.t.Helper()
	out, it, err := w.lease(exec, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return out, it
}

// aborted makes an attempt and lets its lease end.
func (w *works) aborted(exec, id string) {
	w.t.Helper()
	w.leased(exec, id)
	w.clock.pass(time.Minute)
	must[int](w.t)(w.Executions.Sweep(w.t.Context()))
}

// committed makes an attempt up to its commit.
func (w *works) committed(exec, id string) execution.Outcome {
	w.t.Helper()
	out, _ := w.leased(exec, id)
	out = must[execution.Outcome](w.t)(w.Executions.Start(w.t.Context(), out, w.by("w")))
	return must[execution.Outcome](w.t)(w.Executions.Commit(w.t.Context(), out, execution.CommitInput{}, w.by("w")))
}

// 000:11, 42-51: a job is there before it is leased, with its payload, which each attempt
// gets; one that was never submitted is not found and not leased.
func TestJobIsSubmitted(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorks(t, store), t.Context()
		submitted := w.submit("a", `{"n":1}`)
		w.submit("b", `2`)
		if submitted.State != execution.JobStatePending || submitted.Attempt != 0 || !submitted.CreatedAt.Equal(start.Add(time.Second)) {
			t.Errorf("%+v", submitted)
		}
		list := func(states ...execution.JobState) (ids string) {
			t.Helper()
			for it, err := range w.List(ctx, states...) {
				if err != nil {
					t.Fatal(err)
				}
				ids += it.ID
			}
			return ids
		}
		if got := list() + " " + list(execution.JobStatePending); got != "ab ab" {
			t.Errorf("listed are %s", got)
		}
		refused[jobs.Job](t, fsm.ErrNotFound)(w.Job(ctx, "never seen"))
		refused[execution.Job](t, fsm.ErrNotFound)(w.Executions.Job(ctx, "never seen"))
		_, _, err := w.lease("x", "never seen")
		refused[string](t, fsm.ErrNotFound)("lease", err)

		w.aborted("a1", "a")
		second, it := w.leased("a2", "a")
		if it.Payload.Or(fsm.JSON{}).String() != `{"n":1}` || second.Record.Attempt != 2 || it.Attempt != 2 || it.State != execution.JobStateRunning {
			t.Errorf("the second attempt: %+v of %+v", second.Record, it)
		}
		if !it.CreatedAt.Equal(submitted.CreatedAt) || !it.UpdatedAt.Equal(w.clock.now) {
			t.Errorf("created %v, updated %v", it.CreatedAt, it.UpdatedAt)
		}
		if got := list(execution.JobStatePending) + " " + list(execution.JobStateRunning); got != "b a" {
			t.Errorf("listed are %s", got)
		}
		refused[jobs.Job](t, fsm.ErrExists)(w.Submit(ctx, "a", fsm.Optional[fsm.JSON]{}, w.by("ann")))
	})
}

// 000:62, 91: a lease that is over already is none, so it uses up no attempt.
func TestLeaseThatIsOver(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorks(t, store), t.Context()
		w.submit("a", "1")
		for i, ends := range []time.Duration{0, -time.Second, -time.Hour, 0, 0, 0} {
			in := execution.LeaseInput{JobID: "a", LeaseExpiresAt: w.clock.in(ends)}
			_, _, err := w.Lease(ctx, fmt.Sprint("x", i), in, w.by("w"))
			refused[string](t, execution.ErrLeaseInThePast)("lease", err)
			must[int](t)(w.Executions.Sweep(ctx))
		}
		if it := must[jobs.Job](t)(w.Job(ctx, "a")); it.State != execution.JobStatePending || it.Attempt != 0 {
			t.Errorf("%+v", it)
		}
	})
}

// 000:81: how many attempts a job has until it has failed is set at Open.
func TestAttemptsAtOpen(t *testing.T) {
	for _, limit := range []int{1, 2, 5, 7} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			over(t, func(t *testing.T, store *sqlstore.Store) {
				w := newWorks(t, store, fsm.WithLimit("attempts_left", int64(limit)))
				w.submit("a", "1")
				for i := range limit {
					if it := must[jobs.Job](t)(w.Job(t.Context(), "a")); it.State != execution.JobStatePending {
						t.Errorf("after %d attempts the job is %s", i, it.State)
					}
					w.aborted(fmt.Sprint("x", i), "a")
				}
				_, _, err := w.lease("y", "a")
				refused[string](t, execution.ErrJobFailed)("lease", err)
				it := must[jobs.Job](t)(w.Job(t.Context(), "a"))
				if it.State != execution.JobStateFailed || it.Attempt != int64(limit) {
					t.Errorf("after %d attempts the job is %+v", limit, it)
				}
				for finding, err := range audit.Run(t.Context(), w.Executions) {
					t.Errorf("%v, %v", finding, err)
				}
			})
		})
	}
}

// 000:55-56, 69, 124: a commit on what is committed is a success only of who holds it, and
// so is a finish; done names who finished, or the system.
func TestCommitOfAStranger(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorks(t, store), t.Context()
		w.submit("a", "1")
		out := w.committed("a1", "a")
		m := w.Executions
		refused[execution.Outcome](t, execution.ErrNotLeaseOwner)(m.Commit(ctx, out, execution.CommitInput{}, w.by("somebody")))
		if again := must[execution.Outcome](t)(m.Commit(ctx, out, execution.CommitInput{}, w.by("w"))); !again.RecordOnly {
			t.Errorf("%+v", again)
		}
		refused[execution.Outcome](t, execution.ErrNotLeaseOwner)(m.Finish(ctx, out, w.by("somebody")))
		done := must[execution.Outcome](t)(m.Finish(ctx, out, w.by("w")))
		if e := last(t, m.History(ctx, "a1")); e.To != "done" || e.Actor != "w" || e.RequestID == "" {
			t.Errorf("%+v", e)
		}
		refused[execution.Outcome](t, execution.ErrNotLeaseOwner)(m.Commit(ctx, done, execution.CommitInput{}, w.by("somebody")))
		refused[execution.Outcome](t, execution.ErrNotLeaseOwner)(m.Finish(ctx, done, w.by("somebody")))

		w.submit("b", "1")
		w.committed("b1", "b") // its worker is gone
		w.clock.pass(time.Minute)
		must[int](t)(m.Sweep(ctx))
		if e := last(t, m.History(ctx, "b1")); e.To != "done" || e.Actor != "system" {
			t.Errorf("%+v", e)
		}
	})
}
