package interp

import "github.com/fsmgen/fsmgen/spec"

// Cause is one fact as a call meets it on a record.
type Cause struct {
	Fact        *spec.Fact
	Holds       bool
	Left, Right Value     // of the terms; Right is absent for `is present` and `is absent`
	Any         [][]Cause // of an `any`: those of its lists
}

// Causes says of each fact whether it holds, and what its terms are: why a
// guard, a branch or a `where` decides as it does. The call is an accepted one.
func Causes(m *spec.Machine, facts []*spec.Fact, r Record, c Call) []Cause {
	list := make([]Cause, len(facts))
	for i, f := range facts {
		list[i] = Cause{Fact: f, Holds: Holds(m, f, r, c), Left: term(m, f.Left, r, c)}
		for _, alternative := range f.Any {
			list[i].Any = append(list[i].Any, Causes(m, alternative, r, c))
		}
		if f.Op != spec.Present && f.Op != spec.Absent {
			list[i].Right = term(m, f.Right, r, c)
		}
	}
	return list
}

// Group lists the other records that have the values of r in the fields and are
// in these states (nil: in any), by id. For a creation r has what is being set:
// see [Effects].
func (w World) Group(m *spec.Machine, fields []spec.FieldRef, in []spec.StateRef, r Record) []Record {
	return w.same(m, fields, in, r)
}

// Counted lists the other records that a guard counts for a call, by id. For a creation r
// has what is being set: see [Effects].
func (w World) Counted(m *spec.Machine, req *spec.Requirement, r Record, c Call) []Record {
	key, ok := GroupOf(m, req, r, c)
	if !ok {
		return nil
	}
	return w.sharing(m, req.Guard.Peers.Same, req.Guard.Peers.In, r.ID, key)
}
