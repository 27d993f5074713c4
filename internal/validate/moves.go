package validate

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// move is one way in which an operation takes a record from one state to
// another, or makes it.
type move struct {
	from   *spec.StateRef // where `from` names the source; nil for a creation
	to     *spec.State
	branch *spec.Branch // nil without `choose`
	pos    spec.Pos     // of the target's name, or of the branch with `to: same`
}

// source returns the state a move starts in, or nil for a creation.
func (v move) source() *spec.State {
	if v.from == nil {
		return nil
	}
	return v.from.State
}

// leaves reports whether the move ends in another state than it starts in.
func (v move) leaves() bool { return v.source() != v.to }

// moves lists the ways of an operation, by source and then by branch. Branches
// that reject or only record go nowhere.
func moves(op *spec.Operation) []move {
	var list []move
	add := func(from *spec.StateRef) {
		switch {
		case len(op.Choose) > 0:
			for _, b := range op.Choose {
				if b.Reject != "" || b.RecordOnly || from != nil && b.From != nil && !listed(from.State, b.From) {
					continue
				}
				v := move{from: from, branch: b, pos: b.Pos}
				switch {
				case b.To != nil:
					v.to, v.pos = b.To.State, b.To.Pos
				case b.Same && from != nil:
					v.to = from.State
				default:
					continue
				}
				list = append(list, v)
			}
		case from == nil:
			for i := range op.Creates {
				list = append(list, move{to: op.Creates[i].State, pos: op.Creates[i].Pos})
			}
		case op.To != nil:
			list = append(list, move{from: from, to: op.To.State, pos: op.To.Pos})
		case op.Same:
			list = append(list, move{from: from, to: from.State, pos: op.Pos})
		}
	}
	if len(op.Creates) > 0 {
		add(nil)
	}
	for i := range op.From {
		add(&op.From[i])
	}
	return list
}

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
		for _, a := range slices.Concat(e.effects.Set, e.effects.Add) {
			if a.Field == f {
				at = append(at, a.Pos)
			}
		}
		for _, r := range slices.Concat(e.effects.Clear, e.effects.Increment) {
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
	if op.Next != nil {
		list = append(list, op.Next.Where...)
	}
	return list
}
