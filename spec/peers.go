package spec

import (
	"slices"
	"strconv"
)

// Peers is a condition on the other records of a group: fewer than Than of
// them (none: Than is 1), or than Limit tells, are in the states In. With Some
// it is the reverse: one of them is, at least.
type Peers struct {
	Pos   Pos
	None  bool // written as `none`, not as `fewer`
	Some  bool // written as `some`: Than is 1, and so many are enough
	Than  int64
	Limit *Fact      // `limit >= 1` of the field or the input that is in the place of Than, which is 0; else nil
	Same  []FieldRef // what the records of the group share
	Of    []*Fact    // `field == value` of each: which group is meant; inputs are named, not bound: see Requirement
	In    []StateRef
}

// Passes reports whether the guard lets a call pass that has so many others, where most are too many.
func (p *Peers) Passes(others, most int64) bool {
	if p.Some {
		return others >= 1
	}
	return others < most
}

// LeftBy reports whether a step of an operation may take a record out of the states of the guard, or to another group
// while it is there.
func (p *Peers) LeftBy(o *Operation) bool {
	in := func(s *State) bool { return slices.ContainsFunc(p.In, func(r StateRef) bool { return r.State == s }) }
	writes := slices.ContainsFunc(p.Same, func(r FieldRef) bool {
		return r.Field.Stamped() || o.Effects.Changes(r.Field) ||
			slices.ContainsFunc(o.Choose, func(b *Branch) bool { return b.Effects.Changes(r.Field) })
	})
	return slices.ContainsFunc(o.Moves(), func(v Move) bool {
		return v.Source() != nil && in(v.Source()) && (writes || !in(v.To))
	})
}

// Number is how many others are too many, as it is written.
func (p *Peers) Number() string {
	if p.Limit != nil {
		return p.Limit.Left.Text
	}
	return strconv.FormatInt(p.Than, 10)
}

// Own reports whether the group is that of the record's own values.
func (p *Peers) Own() bool {
	return !slices.ContainsFunc(p.Of, func(f *Fact) bool { return f.Right.Field != f.Left.Field })
}

// Told returns the names of the fields by whose own values the group is told, and what tells
// the rest of it: " whose borrower is actor", or "".
func (p *Peers) Told() (own []string, whose string) {
	for _, f := range p.Of {
		switch {
		case f.Right.Field == f.Left.Field:
			own = append(own, f.Left.Field.Name)
		case whose == "":
			whose = " whose " + f.Left.Field.Name + " is " + f.Right.Text
		default:
			whose += " and " + f.Left.Field.Name + " is " + f.Right.Text
		}
	}
	return own, whose
}
