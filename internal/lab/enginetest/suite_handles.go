package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// handles runs what handles offer: what a handle shows is the record, its calls
// do what the machine's do, and the type of each result is that of the state
// that the record has come to.
func handles[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	if s.NewHarness(t, st).D.Hold == nil {
		t.Skip("the machine has no handles: its calls name no revision, or no caller does anything with what is made")
	}
	t.Run("records", func(t *testing.T) { holdings(s, t, st) })
	t.Run("worker", func(t *testing.T) { workerOf(s, t, st) })
	for _, o := range s.M.Operations {
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			d := h.D.Operations[o.Name]
			if d.Enter == nil && d.Held == nil {
				t.Skip("no handle offers it: it is no caller's")
			}
			if d.Enter != nil && creates(o) {
				enter(s, t, st, o)
			}
			if d.Enter != nil && !creates(o) {
				enterPicks(h, o)
			}
			if d.Held != nil {
				heldCalls(s, t, st, o)
			}
		})
	}
}

// holdings looks at what the handle of a record in each state shows.
func holdings[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	h := s.NewHarness(t, st)
	for n, from := range s.M.States {
		x, ok := s.Cases.Whole(from)
		if !ok {
			continue
		}
		x.ID, x.Rev = fmt.Sprintf("record-%d", n+1), 7
		row := world.Row(s.M, x)
		rec, err := s.D.Descriptor.Decode(row)
		if err != nil {
			t.Fatal(err)
		}
		got := h.D.Hold(rec, "somebody")
		if got.State != from.Name || got.Ref != row.Ref() || !s.D.Equal(got.Record, rec) {
			t.Errorf("a record in %s: the handle shows %v in state %q: %+v", from.Name, got.Ref, got.State, got.Record)
		}
		for field, same := range got.Fields {
			if !same {
				t.Errorf("a record in %s: the handle shows another %s than the record has", from.Name, field)
			}
		}
		if got.Target == nil {
			continue
		}
		holds, ok := got.Target.(interface{ Outcome() fsm.Outcome[R] })
		if got.Target.Ref() != row.Ref() || !ok || !s.D.Equal(holds.Outcome().Record, rec) {
			t.Errorf("a record in %s: its handle is a target of %v that does not hold it", from.Name, got.Target.Ref())
		}
	}
}

// enter makes records by the machine as an actor has it.
func enter[R any](s *world.Suite[R], t *testing.T, st world.Store, o *spec.Operation) {
	for n, c := range s.Cases.Ways(o, nil) {
		for _, named := range []bool{true, false} {
			if named && s.M.RequestID == spec.None {
				continue
			}
			h := s.NewHarness(t, st)
			what := fmt.Sprintf("case %d, as an actor", n+1)
			for _, what := range []string{what, what + ", its id once more"} {
				call := h.New(c.Call, "record-1")
				if !named {
					call.RequestID = ""
				}
				entered(h, what, call, 0, 1)
			}
			s.DurableCount++
		}
	}
}

// entered calls by the machine as an actor has it, in both, and compares. A call without a request
// id gets one; that of a refused call nobody sees.
func entered[R any](h *world.Harness[R], what string, c interp.Call, n, most int) {
	h.T.Helper()
	outs, err := []fsm.Outcome[R](nil), error(nil)
	h.Both(what, c, func() world.Answer {
		outs, err = h.D.Operations[c.Op.Name].Enter(h.Ctx, n, world.Sent(c))
		if c.RequestID == "" && h.M.RequestID != spec.None {
			c.RequestID = made(outs)
		}
		return h.W.Pick(h.Timed(c), most)
	}, func() ([]fsm.Outcome[R], error) { return outs, err })
	h.Same(what)
}

// made returns the request id that was made for a call without one.
func made[R any](outs []fsm.Outcome[R]) string {
	if len(outs) == 0 || len(outs[0].Events) == 0 {
		return "made-up"
	}
	return outs[0].Events[0].RequestID
}

// enterPicks picks by the machine as an actor has it, one and several at once.
func enterPicks[R any](h *world.Harness[R], o *spec.Operation) {
	h.T.Helper()
	for i, n := range []int{0, 2, 0, 2, 0} {
		if i == 2 {
			crowd(h, rand.New(rand.NewPCG(1, 7))) // before it there is nothing to pick
		}
		entered(h, fmt.Sprintf("pick %d, as an actor", i+1), h.New(pickCall(h, o), ""), n, max(n, 1))
	}
	if h.M.RequestID == spec.None {
		return
	}
	for _, n := range []int{0, 1} {
		call := h.New(pickCall(h, o), "")
		call.RequestID = ""
		entered(h, "a pick without a request id, as an actor", call, n, 1)
	}
}

// pickCall is a call that picks: one that finds a record, or else one that is taken.
func pickCall[R any](h *world.Harness[R], o *spec.Operation) interp.Call {
	var whole interp.Call
	for _, c := range h.S.Cases.Calls(o) {
		c.At = h.Clock
		trial := h.New(c, "")
		_, _, refusal := interp.Step(h.M, h.W.World, trial)
		switch {
		case refusal == nil:
			return c
		case whole.Op == nil && refusal.Code == interp.CodeNothingToDo:
			whole = c
		}
	}
	if whole.Op == nil {
		whole = h.S.Cases.Calls(o)[0]
	}
	return whole
}

// heldCalls calls an operation by the handle of a record in each state that
// offers it.
func heldCalls[R any](s *world.Suite[R], t *testing.T, st world.Store, o *spec.Operation) {
	h := s.NewHarness(t, st)
	n := 0
	for _, from := range world.Starts(s.M, o) {
		for _, c := range s.Cases.Ways(o, from) {
			n++
			id := fmt.Sprintf("record-%d", n)
			call, ok := placed(h, c, id, " of "+id)
			if !ok {
				h = s.NewHarness(t, st)
				h.T = t
				if call, ok = placed(h, c, id, ""); !ok {
					continue
				}
			}
			heldCall(h, fmt.Sprintf("by the handle, in %s, case %d", from.Name, n), call)
		}
	}
	s.DurableCount += n
}

func heldCall[R any](h *world.Harness[R], what string, c interp.Call) {
	h.T.Helper()
	rec, err := h.S.D.Descriptor.Decode(world.Row(h.M, h.W.Records[c.ID]))
	if err != nil {
		h.T.Fatal(err)
	}
	c.RequestID, c.Reason, c.At, c.Labels = "", "", h.Clock, nil
	sent := world.Sent(c)
	var got fsm.Outcome[R]
	end := ""
	h.Both(what, c, func() world.Answer {
		got, end, err = h.D.Operations[c.Op.Name].Held(h.Ctx, h.D.Hold(rec, c.Actor).Handle, sent)
		if h.M.RequestID != spec.None {
			if c.RequestID = made([]fsm.Outcome[R]{got}); driver.CheckID(c.RequestID) != nil {
				h.T.Errorf("%s: its request id is %q", what, c.RequestID)
			}
		}
		return h.W.Do(c)
	}, func() ([]fsm.Outcome[R], error) { return []fsm.Outcome[R]{got}, err })
	h.Same(what)
	if err != nil {
		return
	}
	if is, _ := world.Record(h.M, h.S.D.Descriptor.Encode(&got.Record)); is.State == nil || end != is.State.Name {
		h.T.Errorf("%s: the result has the type of %q, but the record is %v", what, end, is.State)
	}
}
