package fsmimpl

import (
	"iter"
	"slices"
)

// EffectInfo describes an effect that steps ask for.
type EffectInfo[R any] struct {
	Name   string
	Atomic bool
	Key    func(r *R) string // the idempotency key; nil: machine/id/rev/name
	Other  *Other[R]         // nil: the program performs it
	Then   string            // specification name of the operation that notes the delivery; empty when none

	Attempts int    // tries before it gives up; 0: no limit
	Failed   string // specification name of the operation that follows when it gave up; empty when none
}

// Waits reports whether a step follows the delivery, or its end without success: it goes with
// the revision that asked for it.
func (e *EffectInfo[R]) Waits() bool { return e.Then != "" || e.Failed != "" }

// Spent reports whether an effect has no try left after so many.
func (e *EffectInfo[R]) Spent(tries int) bool { return e.Attempts > 0 && tries >= e.Attempts }

// Branch is a branch of an operation that asks for more than the operation does.
type Branch[R any] struct {
	Asks []*EffectInfo[R] // behind those of the operation
	Then string           // as of the operation
}

// Place is a state or a group of states with effects at its border. A step that takes a
// record into it from outside asks for Enter, one that takes it out asks for Exit.
type Place[R any] struct {
	States []string // their stored words
	Enter  []*EffectInfo[R]
	Exit   []*EffectInfo[R]
}

// Asked lists the effects that a step asks for, in order: those of the places that it leaves,
// of the operation, of the branch, and of the places that it enters. branch is that of the
// Step; from is empty for a creation.
func (op *Operation[R]) Asked(branch int, from, to string) []*EffectInfo[R] {
	var own []*EffectInfo[R]
	if branch > 0 {
		own = op.Branches[branch-1].Asks
	}
	if len(own) == 0 && (len(op.Places) == 0 || from == to) {
		return op.Asks
	}
	var list []*EffectInfo[R]
	for _, p := range slices.Backward(op.Places) {
		if p.has(from) && !p.has(to) {
			list = append(list, p.Exit...)
		}
	}
	list = append(append(list, op.Asks...), own...)
	for _, p := range op.Places {
		if !p.has(from) && p.has(to) {
			list = append(list, p.Enter...)
		}
	}
	return list
}

func (p *Place[R]) has(state string) bool { return slices.Contains(p.States, state) }

// Follower returns the operation that follows a step in its transaction, or "".
func (op *Operation[R]) Follower(branch int) string {
	if branch > 0 && op.Branches[branch-1].Then != "" {
		return op.Branches[branch-1].Then
	}
	return op.Then
}

// Leads reports whether an operation may follow a step in its transaction.
func (op *Operation[R]) Leads() bool {
	return op.Then != "" || slices.ContainsFunc(op.Branches, func(b Branch[R]) bool { return b.Then != "" })
}

// Effects hands over each effect that a step may ask for.
func (op *Operation[R]) Effects() iter.Seq[*EffectInfo[R]] {
	return func(yield func(*EffectInfo[R]) bool) {
		each := func(list []*EffectInfo[R]) bool {
			for _, e := range list {
				if !yield(e) {
					return false
				}
			}
			return true
		}
		if !each(op.Asks) {
			return
		}
		for _, b := range op.Branches {
			if !each(b.Asks) {
				return
			}
		}
		for _, p := range op.Places {
			if !each(p.Exit) || !each(p.Enter) {
				return
			}
		}
	}
}

// Ask returns the first effect that a step may ask for and that fits, or nil.
func (op *Operation[R]) Ask(fits func(*EffectInfo[R]) bool) *EffectInfo[R] {
	for e := range op.Effects() {
		if fits(e) {
			return e
		}
	}
	return nil
}

// MayAsk reports whether a step may ask for an effect: in its transaction or after it.
func (op *Operation[R]) MayAsk(atomic bool) bool {
	return op.Ask(func(e *EffectInfo[R]) bool { return e.Atomic == atomic }) != nil
}
