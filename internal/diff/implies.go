package diff

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// implies reports whether g surely holds wherever f does. False means that it
// is not known.
func implies(f, g *spec.Fact) bool {
	if factWords(f) == factWords(g) {
		return true
	}
	switch {
	case f.Op == spec.AnyOf:
		return !slices.ContainsFunc(f.Any, func(facts []*spec.Fact) bool { return !follows(facts, g) })
	case g.Op == spec.AnyOf:
		return slices.ContainsFunc(g.Any, func(facts []*spec.Fact) bool { return len(without(facts, []*spec.Fact{f})) == 0 })
	}
	// A comparison that holds implies that both sides are present.
	if g.Op == spec.Present {
		comparison := f.Op != spec.Present && f.Op != spec.Absent
		return comparison && slices.ContainsFunc(f.Names(), func(t spec.Term) bool { return termWord(&t) == termWord(&g.Left) })
	}
	left, right := termWord(&f.Left), termWord(&f.Right)
	if left == termWord(&g.Left) && right == termWord(&g.Right) {
		return slices.Contains(weaker[f.Op], g.Op)
	}
	if left == termWord(&g.Right) && right == termWord(&g.Left) {
		return turned[f.Op] == g.Op || slices.Contains(weaker[turned[f.Op]], g.Op)
	}
	constants := f.Right.Kind == g.Right.Kind && (f.Right.Kind == spec.TermInt || f.Right.Kind == spec.TermSpan)
	if left == termWord(&g.Left) && constants {
		return bound(f.Op, f.Right.Int, g.Op, g.Right.Int)
	}
	return false
}

// weaker lists the comparisons that follow from one of the same terms.
var weaker = map[spec.FactOp][]spec.FactOp{
	spec.Eq: {spec.Le, spec.Ge}, spec.Lt: {spec.Le, spec.Ne}, spec.Gt: {spec.Ge, spec.Ne},
}

// turned is the comparison with the sides exchanged.
var turned = map[spec.FactOp]spec.FactOp{
	spec.Eq: spec.Eq, spec.Ne: spec.Ne, spec.Lt: spec.Gt, spec.Le: spec.Ge, spec.Gt: spec.Lt, spec.Ge: spec.Le,
}

// bound reports whether x op m implies x to n, for whole numbers.
func bound(op spec.FactOp, m int64, to spec.FactOp, n int64) bool {
	low, high := m, m // the numbers for which x op m holds, as far as they are bounded
	hasLow, hasHigh := true, true
	switch op {
	case spec.Eq:
	case spec.Ge:
		hasHigh = false
	case spec.Gt:
		low, hasHigh = m+1, false
	case spec.Le:
		hasLow = false
	case spec.Lt:
		high, hasLow = m-1, false
	default:
		return false
	}
	switch to {
	case spec.Ge:
		return hasLow && low >= n
	case spec.Gt:
		return hasLow && low > n
	case spec.Le:
		return hasHigh && high <= n
	case spec.Lt:
		return hasHigh && high < n
	case spec.Ne:
		return hasLow && low > n || hasHigh && high < n
	}
	return false
}

// follows reports whether one fact of the list implies f.
func follows(list []*spec.Fact, f *spec.Fact) bool {
	return slices.ContainsFunc(list, func(g *spec.Fact) bool { return implies(g, f) }) ||
		slices.ContainsFunc(f.Any, func(facts []*spec.Fact) bool { return len(without(facts, list)) == 0 })
}

// without returns the facts of list that follow from none of others: what list
// asks for beyond them.
func without(list, others []*spec.Fact) []*spec.Fact {
	var rest []*spec.Fact
	for _, f := range list {
		if !follows(others, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

func factTexts(list []*spec.Fact) string {
	return names(list, func(f *spec.Fact) string { return "`" + f.Text + "`" })
}
