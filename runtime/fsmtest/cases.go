package fsmtest

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How many cases one cell may have: a transition, and a cell in which the
// record does not matter.
const (
	cellLimit  = 3000
	quietLimit = 300
)

// theCase is one abstract record and one abstract call.
type theCase struct {
	row  driver.Row // zero for a creation
	call Call
}

// cases yields the abstract records in a state, each with the abstract calls
// of an operation. For a creation s is nil.
func (m *model) cases(o *operation, s *state) iter.Seq[theCase] {
	limit := cellLimit
	if s != nil {
		if k := o.cells[s.Name].kind; k != cellMove && k != cellChoose {
			limit = quietLimit
		}
	}
	return m.casesUpTo(o, s, limit)
}

// casesUpTo is cases with a bound of its own. First come the records that the
// state allows, then those that the proof has found, then those that break its
// rules. Where the bound leaves some out, each way to decide a call is looked for
// besides.
func (m *model) casesUpTo(o *operation, s *state, limit int) iter.Seq[theCase] {
	full := m.dims(o)
	return func(yield func(theCase) bool) {
		dims := full
		if s == nil {
			for choice := range combine(dims, limit) {
				if !yield(m.build(o, s, dims, choice)) {
					return
				}
			}
			if product(dims, nil) > limit {
				for _, c := range m.directed(o, s, dims) {
					if !yield(c.clone()) {
						return
					}
				}
			}
			for _, c := range m.witnessCases(o, s) {
				if !yield(c) {
					return
				}
			}
			return
		}
		for _, sound := range []bool{true, false} {
			if dims = full; sound {
				dims = m.allowedIn(s, full)
			}
			for choice := range combine(dims, limit) {
				if c := m.build(o, s, dims, choice); m.sound(c.row) == sound && !yield(c) {
					return
				}
			}
			if product(dims, nil) > limit {
				for _, c := range m.directed(o, s, full) {
					if m.sound(c.row) == sound && !yield(c.clone()) {
						return
					}
				}
			}
			for _, c := range m.witnessCases(o, s) {
				if sound && !yield(c) {
					return
				}
			}
		}
	}
}

// allowedIn leaves out the values that a state forbids by presence alone.
func (m *model) allowedIn(s *state, dims []dim) []dim {
	out := slices.Clone(dims)
	narrow := func(names string, present bool) {
		for _, name := range list(names) {
			for i, d := range out {
				if d.name != dimField+name {
					continue
				}
				out[i].values = slices.DeleteFunc(slices.Clone(d.values), func(v any) bool {
					return m.present(term{field: name}, nil, v) != present
				})
				if len(out[i].values) == 0 { // an absent field that is always there
					out[i].values = d.values
				}
			}
		}
	}
	narrow(s.Present, true)
	narrow(s.ShouldPresent, true)
	narrow(s.Absent, false)
	narrow(s.ShouldAbsent, false)
	return out
}

// build makes the case that a choice of values stands for.
func (m *model) build(o *operation, s *state, dims []dim, choice []int) theCase {
	c := m.emptyCase(o, s)
	for i, d := range dims {
		c.put(d, choice[i])
	}
	return c
}

func (m *model) emptyCase(o *operation, s *state) theCase {
	c := theCase{call: m.baseCall(o)}
	if s != nil {
		c.row = m.baseRow(s)
	}
	return c
}

// put gives a dimension its value number n.
func (c *theCase) put(d dim, n int) {
	v := d.values[n]
	switch {
	case d.field != nil:
		c.row.Values[d.field.index] = v
	case d.name == dimField+"created_at":
		c.row.CreatedAt = v.(time.Time)
	case d.name == dimField+"updated_at":
		c.row.UpdatedAt = v.(time.Time)
	case strings.HasPrefix(d.name, dimInput):
		if name := strings.TrimPrefix(d.name, dimInput); v != nil {
			c.call.Inputs[name] = v
		} else {
			delete(c.call.Inputs, name)
		}
	case strings.HasPrefix(d.name, dimPeers):
		c.call.Peers[strings.TrimPrefix(d.name, dimPeers)] = v.(int64)
	}
}

func (m *model) baseRow(s *state) driver.Row {
	r := m.blank(theID)
	r.State, r.Rev, r.CreatedAt, r.UpdatedAt = s.stored, 7, theCreated, theCreated
	return r
}

func (m *model) baseCall(o *operation) Call {
	c := Call{
		ID: theID, Actor: theActor, Reason: theReason, At: theNow,
		Inputs: map[string]any{}, Peers: map[string]int64{},
	}
	if o.By == "system" {
		c.Actor = driver.SystemActor
	}
	return c
}

// good is the first case of an operation from a state that leads to a wanted
// verdict, among the records that the invariants allow.
func (m *model) good(o *operation, s *state, want func(verdict) bool) (theCase, bool) {
	for c := range m.cases(o, s) {
		if s != nil && !m.sound(c.row) {
			continue
		}
		if want(m.decide(o, c.row, c.call)) {
			return c.clone(), true
		}
	}
	return theCase{}, false
}

// sound reports whether a record breaks no MUST and no SHOULD.
func (m *model) sound(r driver.Row) bool { return len(m.broken(r)) == 0 }

func (c theCase) clone() theCase {
	c.row.Values = slices.Clone(c.row.Values)
	c.call.Inputs = maps.Clone(c.call.Inputs)
	return c
}

func moves(v verdict) bool { return v.code == "" && !v.recordOnly }
