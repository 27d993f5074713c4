package fsmtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// others runs the operations that look at other records, or that lead into a
// state in which something is unique, with the other records in every state,
// in the same group and in another one, one too few, just enough and too many.
func (s *suite[R]) others(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if !s.m.looksAround(o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
			n := 0
			froms := []*state{nil}
			if !o.creates {
				froms = nil
				for _, name := range s.m.allowed(o) {
					froms = append(froms, s.m.states[name])
				}
			}
			for _, from := range froms {
				c, ok := s.m.good(o, from, func(v verdict) bool { return moves(v) && len(v.failing) == 0 })
				if !ok {
					continue
				}
				for _, other := range s.m.stateOrder {
					for _, k := range s.m.crowds(o) {
						for _, sameGroup := range []bool{true, false} {
							n++
							c := c.clone()
							if !s.m.apart(o, &c, n) {
								h = s.newHarness(t, st)
							}
							h.crowded(n, o, c, other, k, sameGroup)
						}
					}
				}
			}
		})
	}
}

// looksAround reports whether what the operation does depends on other records.
func (m *model) looksAround(o *operation) bool {
	if slices.ContainsFunc(o.require, func(g *guard) bool { return g.Fewer > 0 }) || o.Dedupe != "" {
		return true
	}
	for _, u := range m.Uniques {
		for _, s := range m.targets(o) {
			if slices.Contains(list(u.In), s) {
				return true
			}
		}
	}
	return false
}

// targets lists the states that an operation can lead to.
func (m *model) targets(o *operation) []string {
	var names []string
	for from, c := range o.cells {
		if c.kind == cellMove {
			names = append(names, c.to)
		}
		for _, b := range o.branches {
			if to := b.To; c.kind == cellChoose && to != "" {
				if to == "same" {
					to = from
				}
				names = append(names, to)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// crowds lists how many other records there are to be.
func (m *model) crowds(o *operation) []int {
	list := []int{1}
	for _, g := range o.require {
		if g.Fewer > 1 {
			list = append(list, int(g.Fewer)-1, int(g.Fewer))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// crowded runs the operation once, with k others in a state. Records and groups
// bear the number n, so that they do not meet those of other runs.
func (h *harness[R]) crowded(n int, o *operation, c theCase, other *state, k int, sameGroup bool) {
	h.t.Helper()
	what := fmt.Sprintf("with %d others in %s, same group %t", k, other.Name, sameGroup)
	id := fmt.Sprintf("record-%d", n)
	c.row.ID, c.call.ID = id, id
	// The group the call is about: that of its own record, or of the one it makes.
	group := c.row
	if o.creates {
		group = h.m.blank(id)
		h.m.apply(o, o.effects, h.m.blank(id), &group, c.call)
	}
	base, ok := h.m.soundRow(other)
	if !ok {
		return
	}
	var rows []fsm.Row
	for i := range k {
		r := base
		r.ID = fmt.Sprintf("other-%d-%d", n, i+1)
		r.Values = slices.Clone(base.Values)
		for name := range h.m.grouped() {
			f := h.m.fields[name]
			r.Values[f.index] = group.Values[f.index]
			if text, ok := r.Values[f.index].(string); ok && !sameGroup && f.kind == fsm.KindString {
				r.Values[f.index] = text + " elsewhere"
			}
		}
		h.m.number(&r, int64(i+1))
		rows = append(rows, r)
	}
	if !o.creates {
		h.m.number(&c.row, int64(k+1))
		rows = append(rows, c.row)
	}
	trial := h.w.clone()
	for i := range rows { // what is unique is unique among them, too
		rows[i].Rev = 1
		if trial.uniqueBroken(verdict{row: rows[i]}) != nil || trial.dedupeBroken(rows[i]) {
			return
		}
		trial.seed(rows[i])
	}
	h.seed(rows...)
	h.s.durableCount++
	call := c.call
	if o.By != "system" {
		call.RequestID = h.requestID()
	} else {
		call.Reason = ""
	}
	if o.creates {
		h.create(what, o, call)
	} else if h.exported(o) {
		h.call(what, o, fsm.Ref{ID: id, Rev: 1}, call)
	}
	h.same(what)
}

// number gives a record its number in every sequence.
func (m *model) number(r *fsm.Row, n int64) {
	r.Values = slices.Clone(r.Values)
	for _, f := range m.fields {
		if f.kind == fsm.KindSequence {
			r.Values[f.index] = n
		}
	}
}

// dedupeBroken reports whether a record has the dedupe fields of another one.
func (w *world) dedupeBroken(r fsm.Row) bool {
	return slices.ContainsFunc(w.m.operations, func(o *operation) bool {
		return o.Dedupe != "" && len(w.others(o.Dedupe, o.DedupeIn, r)) > 0
	})
}

// soundRow is a record in a state that breaks no rule.
func (m *model) soundRow(st *state) (fsm.Row, bool) {
	o := &operation{}
	dims := m.recordDims(o)
	for choice := range combine(dims, cellLimit) {
		if c := m.build(o, st, dims, choice); m.sound(c.row) {
			return c.clone().row, true
		}
	}
	return fsm.Row{}, false
}

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
			call := s.m.pickCall(o)
			for i := 0; ; i++ {
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
				for i := range calls {
					if o.creates {
						want = append(want, h.w.create(o, calls[i]))
					} else {
						want = append(want, h.w.call(o, at[i].Ref().ID, at[i].Ref().Rev, calls[i]))
					}
				}
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
	_, err := d.Many(h.ctx, at, calls)
	if want := map[bool]error{true: fsm.ErrExists, false: fsm.ErrNotFound}[o.creates]; err == nil || o.Dedupe == "" && !o.creates && !errors.Is(err, want) && !errors.As(err, new(*fsm.Refusal)) {
		h.t.Errorf("many with one that cannot be: %v, want a refusal", err)
	}
	h.same("many with one that cannot be")
}

// goodAlone is a case of the operation that moves, on a record without others.
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
	return theCase{}, false
}
