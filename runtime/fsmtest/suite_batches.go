package fsmtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// batches runs the forms for many: each item as if it came alone.
func (s *suite[R]) batches(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
			d := h.d.Operations[o.Name]
			if o.Picks && d.Pick != nil {
				h.queue(o)
				call := s.m.pickCall(o)
				if o.By != "system" {
					call.RequestID = h.requestID()
				}
				h.pick("three at once", o, 3, call)
				if o.By != "system" && s.m.RequestID != "none" {
					h.pick("three at once, again", o, 3, call)
				}
				h.same("three at once")
				s.durableCount++
			}
			if d.Many == nil {
				return
			}
			h = s.newHarness(t, st)
			d = h.d.Operations[o.Name]
			var at []fsm.Target
			var calls []Call
			for i := range 3 {
				c, ok := s.m.goodAlone(o)
				if !ok {
					return
				}
				c.row.ID = fmt.Sprintf("record-%d", i+1)
				c.call.ID = c.row.ID
				if !s.m.apart(o, &c, i) && i > 0 {
					break
				}
				if o.By != "system" {
					c.call.RequestID = h.requestID()
				} else {
					c.call.Reason = ""
				}
				if !o.creates {
					h.seed(c.row)
				}
				at, calls = append(at, fsm.Ref{ID: c.row.ID, Rev: 1}), append(calls, c.call)
			}
			for _, what := range []string{"many", "many, again"} {
				var want []expected
				trial := h.w.clone()
				for i := range calls {
					if o.creates {
						want = append(want, trial.create(o, calls[i]))
					} else {
						want = append(want, trial.call(o, at[i].Ref().ID, at[i].Ref().Rev, calls[i]))
					}
				}
				if slices.ContainsFunc(want, func(e expected) bool { return e.code != "" }) {
					h.refusedBatch(what, o, d, at, calls)
					return
				}
				*h.w = *trial
				got, err := d.Many(h.ctx, at, calls)
				h.compareAll(what, o, calls[0], want, got, err)
				h.same(what)
				if o.By != "system" && s.m.RequestID == "none" {
					break
				}
			}
			s.durableCount++
			h.brokenBatch(o, d, at, calls)
		})
	}
}

// refusedBatch runs a batch whose items get in each other's way: they set the same
// value where one is unique. Nothing is written.
func (h *harness[R]) refusedBatch(what string, o *operation, d Durably[R], at []fsm.Target, calls []Call) {
	h.t.Helper()
	ran := len(h.fx.done())
	_, err := d.Many(h.ctx, at, calls)
	h.fx.settle(ran, 0)
	if !errors.As(err, new(*fsm.Refusal)) {
		h.t.Errorf("%s: %s: %v, want a refusal: one item gets in the way of another", what, o.Name, err)
	}
	h.same(what)
}

// brokenBatch runs a batch whose last item is refused: nothing is written.
func (h *harness[R]) brokenBatch(o *operation, d Durably[R], at []fsm.Target, calls []Call) {
	h.t.Helper()
	last := len(calls) - 1
	if last < 1 {
		return
	}
	for i := range calls {
		if o.By != "system" {
			calls[i].RequestID = h.requestID()
		}
		calls[i].ID = fmt.Sprintf("batch-%d", i+1)
	}
	if o.creates {
		calls[last].ID = "record-1" // taken
	} else {
		at = slices.Clone(at)
		at[last] = fsm.Ref{ID: "nobody", Rev: 1}
	}
	if o.creates && h.allExist(o, calls) { // `dedupe_by` comes before the id: nothing is refused
		return
	}
	ran := len(h.fx.done())
	_, err := d.Many(h.ctx, at, calls)
	h.fx.settle(ran, 0)
	if want := map[bool]error{true: fsm.ErrExists, false: fsm.ErrNotFound}[o.creates]; err == nil || o.Dedupe == "" && !o.creates && !errors.Is(err, want) && !errors.As(err, new(*fsm.Refusal)) {
		h.t.Errorf("many with one that cannot be: %v, want a refusal", err)
	}
	h.same("many with one that cannot be")
}

// allExist reports whether every creation finds a record that is there.
func (h *harness[R]) allExist(o *operation, calls []Call) bool {
	trial := h.w.clone()
	return !slices.ContainsFunc(calls, func(c Call) bool { return !trial.create(o, c).existing })
}

// goodAlone is a case of the operation that moves, on a record without others: one
// that breaks no SHOULD, if there is one.
func (m *model) goodAlone(o *operation) (theCase, bool) {
	if o.creates {
		for _, c := range m.byWay(o, nil) {
			if moves(m.decide(o, c.row, c.call)) {
				return c.clone(), true
			}
		}
		return theCase{}, false
	}
	for _, name := range m.allowed(o) {
		if c, ok := m.good(o, m.states[name], moves); ok {
			return c.clone(), true
		}
	}
	for _, name := range m.allowed(o) { // a guard may ask for what the state should not have
		for c := range m.cases(o, m.states[name]) {
			if m.mustHold(c.row) && moves(m.decide(o, c.row, c.call)) {
				return c.clone(), true
			}
		}
	}
	return theCase{}, false
}
