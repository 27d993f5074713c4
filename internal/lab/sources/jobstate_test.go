package sources_test

import (
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

func jobStates(t *testing.T, store *sqlstore.Store) *jobstate.Machine {
	t.Helper()
	if err := jobstate.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return must[*jobstate.Machine](t)(jobstate.Open(t.Context(), store))
}

// 001:79, 88, 90-91: an event of any kind is recorded in each state and moves nothing.
func TestAnyEvent(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		m, ctx := jobStates(t, store), t.Context()
		job := fsm.Ref{ID: "a"}
		n := 0
		id := func() fsm.Call { n++; return fsm.Call{RequestID: fmt.Sprint("e", n)} }
		other := func(want jobstate.State) {
			t.Helper()
			in := jobstate.OtherInput{Kind: "observe_cpu", Payload: fsm.Some(fsm.MustJSON(`{"load":1}`))}
			out := must[jobstate.Outcome](t)(m.Other(ctx, job, in, id()))
			e := last(t, m.History(ctx, "a"))
			if !out.RecordOnly || out.Record.State != want || e.Name != "other" || e.Inputs.String() != `{"kind":"observe_cpu","payload":{"load":1}}` {
				t.Errorf("in %s: %+v, %s", want, out.Record, e.Inputs)
			}
		}
		must[jobstate.Outcome](t)(m.Create(ctx, "a", jobstate.CreateInput{Expected: fsm.NewSet("x"), CompensationPolicy: fsm.Some("undo")}, id()))
		other(jobstate.StateCreated)
		must[jobstate.Outcome](t)(m.JobKick(ctx, job, id()))
		other(jobstate.StateRunning)
		must[jobstate.Outcome](t)(m.ErrorEvent(ctx, job, jobstate.ErrorEventInput{}, id()))
		other(jobstate.StateCompensating)
		in := jobstate.CompensationEventInput{Decision: fsm.Some(jobstate.CompensationEventDecisionDone)}
		must[jobstate.Outcome](t)(m.CompensationEvent(ctx, job, in, id()))
		other(jobstate.StateDone)
	})
}

// 001:83-84: an empty text is no policy.
func TestEmptyPolicy(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		m := jobStates(t, store)
		in := jobstate.CreateInput{Expected: fsm.NewSet("x"), CompensationPolicy: fsm.Some("")}
		refused[jobstate.Outcome](t, fsm.ErrInvalidInput)(m.Create(t.Context(), "a", in, fsm.Call{RequestID: "e"}))
		refused[jobstate.Job](t, fsm.ErrNotFound)(m.Record(t.Context(), "a"))
	})
}
