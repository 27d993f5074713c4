package spec

import (
	"cmp"
	"slices"
)

// AllAsks lists the effects that steps of the operation may ask for: its own, those of its
// branches, and those of the places that they leave and enter.
func (o *Operation) AllAsks() []*Effect {
	all := slices.Clip(o.Asks)
	for _, b := range o.Choose {
		all = append(all, b.Asks...)
	}
	for _, p := range o.Places {
		all = append(append(all, p.Exit...), p.Enter...)
	}
	return all
}

// MayAsk reports whether a step of the operation may ask for an effect, in its transaction
// or after it.
func (o *Operation) MayAsk(atomic bool) bool {
	return slices.ContainsFunc(o.AllAsks(), func(e *Effect) bool { return e.Atomic == atomic })
}

// Waited returns the effect of those that a step asks for that another step follows: its
// delivery, or its end without success. It returns nil without one; there is one at most.
func Waited(asked []*Effect) *Effect {
	for _, e := range asked {
		if e.Waits() {
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

// Leader is an operation whose steps another one may follow: in their transaction, with
// the delivery of an effect, or when an effect gave up.
type Leader struct {
	Operation             *Operation
	AtOnce, Later, GaveUp bool
}

// leadersKey is the key of what leads to each operation.
type leadersKey struct{}

// Leaders lists the operations whose steps an operation may follow, in the order of the file.
func (m *Machine) Leaders(next *Operation) []Leader {
	return Derived(m, leadersKey{}, func(m *Machine) map[*Operation][]Leader {
		of := map[*Operation][]Leader{}
		for _, o := range m.Operations {
			lead := func(r *OperationRef, how func(*Leader)) {
				list := of[r.Operation]
				if len(list) == 0 || list[len(list)-1].Operation != o {
					list = append(list, Leader{Operation: o})
				}
				how(&list[len(list)-1])
				of[r.Operation] = list
			}
			for _, r := range o.Followers() {
				lead(r, func(l *Leader) { l.AtOnce = true })
			}
			for _, e := range o.AllAsks() {
				if e.Then != nil {
					lead(e.Then, func(l *Leader) { l.Later = true })
				}
				if e.Failed != nil {
					lead(e.Failed, func(l *Leader) { l.GaveUp = true })
				}
			}
		}
		return of
	})[next]
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

// AllEffects lists all effects as they are declared: of groups and states, of operations and
// their branches, in the order of the file.
func (m *Machine) AllEffects() []*Effect {
	var list []*Effect
	for _, p := range m.Places() {
		list = append(append(list, p.Enter...), p.Exit...)
	}
	for _, o := range m.Operations {
		list = append(list, o.Asks...)
		for _, b := range o.Choose {
			list = append(list, b.Asks...)
		}
	}
	slices.SortStableFunc(list, func(a, b *Effect) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return list
}

// AllAsks lists the effects of the machine, each name once, in the order of the file.
func (m *Machine) AllAsks() []*Effect {
	var list []*Effect
	for _, e := range m.AllEffects() {
		if !slices.ContainsFunc(list, func(x *Effect) bool { return x.Name == e.Name }) {
			list = append(list, e)
		}
	}
	return list
}
