package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// allEffects lists the effects of an operation and of its branches.
func allEffects(o *spec.Operation) []*spec.Effects {
	effects := []*spec.Effects{&o.Effects}
	for _, b := range o.Choose {
		effects = append(effects, &b.Effects)
	}
	return effects
}

// allFacts lists the facts that an operation looks at, those of an `any` one by one.
func allFacts(o *spec.Operation) []*spec.Fact {
	return slices.Concat(ownFacts(o), o.Chosen()) // which holds no `any`
}

// ownFacts are those of its guards and branches, at which its pure form looks.
func ownFacts(o *spec.Operation) (facts []*spec.Fact) {
	for _, r := range o.Require {
		facts = append(facts, r.Reads()...)
	}
	for _, b := range o.Choose {
		facts = append(facts, b.When...)
	}
	return spec.Leaves(facts)
}

// creates reports whether an operation makes a record.
func creates(o *spec.Operation) bool { return len(o.Creates) > 0 }

// readsActor reports whether what an operation does depends on who calls.
func readsActor(o *spec.Operation) bool {
	for _, f := range allFacts(o) {
		if f.Left.Kind == spec.TermActor || f.Right.Kind == spec.TermActor {
			return true
		}
	}
	for _, e := range allEffects(o) {
		for _, a := range e.Assigned() {
			if a.Value.Kind == spec.ValueActor {
				return true
			}
		}
	}
	return false
}

// needsActor reports whether a call without an actor is refused.
func needsActor(o *spec.Operation) bool {
	return o.By == spec.ByOperator || o.By == spec.ByCaller && readsActor(o)
}

// sequences lists the sequence fields that an operation must get a number for.
func sequences(m *spec.Machine, o *spec.Operation) []*spec.Field {
	if !creates(o) {
		return nil
	}
	var fields []*spec.Field
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			fields = append(fields, f)
		}
	}
	return fields
}

// peerGuards lists the guards of an operation that count other records.
func peerGuards(o *spec.Operation) []*spec.Guard {
	var guards []*spec.Guard
	for _, r := range peerRequirements(o) {
		guards = append(guards, r.Guard)
	}
	return guards
}

// peerRequirements are the guards of peerGuards as the operation uses them.
func peerRequirements(o *spec.Operation) (list []*spec.Requirement) {
	for _, r := range o.Require {
		if r.Guard.Peers != nil && !slices.ContainsFunc(list, func(q *spec.Requirement) bool { return q.Guard == r.Guard }) {
			list = append(list, r)
		}
	}
	return list
}

// needsPeers reports whether an operation must know something of other records.
func needsPeers(m *spec.Machine, o *spec.Operation) bool {
	return len(peerGuards(o)) > 0 || len(sequences(m, o)) > 0
}

// states lists the states of references.
func states(refs []spec.StateRef) []*spec.State {
	list := make([]*spec.State, len(refs))
	for i, r := range refs {
		list[i] = r.State
	}
	return list
}

// readsNow reports whether what an operation does, or which record it takes, depends on the time.
func readsNow(m *spec.Machine, o *spec.Operation) bool {
	return lookAtNow(allFacts(o)) || setsNow(m, o)
}

// addsNow reports whether a value is a sum of the time and something else.
func addsNow(v spec.Value) bool {
	return slices.ContainsFunc(v.Parts, func(p spec.Part) bool { return isNow(p.Term) })
}

// lookAtNow reports whether one of the facts looks at the time.
func lookAtNow(facts []*spec.Fact) bool {
	return slices.ContainsFunc(facts, func(f *spec.Fact) bool { return slices.ContainsFunc(f.Names(), isNow) })
}

func isNow(t spec.Term) bool { return t.Kind == spec.TermNow }

// setsNow reports whether an operation writes the time into a field, or into a time of records
// that some fact reads.
func setsNow(m *spec.Machine, o *spec.Operation) bool {
	return reads(m, m.Builtin[1]) && len(targets(o)) > 0 || creates(o) && reads(m, m.Builtin[0]) ||
		slices.ContainsFunc(allEffects(o), func(e *spec.Effects) bool {
			return slices.ContainsFunc(e.Set, func(a spec.Assign) bool { return a.Value.Kind == spec.ValueNow || addsNow(a.Value) })
		})
}
