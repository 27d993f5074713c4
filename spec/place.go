package spec

import (
	"cmp"
	"slices"
)

// Place is a state or a group of states with effects at its border. A step that takes a
// record into it from outside asks for Enter, one that takes it out asks for Exit. A
// creation comes from outside of all places.
type Place struct {
	Pos    Pos
	Name   string
	States []*State
	Enter  []*Effect
	Exit   []*Effect
}

// Has reports whether a state is in the place; nil, before a creation, is in none.
func (p *Place) Has(s *State) bool { return s != nil && slices.Contains(p.States, s) }

// placesKey is the key of the places of a machine.
type placesKey struct{}

// Places lists the groups that have effects, those of more states first, so that a group in
// another one stands behind it, and else in the order of the file; then the states that do.
// They are entered in this order, and left in the reverse one.
func (m *Machine) Places() []*Place {
	return Derived(m, placesKey{}, func(m *Machine) (list []*Place) {
		for _, g := range m.Groups {
			if len(g.Enter)+len(g.Exit) > 0 {
				list = append(list, &Place{g.Pos, g.Name, g.States, g.Enter, g.Exit})
			}
		}
		slices.SortStableFunc(list, func(a, b *Place) int { return cmp.Compare(len(b.States), len(a.States)) })
		for _, s := range m.States {
			if len(s.Enter)+len(s.Exit) > 0 {
				list = append(list, &Place{s.Pos, s.Name, []*State{s}, s.Enter, s.Exit})
			}
		}
		return list
	})
}

// Asked lists the effects that a step asks for, in their order: those of what it leaves, of
// the operation, of the branch that it takes, if any, and of what it enters. from is nil for
// a creation.
func (o *Operation) Asked(b *Branch, from, to *State) []*Effect {
	if len(o.Places) == 0 && (b == nil || len(b.Asks) == 0) {
		return o.Asks
	}
	var list []*Effect
	for _, p := range slices.Backward(o.Places) {
		if p.Has(from) && !p.Has(to) {
			list = append(list, p.Exit...)
		}
	}
	list = append(list, o.Asks...)
	if b != nil {
		list = append(list, b.Asks...)
	}
	for _, p := range o.Places {
		if !p.Has(from) && p.Has(to) {
			list = append(list, p.Enter...)
		}
	}
	return list
}

// Asked lists the effects that the move asks for, in their order.
func (v Move) Asked() []*Effect { return v.Operation.Asked(v.Branch, v.Source(), v.To) }

// borders gives each operation the places that its steps enter or leave, with the effects
// that they ask for there.
func (r *resolver) borders() {
	places := r.m.Places()
	if len(places) == 0 {
		return
	}
	for _, o := range r.m.Operations {
		moves := o.Moves()
		for _, p := range places {
			own := *p
			if !slices.ContainsFunc(moves, func(v Move) bool { return !p.Has(v.Source()) && p.Has(v.To) }) {
				own.Enter = nil
			}
			if !slices.ContainsFunc(moves, func(v Move) bool { return p.Has(v.Source()) && !p.Has(v.To) }) {
				own.Exit = nil
			}
			if len(own.Enter)+len(own.Exit) > 0 {
				o.Places = append(o.Places, &own)
			}
		}
	}
}
