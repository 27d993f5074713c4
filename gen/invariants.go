package gen

import (
	"strconv"

	"github.com/fsmgen/fsmgen/spec"
)

// broken is a rule of a state and the condition that a record breaks it.
type broken struct {
	rule string
	when cond
}

// broken lists the rules that a record must fulfil in a state, without those
// that the pending changes are known to fulfil: bounds, presence, the
// invariants of the machine and those of the state.
func (s scope) broken(m *spec.Machine, st *spec.State) []broken {
	var found []broken
	seen := make(map[string]bool)
	add := func(rule string, c cond) {
		if c.kind == condFalse || seen[c.String()] { // an earlier rule refuses it
			return
		}
		found = append(found, broken{rule, c})
		seen[c.String()] = true
		if c.kind == condOr {
			for _, p := range c.parts {
				seen[p.String()] = true
			}
		}
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindInt {
			add(f.Name, s.outside(f))
		}
	}
	for _, r := range st.Present {
		add(r.Field.Name+" is present", isPresent(s.field(r.Field)).not())
	}
	for _, r := range st.Absent {
		add(r.Field.Name+" is absent", isPresent(s.field(r.Field)))
	}
	for _, f := range m.Invariant {
		add(f.Text, s.fact(f).not())
	}
	for _, f := range st.Invariant {
		add(f.Text, s.fact(f).not())
	}
	return found
}

// outside is the condition that an int field is outside its bounds. A value
// that comes out of an input was checked with the input.
func (s scope) outside(f *spec.Field) cond {
	if s.changes != nil {
		if c := s.changes.of(f); c != nil && c.checked {
			return never
		}
	}
	o := s.field(f)
	if o.here == absent || f.Type.Min == nil && f.Type.Max == nil {
		return never
	}
	var parts []cond
	for _, bound := range []struct {
		op    spec.FactOp
		limit *int64
	}{{spec.Lt, f.Type.Min}, {spec.Gt, f.Type.Max}} {
		if bound.limit != nil {
			limit := plain(spec.KindInt, nil, strconv.FormatInt(*bound.limit, 10))
			limit.num = bound.limit
			parts = append(parts, compare(bound.op, o, limit))
		}
	}
	return and(there(o), or(parts...))
}
