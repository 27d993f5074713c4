package spec

import "slices"

// Part is a whole number that a sum adds, or takes off.
type Part struct {
	Minus bool
	Term  Term
}

// mostParts is how many numbers a sum has at most: with the limit of each one no sum leaves
// 64 bits.
const mostParts = 4

// Names lists what a side of a fact names: the term itself, or the parts of a sum.
func (t Term) Names() []Term {
	if t.Kind != TermSum {
		return []Term{t}
	}
	list := make([]Term, len(t.Parts))
	for i, p := range t.Parts {
		list[i] = p.Term
	}
	return list
}

// Names lists what the two sides of a fact name. Of `any` it lists nothing: see Leaves.
func (f *Fact) Names() []Term {
	if f.Op == AnyOf {
		return nil
	}
	return slices.Concat(f.Left.Names(), f.Right.Names())
}

// Reads reports whether a side of the fact is the field, or a sum with it.
func (f *Fact) Reads(field *Field) bool {
	return slices.ContainsFunc(f.Names(), func(t Term) bool { return t.Field == field && field != nil })
}

// sumText writes a sum.
func sumText(parts []Part, text func(Term) string) string {
	out := ""
	for i, p := range parts {
		switch {
		case i > 0 && p.Minus:
			out += " - "
		case i > 0:
			out += " + "
		}
		out += text(p.Term)
	}
	return out
}
