package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// groupsLocked reports whether the locks of groups keep all rules across records of a machine, at least one. Who counts
// a group has its lock until its transaction ends. So no transaction in which somebody counts may bring a record into a
// group without the same lock: not by another rule, not by a step that follows, not by a value that the step gives the record,
// and not by an effect in it, of which nobody knows what it does. A transaction that counts nothing may: an order of the calls
// explains what both did.
func groupsLocked(m *spec.Machine) bool {
	var guards []*spec.Guard
	for _, o := range m.Operations {
		for _, g := range peerGuards(o) {
			if !g.Peers.Own() {
				return false
			}
			guards = append(guards, g)
		}
	}
	for _, o := range m.Operations {
		steps := inTransaction(o)
		if !slices.ContainsFunc(steps, func(s *spec.Operation) bool { return len(peerGuards(s)) > 0 }) {
			continue
		}
		for _, s := range steps {
			if s.MayAsk(true) || slices.ContainsFunc(guards, func(g *spec.Guard) bool { return entersUnlocked(s, g) }) {
				return false
			}
		}
	}
	return len(guards) > 0
}

// inTransaction returns an operation and what may follow it in its transaction.
func inTransaction(o *spec.Operation) []*spec.Operation {
	steps := []*spec.Operation{o}
	for i := 0; i < len(steps); i++ {
		for _, next := range steps[i].Followers() {
			if !slices.Contains(steps, next.Operation) {
				steps = append(steps, next.Operation)
			}
		}
	}
	return steps
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
