package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// countsLocked reports whether an operation may count others under the locks of groups alone, by what was committed when
// it looks. A group is closed when each call that brings a record into it counts it, and so has its lock until the
// transaction ends. Under the lock the records of a closed group only become fewer: what was counted holds until
// the end, in any order with others. A guard with `some` wants the reverse, and each call that takes a record out of
// its group has the lock, see heldGroups: who comes in makes it only truer. So all that is counted in a transaction has
// to be closed, and nothing in it may bring a record into another group that is counted: no step that follows, and no
// effect, of which nobody knows what it does.
func countsLocked(m *spec.Machine, o *spec.Operation) bool {
	for _, first := range m.Operations {
		steps := inTransaction(first)
		if !slices.Contains(steps, o) {
			continue
		}
		for _, s := range steps {
			if s.MayAsk(true) || slices.ContainsFunc(peerGuards(s), func(g *spec.Guard) bool { return !g.Peers.Some && !closed(m, g) }) {
				return false
			}
			for _, other := range m.Operations {
				if slices.ContainsFunc(peerGuards(other), func(g *spec.Guard) bool { return !g.Peers.Some && entersUnlocked(s, g) }) {
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
		slices.ContainsFunc(fieldsOf(g.Peers.Same), func(f *spec.Field) bool { return f.Stamped() || operationWrites(o, f) })
	enters := slices.ContainsFunc(movesOf(o), func(mv move) bool {
		return slices.Contains(in, mv.to) && (writes || mv.from == nil || !slices.Contains(in, mv.from))
	})
	return enters && (writes || !slices.Contains(peerGuards(o), g))
}

// HeldGroup is a group that others may rely on by guards with `some`, and out of which an operation may take a record.
type HeldGroup struct {
	Guard  *spec.Guard // the first of them
	States []*spec.State
}

// heldGroups lists the groups out of whose states an operation may take a record, or to another group. Others rely on it
// to be there until they commit, so the operation takes the lock of the group; not where it counts that group itself,
// and has the lock already.
func heldGroups(m *spec.Machine, o *spec.Operation) (list []HeldGroup) {
	for _, g := range m.Guards {
		if g.Peers == nil || !g.Peers.Some || !g.Peers.LeftBy(o) || !required(m, g) {
			continue
		}
		same := func(x *spec.Guard) bool { return sameFields(x.Peers.Same, g.Peers.Same) }
		if slices.ContainsFunc(peerGuards(o), func(x *spec.Guard) bool { return x.Peers.Own() && same(x) }) {
			continue
		}
		i := slices.IndexFunc(list, func(x HeldGroup) bool { return same(x.Guard) })
		if i < 0 {
			i = len(list)
			list = append(list, HeldGroup{Guard: g})
		}
		list[i].States = distinct(append(list[i].States, states(g.Peers.In)...))
	}
	return list
}

// required reports whether an operation requires a guard.
func required(m *spec.Machine, g *spec.Guard) bool {
	return slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return slices.Contains(peerGuards(o), g) })
}

// sameFields reports whether two groups are told by the same fields, in any order.
func sameFields(a, b []spec.FieldRef) bool {
	within := func(a, b []spec.FieldRef) bool {
		return !slices.ContainsFunc(fieldsOf(a), func(f *spec.Field) bool { return !slices.Contains(fieldsOf(b), f) })
	}
	return within(a, b) && within(b, a)
}
