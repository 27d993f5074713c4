package fsmimpl

import "slices"

// EffectInfo describes an effect that steps ask for.
type EffectInfo[R any] struct {
	Name   string
	Atomic bool
	Key    func(r *R) string // the idempotency key; nil: machine/id/rev/name
	Then   string            // specification name of the operation that notes the delivery; empty when none
}

// Branch is a branch of an operation that asks for more than the operation does.
type Branch[R any] struct {
	Asks []*EffectInfo[R] // behind those of the operation
	Then string           // as of the operation
}

// Asked lists the effects that a step asks for, in order. branch is that of the Step.
func (op *Operation[R]) Asked(branch int) []*EffectInfo[R] {
	if branch == 0 || len(op.Branches[branch-1].Asks) == 0 {
		return op.Asks
	}
	return slices.Concat(op.Asks, op.Branches[branch-1].Asks)
}

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

// Ask returns the first effect that a step may ask for and that fits, or nil.
func (op *Operation[R]) Ask(fits func(*EffectInfo[R]) bool) *EffectInfo[R] {
	if i := slices.IndexFunc(op.Asks, fits); i >= 0 {
		return op.Asks[i]
	}
	for _, b := range op.Branches {
		if i := slices.IndexFunc(b.Asks, fits); i >= 0 {
			return b.Asks[i]
		}
	}
	return nil
}

// MayAsk reports whether a step may ask for an effect: in its transaction or after it.
func (op *Operation[R]) MayAsk(atomic bool) bool {
	return op.Ask(func(e *EffectInfo[R]) bool { return e.Atomic == atomic }) != nil
}
