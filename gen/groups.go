package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// countsLocked reports whether an operation may count others under the locks of groups alone, by what was committed when
// it looks. A group is closed when each call that brings a record into it counts it, and so has its lock until the
// transaction ends. Under the lock the records of a closed group only become fewer: what was counted holds until
// the end, in any order with others. So all that is counted in a transaction has to be closed, and nothing in it may
// bring a record into another group that is counted: no step that follows, and no effect, of which nobody
// knows what it does.
func countsLocked(m *spec.Machine, o *spec.Operation) bool {
	for _, first := range m.Operations {
		steps := inTransaction(first)
		if !slices.Contains(steps, o) {
			continue
		}
		for _, s := range steps {
			if s.MayAsk(true) || slices.ContainsFunc(peerGuards(s), func(g *spec.Guard) bool { return !closed(m, g) }) {
				return false
			}
			for _, other := range m.Operations {
				if slices.ContainsFunc(peerGuards(other), func(g *spec.Guard) bool { return entersUnlocked(s, g) }) {
					return false
				}
			}
		}
	}
	return true
}

// closed reports whether every operation that may bring a record into a guard's group has its lock.
func closed(m *spec.Machine, g *spec.Guard) bool {
	return g.Peers.Own() && !slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return entersUnlocked(o, g) })
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
