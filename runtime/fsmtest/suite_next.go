package fsmtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// queue seeds records in every state, of which some fit `next` and some do not,
// in an order that is neither that of their ids nor of their making.
func (h *harness[R]) queue(o *operation) {
	h.t.Helper()
	keys := list(o.Order)
	n := 0
	var rows []fsm.Row
	add := func(c theCase, step int) {
		n++
		r := c.clone().row
		r.ID = fmt.Sprintf("record-%02d", n)
		h.m.apart(o, &theCase{row: r, call: Call{Inputs: map[string]any{}}}, n)
		h.m.number(&r, int64(10_000-10*n)) // far enough apart for the shifts below
		for i, key := range keys {
			name := strings.TrimPrefix(key, "-")
			shift := []int{3, 1, 2, 2, 4}[(step+i)%5]
			if name == "created_at" {
				r.CreatedAt = r.CreatedAt.Add(time.Duration(shift) * time.Minute)
				continue
			}
			if name == "updated_at" {
				r.UpdatedAt = r.UpdatedAt.Add(time.Duration(shift) * time.Minute)
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
		rows = append(rows, r)
	}
	for _, name := range h.m.allowed(o) {
		st := h.m.states[name]
		if c, ok := h.m.good(o, st, moves); ok {
			for step := range 4 {
				add(c, step)
			}
		}
		for _, c := range h.m.byWay(o, st) { // also those that a guard refuses
			add(c, 4)
		}
	}
	for _, st := range h.m.stateOrder {
		if r, ok := h.m.soundRow(st); ok {
			add(theCase{row: r}, 0)
		}
	}
	h.seed(rows...)
}

// next lets the store pick: the first in the order, one after the other, until
// nothing fits; a repeated call gives the same record.
func (s *suite[R]) next(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if !o.Picks {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
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
					if want[0].code != fsm.CodeNothingToDo {
						t.Errorf("%s: the model says %s", what, want[0].code)
					}
					break
				}
				if i == 1 && o.By != "system" && s.m.RequestID != "none" {
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

// pickCall is a call that picks: the inputs of a good case.
func (m *model) pickCall(o *operation) Call {
	c := m.baseCall(o)
	if o.By == "system" {
		c.Reason = ""
	}
	for _, name := range m.allowed(o) {
		if g, ok := m.good(o, m.states[name], moves); ok {
			c.Inputs = g.call.Inputs
			break
		}
	}
	return c
}

// pick runs `next` in both and compares; n 0 is the form for one record.
func (h *harness[R]) pick(what string, o *operation, n int, c Call) []expected {
	h.t.Helper()
	want := h.w.pick(o, max(n, 1), c)
	got, err := h.d.Operations[o.Name].Pick(h.ctx, n, c)
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
