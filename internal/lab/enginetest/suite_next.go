package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// queue seeds records in every state, of which some fit `next` and some do not,
// in an order that is neither that of their ids nor of their making.
func queue[R any](h *world.Harness[R], o *oracle.Op) {
	h.T.Helper()
	keys := oracle.List(o.Order)
	n := 0
	var rows []driver.Row
	trial, call := h.W.Clone(), pickCall(h.M, o)
	add := func(c oracle.Case, step int, alone bool) {
		n++
		r := c.Clone().Row
		r.ID = fmt.Sprintf("record-%02d", n)
		if alone {
			apart(h.M, o, &oracle.Case{Row: r, Call: oracle.Call{Inputs: map[string]any{}}}, n)
			spread(h.M, &r, int64(n))
		} else {
			together(h.M, &r)
		}
		if finds := func(r driver.Row) bool { return h.M.AllHold(o.WhereFacts, o, r, call) }; finds(c.Row) && !finds(r) {
			for _, f := range o.WhereFacts {
				for _, t := range []oracle.Term{f.Left, f.Right} {
					if x := h.M.FieldByName[t.Field]; x != nil {
						r.Values[x.Index] = c.Row.Values[x.Index]
					}
				}
			}
		}
		numberOf(h.M, &r, int64(10_000-10*n)) // far enough apart for the shifts below
		for i, key := range keys {
			name := strings.TrimPrefix(key, "-")
			shift := []int{3, 1, 2, 2, 4}[(step+i)%5]
			later := func(at *time.Time) { *at = at.Add(time.Duration(shift) * time.Minute) }
			if name == "created_at" {
				if later(&r.CreatedAt); !h.M.Sound(r) {
					later(&r.UpdatedAt)
				}
				continue
			}
			if name == "updated_at" {
				later(&r.UpdatedAt)
				continue
			}
			f := h.M.FieldByName[name]
			before := r.Values[f.Index]
			switch v := before.(type) {
			case time.Time:
				r.Values[f.Index] = v.Add(-time.Duration(shift) * time.Minute)
			case int64:
				r.Values[f.Index] = v + int64(shift)
			}
			if !h.M.Sound(r) {
				r.Values[f.Index] = before
			}
		}
		r.Rev = 1
		if trial.UniqueBroken(oracle.Verdict{Row: r}) != nil {
			return
		}
		trial.Seed(r)
		rows = append(rows, r)
	}
	for _, name := range h.M.Allowed(o) {
		st := h.M.StateByName[name]
		if c, ok := pickable(h.M, o, st, call.Inputs); ok {
			for step := range 4 {
				add(c, step, true)
			}
			for step := range 2 { // of one group: what is picked may block the others
				add(c, step, false)
			}
		}
		for _, c := range h.M.ByWay(o, st) { // also those that a guard refuses
			add(c, 4, true)
		}
	}
	for _, st := range h.M.StateOrder {
		if r, ok := soundRow(h.M, st); ok {
			add(oracle.Case{Row: r}, 0, true)
		}
	}
	seed(h, rows...)
}

// spread adds n to the numbers by which records are grouped, as far as the state
// of the record allows.
func spread(m *world.Model, r *driver.Row, n int64) {
	for _, name := range oracle.SortedKeys(grouped(m)) {
		f := m.FieldByName[name]
		if before, ok := r.Values[f.Index].(int64); ok && f.Kind == driver.KindInt {
			if r.Values[f.Index] = before + n; !m.Sound(*r) {
				r.Values[f.Index] = before
			}
		}
	}
}

// together gives a record the texts of one group, in all fields by which records
// are grouped, as far as its state allows.
func together(m *world.Model, r *driver.Row) {
	r.Values = slices.Clone(r.Values)
	for _, name := range oracle.SortedKeys(grouped(m)) {
		f := m.FieldByName[name]
		if before := r.Values[f.Index]; f.Kind == driver.KindString {
			if r.Values[f.Index] = "the " + name; !m.Sound(*r) {
				r.Values[f.Index] = before
			}
		}
	}
}

// next lets the store pick: the first in the order, one after the other, until
// nothing fits; a repeated call gives the same record.
func next[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		if !o.Picks {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.TracedHarness(t, st)
			queue(h, o)
			// An operation that leads back to where it starts may find records
			// for ever: then enough of them were seen.
			most := 2*len(h.W.Rows) + 2
			call := pickCall(s.M, o)
			for i := 0; i < most; i++ {
				s.DurableCount++
				if o.By != "system" {
					call.RequestID = h.RequestID()
				}
				what := fmt.Sprintf("pick %d", i+1)
				want := h.Pick(what, o, 0, call)
				if want[0].Code != "" || t.Failed() {
					if want[0].Code != fsm.ErrNothingToDo {
						t.Errorf("%s: the model says %s", what, string(want[0].Code))
					}
					break
				}
				// A trace has no log of the records before, so a replay cannot be told there.
				if i == 1 && o.By != "system" && s.M.RequestID != "none" && s.Note == nil {
					h.Pick(what+", again", o, 0, call)
					other := call
					other.Actor = "somebody else"
					h.Pick(what+", again by another actor", o, 0, other)
				}
			}
			h.Same("at the end")
		})
	}
}

// pickCall is a call that picks: the inputs of a case that it finds, or else of
// one that moves.
func pickCall(m *world.Model, o *oracle.Op) oracle.Call {
	c := m.BaseCall(o)
	if o.By == "system" {
		c.Reason = ""
	}
	for _, name := range m.Allowed(o) {
		if g, ok := pickable(m, o, m.StateByName[name], nil); ok {
			c.Inputs = g.Call.Inputs
			return c
		}
	}
	for _, name := range m.Allowed(o) {
		if g, ok := m.Good(o, m.StateByName[name], oracle.Moves); ok {
			c.Inputs = g.Call.Inputs
			return c
		}
	}
	for _, name := range m.Allowed(o) { // nothing can be picked, but the call is whole
		for g := range m.Cases(o, m.StateByName[name]) {
			c.Inputs = g.Clone().Call.Inputs
			return c
		}
	}
	return c
}

// pickable is the first case of an operation from a state that moves and that
// `where` finds; with inputs, among those that have them. It has no others in its groups.
func pickable(m *world.Model, o *oracle.Op, s *oracle.StateInfo, inputs map[string]any) (oracle.Case, bool) {
	dims := slices.DeleteFunc(m.AllowedIn(s, m.Dims(o)), func(d oracle.Dim) bool { return strings.HasPrefix(d.Name, oracle.DimPeers) })
	for choice := range oracle.Combine(dims, oracle.CellLimit) {
		c := m.Build(o, s, dims, choice)
		if inputs != nil {
			c.Call.Inputs = inputs
		}
		if m.Sound(c.Row) && m.AllHold(o.WhereFacts, o, c.Row, c.Call) && oracle.Moves(m.Decide(o, c.Row, c.Call)) {
			return c.Clone(), true
		}
	}
	return oracle.Case{}, false
}
