package validate

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// listed reports whether the state is among the named ones.
func listed(s *spec.State, refs []spec.StateRef) bool {
	return slices.ContainsFunc(refs, func(r spec.StateRef) bool { return r.State == s })
}

// effects lists the effects of an operation and of its branches.
func effects(op *spec.Operation) []branchEffects {
	list := []branchEffects{{effects: &op.Effects}}
	for _, b := range op.Choose {
		list = append(list, branchEffects{b, &b.Effects})
	}
	return list
}

// branchEffects are the effects of one branch, or of the operation itself.
type branchEffects struct {
	branch  *spec.Branch // nil: of the operation
	effects *spec.Effects
}

// changes lists the places where an operation changes the field.
func changes(op *spec.Operation, f *spec.Field) []spec.Pos {
	var at []spec.Pos
	for _, e := range effects(op) {
		for _, a := range e.effects.Assigned() {
			if a.Field == f && !a.Default {
				at = append(at, a.Pos)
			}
		}
		for _, r := range e.effects.Named() {
			if r.Field == f {
				at = append(at, r.Pos)
			}
		}
	}
	return at
}

// facts lists the facts that an operation looks at, beside its requirements.
func facts(op *spec.Operation) []*spec.Fact {
	var list []*spec.Fact
	for _, b := range op.Choose {
		list = append(list, b.When...)
	}
	return append(list, op.Chosen()...)
}
