package spec

import "slices"

// Parking says what a store can do so that no pick meets a record again that a fact of
// `next` or of a guard has refused.
type Parking int

// The ways, from the best one on.
const (
	ParkedByIndex   Parking = iota + 1 // compared with == with what the call brings: an index finds the others
	ParkedOwn                          // it speaks of the record alone: set aside until the record changes
	ParkedUntil                        // it compares a time with now: set aside until that time
	ParkedByNothing                    // the next call may take the record
)

// Parked returns how a record that the fact refuses can be set aside, and where it cannot,
// why.
func (f *Fact) Parked() (how Parking, why string) {
	switch {
	case f.Op == AnyOf:
		for _, x := range Leaves([]*Fact{f}) {
			switch how, why := x.Parked(); {
			case how == ParkedByNothing:
				return how, why
			case how != ParkedOwn:
				return ParkedByNothing, "it is one of several that may hold"
			}
		}
		return ParkedOwn, ""
	case f.Op == Present || f.Op == Absent:
		if f.Left.ofRecord() {
			return ParkedOwn, ""
		}
	case f.Left.ofRecord() && f.Right.ofRecord():
		return ParkedOwn, ""
	case f.Op == Eq && (f.Left.Kind == TermField || f.Right.Kind == TermField) && f.Left.Kind != TermSum && f.Right.Kind != TermSum:
		return ParkedByIndex, ""
	}
	for _, t := range f.Names() {
		switch t.Kind {
		case TermActor:
			return ParkedByNothing, "it depends on who calls"
		case TermInput:
			return ParkedByNothing, "it depends on the input " + t.Input.Name
		}
	}
	if f.Left.Kind == TermSum || f.Right.Kind == TermSum {
		return ParkedByNothing, "no index holds the instant that it adds up"
	}
	return ParkedUntil, ""
}

// ofRecord reports whether a term is known as soon as the record is.
func (t Term) ofRecord() bool {
	return !slices.ContainsFunc(t.Names(), func(t Term) bool { return t.Kind != TermField && !t.IsConst() })
}

// ParkedForPeers is ParkedFor of a guard.
func (o *Operation) ParkedForPeers(g *Peers) (why string) {
	if g.Some {
		return "it waits for another record to come, and no step that leads there is asked"
	}
	if !g.Own() {
		return "it counts a group that is not told by the record's own values"
	}
	if g.Limit != nil {
		return "it counts up to " + g.Limit.Left.Text
	}
	var group []*Field
	for _, r := range g.Same {
		group = append(group, r.Field)
	}
	var states []*State
	for _, r := range g.In {
		states = append(states, r.State)
	}
	return o.ParkedFor(group, states)
}

// ParkedFor returns why no record that an operation picks can be set aside until others
// of its group leave states; empty: it can.
func (o *Operation) ParkedFor(group []*Field, states []*State) (why string) {
	if slices.ContainsFunc(o.From, func(from StateRef) bool { return slices.Contains(states, from.State) }) {
		return "it counts states that the operation picks from" // it might stand in its own way
	}
	for _, f := range group {
		if k := f.Type.Kind; k == KindJSON || k == KindSet {
			return "its group is told by " + f.Name + ", which no index holds"
		}
	}
	return ""
}
