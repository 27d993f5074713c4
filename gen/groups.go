package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// groupsLocked reports whether the locks of groups keep all rules across records of a machine, at least one. Who counts
// a group has its lock until its transaction ends. So nobody who counts may bring a record into a group
// without the same lock: not by another rule, and not by a value that the step gives the record. Who does not count
// may: an order of the calls explains what both did.
func groupsLocked(m *spec.Machine) bool {
	var counting []*spec.Operation
	for _, o := range m.Operations {
		if len(peerRequirements(o)) > 0 {
			counting = append(counting, o)
		}
	}
	for _, o := range counting {
		for _, g := range peerGuards(o) {
			if !g.Peers.Own() || slices.ContainsFunc(counting, func(by *spec.Operation) bool { return entersUnlocked(by, g) }) {
				return false
			}
		}
	}
	return len(counting) > 0
}

// entersUnlocked reports whether an operation may bring a record into a group of a guard whose lock it does not have.
func entersUnlocked(o *spec.Operation, g *spec.Guard) bool {
	in := states(g.Peers.In)
	writes := !creates(o) && // the group of a creation is the one of what it sets
		slices.ContainsFunc(fieldsOf(g.Peers.Same), func(f *spec.Field) bool { return operationWrites(o, f) })
	enters := slices.ContainsFunc(movesOf(o), func(mv move) bool {
		return slices.Contains(in, mv.to) && (writes || mv.from == nil || !slices.Contains(in, mv.from))
	})
	return enters && (writes || !slices.Contains(peerGuards(o), g))
}
