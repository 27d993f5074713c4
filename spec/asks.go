package spec

import "slices"

// Asked lists the effects that a step of the operation asks for, in their order:
// those of the operation, then those of the branch that it takes, if any.
func (o *Operation) Asked(b *Branch) []*Effect {
	if b == nil || len(b.Asks) == 0 {
		return o.Asks
	}
	return slices.Concat(o.Asks, b.Asks)
}

// AllAsks lists the effects that steps of the operation may ask for, in the order of
// the file.
func (o *Operation) AllAsks() []*Effect {
	all := o.Asks
	for _, b := range o.Choose {
		all = append(slices.Clip(all), b.Asks...)
	}
	return all
}

// MayAsk reports whether a step of the operation may ask for an effect, in its transaction
// or after it.
func (o *Operation) MayAsk(atomic bool) bool {
	return slices.ContainsFunc(o.AllAsks(), func(e *Effect) bool { return e.Atomic == atomic })
}

// Waited returns the effect of those that a step asks for whose delivery another step
// follows, or nil. There is one at most.
func Waited(asked []*Effect) *Effect {
	for _, e := range asked {
		if e.Then != nil {
			return e
		}
	}
	return nil
}

// Follower returns the operation that follows a step in its transaction, or nil.
func (o *Operation) Follower(b *Branch) *OperationRef {
	if b != nil && b.Then != nil {
		return b.Then
	}
	return o.Then
}

// Followers lists the operations that may follow a step of the operation in its transaction.
func (o *Operation) Followers() []*OperationRef {
	var list []*OperationRef
	if o.Then != nil {
		list = append(list, o.Then)
	}
	for _, b := range o.Choose {
		if b.Then != nil {
			list = append(list, b.Then)
		}
	}
	return list
}

// FollowedBy reports whether a step of another operation may follow one of o: in its
// transaction, and with the delivery of an effect.
func (o *Operation) FollowedBy(next *Operation) (atOnce, later bool) {
	is := func(r *OperationRef) bool { return r != nil && r.Operation == next }
	return slices.ContainsFunc(o.Followers(), is), slices.ContainsFunc(o.AllAsks(), func(e *Effect) bool { return is(e.Then) })
}

// Ask returns the effect of that name that a step of the operation may ask for, or nil.
func (o *Operation) Ask(name string) *Effect {
	for _, e := range o.AllAsks() {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// AllAsks lists the effects of all operations, each name once, in the order of the file.
func (m *Machine) AllAsks() []*Effect {
	var list []*Effect
	for _, o := range m.Operations {
		for _, e := range o.AllAsks() {
			if !slices.ContainsFunc(list, func(x *Effect) bool { return x.Name == e.Name }) {
				list = append(list, e)
			}
		}
	}
	return list
}
