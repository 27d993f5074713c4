package diff

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// Whatever implies says is true for all values: tried with small numbers and
// with values that are absent. And it does say something.
func TestImpliesIsSound(t *testing.T) {
	t.Parallel()
	a := &spec.Field{Name: "a", Type: spec.Type{Kind: spec.KindInt, Optional: true}}
	b := &spec.Field{Name: "b", Type: spec.Type{Kind: spec.KindInt, Optional: true}}
	terms := []spec.Term{{Kind: spec.TermField, Field: a}, {Kind: spec.TermField, Field: b}}
	var facts []*spec.Fact
	add := func(left, right spec.Term, op spec.FactOp) {
		facts = append(facts, &spec.Fact{Op: op, Left: left, Right: right, Text: fmt.Sprint(op)})
	}
	comparisons := []spec.FactOp{spec.Eq, spec.Ne, spec.Lt, spec.Le, spec.Gt, spec.Ge}
	for i := range terms {
		add(terms[i], spec.Term{}, spec.Present)
		add(terms[i], spec.Term{}, spec.Absent)
		for _, op := range comparisons {
			add(terms[i], terms[1-i], op)
			for n := range int64(4) {
				add(terms[i], spec.Term{Kind: spec.TermInt, Int: n}, op)
			}
		}
	}
	simple := len(facts)
	for i := 0; i < simple; i += 7 { // those of which one holds
		x, y, z := facts[i], facts[(i+5)%simple], facts[(i+11)%simple]
		facts = append(facts, &spec.Fact{Op: spec.AnyOf, Any: [][]*spec.Fact{{x}, {y}}}, &spec.Fact{Op: spec.AnyOf, Any: [][]*spec.Fact{{x, z}, {y}}},
			&spec.Fact{Op: spec.AnyOf, Any: [][]*spec.Fact{{y}, {x}, {z}}})
	}
	const absent = -1
	value := func(term *spec.Term, x, y int64) int64 {
		switch {
		case term.Kind == spec.TermInt:
			return term.Int
		case term.Field == a:
			return x
		}
		return y
	}
	var holds func(f *spec.Fact, x, y int64) bool
	holds = func(f *spec.Fact, x, y int64) bool {
		if f.Op == spec.AnyOf {
			return slices.ContainsFunc(f.Any, func(facts []*spec.Fact) bool {
				return !slices.ContainsFunc(facts, func(g *spec.Fact) bool { return !holds(g, x, y) })
			})
		}
		l := value(&f.Left, x, y)
		switch f.Op {
		case spec.Present:
			return l != absent
		case spec.Absent:
			return l == absent
		}
		r := value(&f.Right, x, y)
		if l == absent || r == absent {
			return false
		}
		return map[spec.FactOp]bool{spec.Eq: l == r, spec.Ne: l != r, spec.Lt: l < r, spec.Le: l <= r, spec.Gt: l > r, spec.Ge: l >= r}[f.Op]
	}
	said, ofAny := 0, 0
	for _, f := range facts {
		for _, g := range facts {
			if f == g || !implies(f, g) {
				continue
			}
			said++
			if f.Op == spec.AnyOf && g.Op != spec.AnyOf || f.Op != spec.AnyOf && g.Op == spec.AnyOf {
				ofAny++
			}
			for x := int64(absent); x < 6; x++ {
				for y := int64(absent); y < 6; y++ {
					if holds(f, x, y) && !holds(g, x, y) {
						t.Fatalf("%s does not imply %s: a is %d, b is %d", factWords(f), factWords(g), x, y)
					}
				}
			}
		}
	}
	if said < 200 || ofAny < 30 {
		t.Errorf("%d of %d pairs follow, want more", said, len(facts)*len(facts))
	}
}
