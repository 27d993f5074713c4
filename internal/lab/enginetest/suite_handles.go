package enginetest

import (
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
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
	for _, o := range s.M.Ops {
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			d := h.D.Operations[o.Name]
			if d.Enter == nil && d.Held == nil {
				t.Skip("no handle offers it: it is no caller's")
			}
			if d.Enter != nil && o.Creates {
				enter(s, t, st, o)
			}
			if d.Enter != nil && !o.Creates {
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
	for n, from := range s.M.StateOrder {
		row, ok := soundRow(s.M, from)
		if !ok {
			continue
		}
		row.ID, row.Rev = fmt.Sprintf("record-%d", n+1), 7
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
func enter[R any](s *world.Suite[R], t *testing.T, st world.Store, o *oracle.Op) {
	for n, c := range s.M.ByWay(o, nil) {
		for _, named := range []bool{true, false} {
			if named && s.M.RequestID == "none" {
				continue
			}
			h := s.NewHarness(t, st)
			what := fmt.Sprintf("case %d, as an actor", n+1)
			enterOne(h, what, o, c.Call, named)
			enterOne(h, what+", its id once more", o, c.Call, named)
			s.DurableCount++
		}
	}
}

func enterOne[R any](h *world.Harness[R], what string, o *oracle.Op, call oracle.Call, named bool) {
	h.T.Helper()
	ran := len(h.Fx.Done())
	if named {
		call.RequestID = h.RequestID()
	}
	outs, err := h.D.Operations[o.Name].Enter(h.Ctx, 0, call)
	out := fsm.Outcome[R]{}
	if err == nil {
		out = outs[0]
	} else {
		world.Settle(h.Fx, ran, 0)
	}
	if !named {
		call.RequestID = made(out)
	}
	h.Compare(what, o, call, h.W.Create(o, h.Timed(call)), out, err)
	h.Same(what)
}

// made returns the request id that was made for a call without one. A refused
// call has one that nobody sees.
func made[R any](out fsm.Outcome[R]) string {
	if len(out.Events) == 0 {
		return "made-up"
	}
	return out.Events[0].RequestID
}

// enterPicks picks by the machine as an actor has it, one and several at once.
func enterPicks[R any](h *world.Harness[R], o *oracle.Op) {
	h.T.Helper()
	do := h.D.Operations[o.Name]
	own := do.Pick
	do.Pick = do.Enter
	h.D.Operations[o.Name] = do
	call := pickCall(h.M, o)
	for i, n := range []int{0, 2, 0, 2, 0} {
		if i == 2 {
			queue(h, o) // before it there is nothing to pick
		}
		call.RequestID = h.RequestID()
		h.Pick(fmt.Sprintf("pick %d, as an actor", i+1), o, n, call)
	}
	h.Same("after the picks")
	if h.M.RequestID == "none" {
		return
	}
	for _, n := range []int{0, 1} {
		call.RequestID = ""
		outs, err := do.Enter(h.Ctx, n, call)
		call.RequestID = made(fsm.Outcome[R]{})
		if err == nil {
			call.RequestID = made(outs[0])
		}
		h.CompareAll("a pick without a request id, as an actor", o, call, h.W.Pick(o, 1, call), outs, err)
	}
	do.Pick = own
	h.D.Operations[o.Name] = do
}

// heldCalls calls an operation by the handle of a record in each state that
// offers it.
func heldCalls[R any](s *world.Suite[R], t *testing.T, st world.Store, o *oracle.Op) {
	h := s.NewHarness(t, st)
	n := 0
	for _, name := range s.M.Allowed(o) {
		for _, c := range s.M.ByWay(o, s.M.StateByName[name]) {
			n++
			c.Row.ID = fmt.Sprintf("record-%d", n)
			if !apart(s.M, o, &c, n) {
				h = s.NewHarness(t, st)
			}
			h.T = t
			heldCall(h, fmt.Sprintf("by the handle, in %s, case %d", name, n), o, c)
		}
	}
	s.DurableCount += n
}

func heldCall[R any](h *world.Harness[R], what string, o *oracle.Op, c oracle.Case) {
	h.T.Helper()
	seed(h, c.Row)
	rec, err := h.S.D.Descriptor.Decode(h.W.Rows[c.Row.ID])
	if err != nil {
		h.T.Fatal(err)
	}
	call := oracle.Call{Actor: c.Call.Actor, Inputs: c.Call.Inputs}
	ran := len(h.Fx.Done())
	got, end, err := h.D.Operations[o.Name].Held(h.Ctx, h.D.Hold(rec, call.Actor).Handle, call)
	if err != nil {
		world.Settle(h.Fx, ran, 0)
	}
	if h.M.RequestID != "none" {
		call.RequestID = made(got)
		if driver.CheckID(call.RequestID) != nil {
			h.T.Errorf("%s: its request id is %q", what, call.RequestID)
		}
	}
	want := h.W.Call(o, c.Row.ID, 1, h.Timed(call))
	h.Compare(what, o, call, want, got, err)
	h.Same(what)
	if err != nil {
		return
	}
	is := h.M.StateOf(h.S.D.Descriptor.Encode(&got.Record).State).Name
	if end != is {
		h.T.Errorf("%s: the result has the type of %q, but the record is %s", what, end, is)
	}
}
