package cookbook

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/cookbook/job"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// ask sends one request to the handler and returns status and body.
func ask(jobs finisher, id, worker string) (int, string) {
	r := httptest.NewRequest("POST", "/jobs/"+id+"/finish", nil)
	r.SetPathValue("id", id)
	r.Header.Set("Idempotency-Key", "finish "+id)
	r.Header.Set("If-Match", "1")
	r.Header.Set("Worker", worker)
	w := httptest.NewRecorder()
	finishJob(jobs)(w, r)
	return w.Code, w.Body.String()
}

func TestHandlerInMemory(t *testing.T) {
	ctx, clock := t.Context(), fsmtest.NewClock()
	store := fsmtest.Faulty(memstore.New())
	if err := job.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	jobs, err := job.Open(ctx, store, fsm.WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	running := job.Job{ID: "a", State: job.StateRunning, Owner: fsm.Some("w1"), Lease: fsm.Some(clock.Now().Add(time.Minute))}
	fsmtest.Given(t, store, jobs.Core(), running)

	status, _ := ask(jobs, "a", "w2")
	want(t, status, 409) // the guard owner_only
	store.Down(true)
	status, _ = ask(jobs, "a", "w1")
	want(t, status, 503) // the database is away
	store.Down(false)
	status, body := ask(jobs, "a", "w1")
	want(t, status, 200)
	want(t, body, "done at revision 2")

	running.ID = "b"
	fsmtest.Given(t, store, jobs.Core(), running)
	clock.Advance(time.Hour) // past the lease
	want(t, must(jobs.Core().Sweep(ctx)), 1)
	status, _ = ask(jobs, "b", "w1")
	want(t, status, 409) // the job waits for another worker
}

// scripted answers as a test tells it to.
type scripted struct {
	out job.Outcome
	err error
}

func (s scripted) Finish(context.Context, fsm.Target, fsm.Call) (job.Outcome, error) {
	return s.out, s.err
}

func TestHandlerScripted(t *testing.T) {
	for status, answer := range map[int]scripted{
		200: {out: job.Outcome{Record: job.Job{ID: "a", Rev: 7, State: job.StateDone}}},
		404: {err: &fsm.Refusal{Code: fsm.ErrNotFound, Machine: "job", ID: "a"}},
		409: {err: &fsm.Refusal{Code: fsm.ErrGuard, Guard: "owner_only", Cause: job.ErrNotOwner}},
		503: {err: &fsm.AmbiguousError{Machine: "job", ID: "a", Err: errors.New("connection reset")}},
		500: {err: errors.New("no code")},
	} {
		got, body := ask(answer, "a", "w1")
		want(t, got, status)
		if status == 200 {
			want(t, body, "done at revision 7")
		}
	}
}
