package fsmtest

import (
	"fmt"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// handles runs what handles offer: what a handle shows is the record, its calls
// do what the machine's do, and the type of each result is that of the state
// that the record has come to.
func (s *suite[R]) handles(t *testing.T, st Store) {
	if s.newHarness(t, st).d.Hold == nil {
		t.Skip("the machine has no handles: its calls name no revision, or no caller does anything with what is made")
	}
	t.Run("records", func(t *testing.T) { s.holdings(t, st) })
	t.Run("worker", func(t *testing.T) { s.worker(t, st) })
	for _, o := range s.m.operations {
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
			d := h.d.Operations[o.Name]
			if d.Enter == nil && d.Held == nil {
				t.Skip("no handle offers it: it is no caller's")
			}
			if d.Enter != nil && o.creates {
				s.enter(t, st, o)
			}
			if d.Enter != nil && !o.creates {
				h.enterPicks(o)
			}
			if d.Held != nil {
				s.heldCalls(t, st, o)
			}
		})
	}
}

// holdings looks at what the handle of a record in each state shows.
func (s *suite[R]) holdings(t *testing.T, st Store) {
	h := s.newHarness(t, st)
	for n, from := range s.m.stateOrder {
		row, ok := s.m.soundRow(from)
		if !ok {
			continue
		}
		row.ID, row.Rev = fmt.Sprintf("record-%d", n+1), 7
		rec, err := s.d.Descriptor.Decode(row)
		if err != nil {
			t.Fatal(err)
		}
		got := h.d.Hold(rec, "somebody")
		if got.State != from.Name || got.Ref != row.Ref() || !s.d.Equal(got.Record, rec) {
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
		holds, ok := got.Target.(interface{ Held() R })
		if got.Target.Ref() != row.Ref() || !ok || !s.d.Equal(holds.Held(), rec) {
			t.Errorf("a record in %s: its handle is a target of %v that does not hold it", from.Name, got.Target.Ref())
		}
	}
}

// enter makes records by the machine as an actor has it.
func (s *suite[R]) enter(t *testing.T, st Store, o *operation) {
	for n, c := range s.m.byWay(o, nil) {
		for _, named := range []bool{true, false} {
			if named && s.m.RequestID == "none" {
				continue
			}
			h := s.newHarness(t, st)
			what := fmt.Sprintf("case %d, as an actor", n+1)
			h.enterOne(what, o, c.call, named)
			h.enterOne(what+", its id once more", o, c.call, named)
			s.durableCount++
		}
	}
}

func (h *harness[R]) enterOne(what string, o *operation, call Call, named bool) {
	h.t.Helper()
	ran := len(h.fx.done())
	if named {
		call.RequestID = h.requestID()
	}
	outs, err := h.d.Operations[o.Name].Enter(h.ctx, 0, call)
	out := fsm.Outcome[R]{}
	if err == nil {
		out = outs[0]
	} else {
		h.fx.settle(ran, 0)
	}
	if !named {
		call.RequestID = made(out)
	}
	h.compare(what, o, call, h.w.create(o, h.timed(call)), out, err)
	h.same(what)
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
func (h *harness[R]) enterPicks(o *operation) {
	h.t.Helper()
	do := h.d.Operations[o.Name]
	own := do.Pick
	do.Pick = do.Enter
	h.d.Operations[o.Name] = do
	call := h.m.pickCall(o)
	for i, n := range []int{0, 2, 0, 2, 0} {
		if i == 2 {
			h.queue(o) // before it there is nothing to pick
		}
		call.RequestID = h.requestID()
		h.pick(fmt.Sprintf("pick %d, as an actor", i+1), o, n, call)
	}
	h.same("after the picks")
	if h.m.RequestID == "none" {
		return
	}
	for _, n := range []int{0, 1} {
		call.RequestID = ""
		outs, err := do.Enter(h.ctx, n, call)
		call.RequestID = made(fsm.Outcome[R]{})
		if err == nil {
			call.RequestID = made(outs[0])
		}
		h.compareAll("a pick without a request id, as an actor", o, call, h.w.pick(o, 1, call), outs, err)
	}
	do.Pick = own
	h.d.Operations[o.Name] = do
}

// heldCalls calls an operation by the handle of a record in each state that
// offers it.
func (s *suite[R]) heldCalls(t *testing.T, st Store, o *operation) {
	h := s.newHarness(t, st)
	n := 0
	for _, name := range s.m.allowed(o) {
		for _, c := range s.m.byWay(o, s.m.states[name]) {
			n++
			c.row.ID = fmt.Sprintf("record-%d", n)
			if !s.m.apart(o, &c, n) {
				h = s.newHarness(t, st)
			}
			h.t = t
			h.heldCall(fmt.Sprintf("by the handle, in %s, case %d", name, n), o, c)
		}
	}
	s.durableCount += n
}

func (h *harness[R]) heldCall(what string, o *operation, c theCase) {
	h.t.Helper()
	h.seed(c.row)
	rec, err := h.s.d.Descriptor.Decode(h.w.rows[c.row.ID])
	if err != nil {
		h.t.Fatal(err)
	}
	call := Call{Actor: c.call.Actor, Inputs: c.call.Inputs}
	ran := len(h.fx.done())
	got, end, err := h.d.Operations[o.Name].Held(h.ctx, h.d.Hold(rec, call.Actor).Handle, call)
	if err != nil {
		h.fx.settle(ran, 0)
	}
	if h.m.RequestID != "none" {
		call.RequestID = made(got)
		if driver.CheckID(call.RequestID) != nil {
			h.t.Errorf("%s: its request id is %q", what, call.RequestID)
		}
	}
	want := h.w.call(o, c.row.ID, 1, h.timed(call))
	h.compare(what, o, call, want, got, err)
	h.same(what)
	if err != nil {
		return
	}
	is := h.m.stateOf(h.s.d.Descriptor.Encode(&got.Record).State).Name
	if got.RecordOnly && end == "recorded" {
		return
	}
	if end != is {
		h.t.Errorf("%s: the result has the type of %q, but the record is %s", what, end, is)
	}
}
