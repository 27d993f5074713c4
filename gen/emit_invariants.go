package gen

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/spec"
)

// invariants adds what the record must fulfil in the state that it comes to.
// With more than one possible state, what they do not share is looked at by
// state, in the place where it stands among what they share: of two broken rules
// the first is named, as everywhere else. It reports whether every call is refused.
func (e *operationEmitter) invariants(possible []*spec.State) (ends bool) {
	lists := make([][]broken, len(possible))
	for i, s := range possible {
		lists[i] = e.s.broken(e.m, s)
	}
	for {
		at := nextShared(lists)
		own := make([][]broken, len(lists))
		for i, l := range lists {
			if own[i] = l; at != nil {
				own[i], lists[i] = l[:at[i]], l[at[i]:]
			}
		}
		e.byState(possible, own)
		if at == nil {
			return false
		}
		b := lists[0][0]
		e.add(e.breach(b))
		if b.when.kind == condTrue {
			return true
		}
		for i := range lists {
			lists[i] = lists[i][1:]
		}
	}
}

// nextShared returns where the first rule that all lists have stands in each;
// nil when there is none.
func nextShared(lists [][]broken) []int {
	for _, b := range lists[0] {
		at := make([]int, len(lists))
		for i, l := range lists {
			at[i] = slices.IndexFunc(l, func(x broken) bool { return x.rule == b.rule && x.when.String() == b.when.String() })
		}
		if !slices.Contains(at, -1) {
			return at
		}
	}
	return nil
}

// byState adds what each possible state has for itself.
func (e *operationEmitter) byState(possible []*spec.State, own [][]broken) {
	var cases []jen.Code
	for i, s := range possible {
		var body []jen.Code
		for _, b := range own[i] {
			body = append(body, e.breach(b))
			if b.when.kind == condTrue {
				break
			}
		}
		if body != nil {
			cases = append(cases, jen.Case(raw(e.n.state(s))).Block(body...))
		}
	}
	if cases != nil {
		e.add(jen.Switch(raw("j.State")).Block(cases...))
	}
}

func (e *operationEmitter) breach(b broken) *jen.Statement {
	refusal := e.fail("refuseInvariant", ", %q", b.rule)
	if b.when.kind == condTrue {
		return refusal
	}
	return jen.If(raw(b.when.String())).Block(refusal)
}
