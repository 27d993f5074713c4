package fsmtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// queue seeds records in every state, of which some fit `next` and some do not,
// in an order that is neither that of their ids nor of their making.
func (h *harness[R]) queue(o *operation) {
	h.t.Helper()
	keys := list(o.Order)
	n := 0
	var rows []driver.Row
	trial, call := h.w.clone(), h.m.pickCall(o)
	add := func(c theCase, step int, alone bool) {
		n++
		r := c.clone().row
		r.ID = fmt.Sprintf("record-%02d", n)
		if alone {
			h.m.apart(o, &theCase{row: r, call: Call{Inputs: map[string]any{}}}, n)
			h.m.spread(&r, int64(n))
		} else {
			h.m.together(&r)
		}
		if finds := func(r driver.Row) bool { return h.m.allHold(o.where, o, r, call) }; finds(c.row) && !finds(r) {
			for _, f := range o.where {
				for _, t := range []term{f.left, f.right} {
					if x := h.m.fields[t.field]; x != nil {
						r.Values[x.index] = c.row.Values[x.index]
					}
				}
			}
		}
		h.m.number(&r, int64(10_000-10*n)) // far enough apart for the shifts below
		for i, key := range keys {
			name := strings.TrimPrefix(key, "-")
			shift := []int{3, 1, 2, 2, 4}[(step+i)%5]
			later := func(at *time.Time) { *at = at.Add(time.Duration(shift) * time.Minute) }
			if name == "created_at" {
				if later(&r.CreatedAt); !h.m.sound(r) {
					later(&r.UpdatedAt)
				}
				continue
			}
			if name == "updated_at" {
				later(&r.UpdatedAt)
				continue
			}
			f := h.m.fields[name]
			before := r.Values[f.index]
			switch v := before.(type) {
			case time.Time:
				r.Values[f.index] = v.Add(-time.Duration(shift) * time.Minute)
			case int64:
				r.Values[f.index] = v + int64(shift)
			}
			if !h.m.sound(r) {
				r.Values[f.index] = before
			}
		}
		r.Rev = 1
		if trial.uniqueBroken(verdict{row: r}) != nil {
			return
		}
		trial.seed(r)
		rows = append(rows, r)
	}
	for _, name := range h.m.allowed(o) {
		st := h.m.states[name]
		if c, ok := h.m.pickable(o, st, call.Inputs); ok {
			for step := range 4 {
				add(c, step, true)
			}
			for step := range 2 { // of one group: what is picked may block the others
				add(c, step, false)
			}
		}
		for _, c := range h.m.byWay(o, st) { // also those that a guard refuses
			add(c, 4, true)
		}
	}
	for _, st := range h.m.stateOrder {
		if r, ok := h.m.soundRow(st); ok {
			add(theCase{row: r}, 0, true)
		}
	}
	h.seed(rows...)
}

// spread adds n to the numbers by which records are grouped, as far as the state
// of the record allows.
func (m *model) spread(r *driver.Row, n int64) {
	for _, name := range sortedKeys(m.grouped()) {
		f := m.fields[name]
		if before, ok := r.Values[f.index].(int64); ok && f.kind == driver.KindInt {
			if r.Values[f.index] = before + n; !m.sound(*r) {
				r.Values[f.index] = before
			}
		}
	}
}

// together gives a record the texts of one group, in all fields by which records
// are grouped, as far as its state allows.
func (m *model) together(r *driver.Row) {
	r.Values = slices.Clone(r.Values)
	for _, name := range sortedKeys(m.grouped()) {
		f := m.fields[name]
		if before := r.Values[f.index]; f.kind == driver.KindString {
			if r.Values[f.index] = "the " + name; !m.sound(*r) {
				r.Values[f.index] = before
			}
		}
	}
}

// next lets the store pick: the first in the order, one after the other, until
// nothing fits; a repeated call gives the same record.
func (s *suite[R]) next(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if !o.Picks {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.tracedHarness(t, st)
			h.queue(o)
			// An operation that leads back to where it starts may find records
			// for ever: then enough of them were seen.
			most := 2*len(h.w.rows) + 2
			call := s.m.pickCall(o)
			for i := 0; i < most; i++ {
				s.durableCount++
				if o.By != "system" {
					call.RequestID = h.requestID()
				}
				what := fmt.Sprintf("pick %d", i+1)
				want := h.pick(what, o, 0, call)
				if want[0].code != "" || t.Failed() {
					if want[0].code != fsm.ErrNothingToDo {
						t.Errorf("%s: the model says %s", what, string(want[0].code))
					}
					break
				}
				// A trace has no log of the records before, so a replay cannot be told there.
				if i == 1 && o.By != "system" && s.m.RequestID != "none" && s.note == nil {
					h.pick(what+", again", o, 0, call)
					other := call
					other.Actor = "somebody else"
					h.pick(what+", again by another actor", o, 0, other)
				}
			}
			h.same("at the end")
		})
	}
}

// pickCall is a call that picks: the inputs of a case that it finds, or else of
// one that moves.
func (m *model) pickCall(o *operation) Call {
	c := m.baseCall(o)
	if o.By == "system" {
		c.Reason = ""
	}
	for _, name := range m.allowed(o) {
		if g, ok := m.pickable(o, m.states[name], nil); ok {
			c.Inputs = g.call.Inputs
			return c
		}
	}
	for _, name := range m.allowed(o) {
		if g, ok := m.good(o, m.states[name], moves); ok {
			c.Inputs = g.call.Inputs
			return c
		}
	}
	for _, name := range m.allowed(o) { // nothing can be picked, but the call is whole
		for g := range m.cases(o, m.states[name]) {
			c.Inputs = g.clone().call.Inputs
			return c
		}
	}
	return c
}

// pickable is the first case of an operation from a state that moves and that
// `where` finds; with inputs, among those that have them. It has no others in its groups.
func (m *model) pickable(o *operation, s *state, inputs map[string]any) (theCase, bool) {
	dims := slices.DeleteFunc(m.allowedIn(s, m.dims(o)), func(d dim) bool { return strings.HasPrefix(d.name, dimPeers) })
	for choice := range combine(dims, cellLimit) {
		c := m.build(o, s, dims, choice)
		if inputs != nil {
			c.call.Inputs = inputs
		}
		if m.sound(c.row) && m.allHold(o.where, o, c.row, c.call) && moves(m.decide(o, c.row, c.call)) {
			return c.clone(), true
		}
	}
	return theCase{}, false
}

// pick runs `next` in both and compares; n 0 is the form for one record.
func (h *harness[R]) pick(what string, o *operation, n int, c Call) []expected {
	h.t.Helper()
	before, ran := len(h.w.performed), len(h.fx.done())
	want := h.w.pick(o, max(n, 1), c)
	got, err := h.d.Operations[o.Name].Pick(h.ctx, n, c)
	h.fx.settle(ran, len(h.w.performed)-before) // a record that was passed over late takes its transaction with it
	h.compareAll(what, o, c, want, got, err)
	if n == 0 && len(got) == 0 {
		got = make([]fsm.Outcome[R], 1)
	}
	if n == 0 {
		h.traced(TraceLine{Kind: "step", Operation: o.Name}, c, got[0], err)
	}
	return want
}

func (h *harness[R]) compareAll(what string, o *operation, c Call, want []expected, got []fsm.Outcome[R], err error) {
	h.t.Helper()
	if want[0].code != "" {
		h.compare(what, o, c, want[0], fsm.Outcome[R]{}, err)
		return
	}
	if err != nil || len(got) != len(want) {
		h.t.Errorf("%s: %s: %d outcomes (%v), want %d", what, o.Name, len(got), err, len(want))
		return
	}
	for i := range want {
		h.compare(fmt.Sprintf("%s, item %d", what, i), o, c, want[i], got[i], nil)
	}
}
