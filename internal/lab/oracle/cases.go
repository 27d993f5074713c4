package oracle

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How many cases one cell may have: a transition, and a cell in which the record does
// not matter. There are many of the latter, one for nearly every pair of a state and an
// operation, and beyond the limit each two values of two fields still meet.
const (
	CellLimit  = 3000
	shortLimit = 300 // with -short
	quietLimit = 30
)

// How many records of a state are checked before only each two values of two fields
// meet. A rule compares two fields at most.
const recordLimit = 600

// Case is one abstract record and one abstract call.
type Case struct {
	Row  driver.Row // zero for a creation
	Call Call
}

// Cases yields the abstract records in a state, each with the abstract calls
// of an operation. For a creation s is nil.
func (m *Model) Cases(o *Op, s *StateInfo) iter.Seq[Case] {
	limit := CellLimit
	if m.Short {
		limit = shortLimit
	}
	if s != nil {
		if k := o.Cells[s.Name].Kind; k != CellMove && k != CellChoose {
			limit = quietLimit
		}
	}
	return m.CasesUpTo(o, s, limit)
}

// CasesUpTo is Cases with a bound of its own. First come the records that the
// state allows, then those that the proof has found, then those that break its
// rules. Where the bound leaves some out, each way to decide a call is looked for
// besides.
func (m *Model) CasesUpTo(o *Op, s *StateInfo, limit int) iter.Seq[Case] {
	full := m.Dims(o)
	return func(yield func(Case) bool) {
		for _, sound := range []bool{true, false} {
			dims := full
			if s == nil && !sound {
				return
			} else if s != nil && sound {
				dims = m.AllowedIn(s, full)
			}
			fits := func(c Case) bool { return s == nil || m.Sound(c.Row) == sound }
			for choice := range Combine(dims, limit) {
				if c := m.Build(o, s, dims, choice); fits(c) && !yield(c) {
					return
				}
			}
			if product(dims, nil) > min(limit, wholeLimit) {
				for _, c := range m.directed(o, s, full) {
					if fits(c) && !yield(c.Clone()) {
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

// AllowedIn leaves out the values that a state forbids by presence alone.
func (m *Model) AllowedIn(s *StateInfo, dims []Dim) []Dim {
	out := slices.Clone(dims)
	for _, f := range slices.Concat(s.must, s.should) {
		i := slices.IndexFunc(out, func(d Dim) bool { return d.Name == DimField+f.Left.Field })
		if i < 0 || f.Op != "is present" && f.Op != "is absent" {
			continue
		}
		forbidden := func(v any) bool { return m.present(f.Left, nil, v) != (f.Op == "is present") }
		if left := slices.DeleteFunc(slices.Clone(out[i].Values), forbidden); len(left) > 0 { // else an absent field that is always there
			out[i].Values = left
		}
	}
	return out
}

// From lists the states that an operation meets a record in; nil is that of a creation.
func (m *Model) From(o *Op) []*StateInfo {
	if o.Creates {
		return []*StateInfo{nil}
	}
	return m.StateOrder
}

// Build makes the case that a choice of values stands for.
func (m *Model) Build(o *Op, s *StateInfo, dims []Dim, choice []int) Case {
	c := m.emptyCase(o, s)
	for i, d := range dims {
		c.put(d, choice[i])
	}
	return c
}

func (m *Model) emptyCase(o *Op, s *StateInfo) Case {
	c := Case{Call: m.BaseCall(o)}
	if s != nil {
		c.Row = m.BaseRow(s)
	}
	return c
}

// put gives a dimension its value number n.
func (c *Case) put(d Dim, n int) {
	v := d.Values[n]
	switch {
	case d.field != nil:
		c.Row.Values[d.field.Index] = v
	case d.Name == DimField+"created_at":
		c.Row.CreatedAt = v.(time.Time)
	case d.Name == DimField+"updated_at":
		c.Row.UpdatedAt = v.(time.Time)
	case strings.HasPrefix(d.Name, dimInput):
		if name := strings.TrimPrefix(d.Name, dimInput); v != nil {
			c.Call.Inputs[name] = v
		} else {
			delete(c.Call.Inputs, name)
		}
	case strings.HasPrefix(d.Name, DimPeers):
		c.Call.Peers[strings.TrimPrefix(d.Name, DimPeers)] = v.(int64)
	}
}

// BaseRow is a record in a state, with nothing in it.
func (m *Model) BaseRow(s *StateInfo) driver.Row {
	r := m.Blank(theID)
	r.State, r.Rev, r.CreatedAt, r.UpdatedAt = s.StoredName, 7, theCreated, theCreated
	return r
}

// BaseCall is a call of an operation without inputs.
func (m *Model) BaseCall(o *Op) Call {
	c := Call{
		ID: theID, Actor: theActor, Reason: theReason, At: TheNow,
		Inputs: map[string]any{}, Peers: map[string]int64{},
	}
	if o.By == "system" {
		c.Actor = driver.SystemActor
	}
	return c
}

// Good is the first case of an operation from a state that leads to a wanted
// verdict, among the records that the invariants allow.
func (m *Model) Good(o *Op, s *StateInfo, want func(Verdict) bool) (Case, bool) {
	for c := range m.Cases(o, s) {
		if s != nil && !m.Sound(c.Row) {
			continue
		}
		if want(m.Decide(o, c.Row, c.Call)) {
			return c.Clone(), true
		}
	}
	return Case{}, false
}

// Sound reports whether a record breaks no MUST and no SHOULD.
func (m *Model) Sound(r driver.Row) bool { return len(m.Broken(r)) == 0 }

// Clone is a case that can be changed by itself.
func (c Case) Clone() Case {
	c.Row.Values = slices.Clone(c.Row.Values)
	c.Call.Inputs = maps.Clone(c.Call.Inputs)
	return c
}

// Moves reports whether the call is taken and not only recorded.
func Moves(v Verdict) bool { return v.Code == "" && !v.RecordOnly }

// MustHold reports whether a record breaks no MUST: one that does is nowhere, so what a
// call on it comes to shows nothing about the machine. A SHOULD may be broken.
func (m *Model) MustHold(r driver.Row) bool {
	return !slices.ContainsFunc(m.Broken(r), func(v fsm.Violation) bool { return v.Must })
}

// ByWay returns, for an operation and a state, one case for each way in which
// the operation can be decided on a sound record without others.
func (m *Model) ByWay(o *Op, s *StateInfo) []Case {
	var list []Case
	seen := map[string]bool{}
	for c := range m.Cases(o, s) {
		if s != nil && !m.Sound(c.Row) || slices.ContainsFunc(o.Guards, func(g *GuardInfo) bool {
			return g.Fewer > 0 && c.Call.Peers[g.Name] != 0
		}) {
			continue
		}
		v := m.Decide(o, c.Row, c.Call)
		key := v.Way + strings.Join(v.Failing, ",")
		if v.Code == "" {
			for i := range c.Row.Values { // another set of changed fields is another way
				key += fmt.Sprint(" ", c.Row.Values[i] != v.Row.Values[i])
			}
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, c.Clone())
		}
	}
	return list
}

// Exported reports whether the durable layer offers the operation by name: none that
// runs only after the effect of another one.
func (m *Model) Exported(o *Op) bool {
	after := false
	for _, p := range m.Ops {
		if p.Then == o.Name {
			if p.Effect == "" || p.Atomic {
				return true
			}
			after = true
		}
	}
	return !after || o.By != "system" || len(o.Triggers) > 0
}
