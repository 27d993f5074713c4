package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/count"
	"github.com/fsmgen/fsmgen/spec"
)

// endsReliance tells which operations may leave nobody in the states of guards with `some`.
func endsReliance(p *Pass) {
	for _, op := range p.Machine.Operations {
		var ended []*spec.Guard
		for _, g := range peers(p.Machine) {
			relies := func(o *spec.Operation) bool {
				return slices.ContainsFunc(o.Require, func(r *spec.Requirement) bool { return r.Guard == g })
			}
			asks := slices.ContainsFunc(op.Require, func(r *spec.Requirement) bool { return leavesOne(r.Guard.Peers, g.Peers) })
			if g.Peers.Some && g.Peers.LeftBy(op) && !asks && slices.ContainsFunc(p.Machine.Operations, relies) {
				ended = append(ended, g)
			}
		}
		if ended == nil {
			continue
		}
		at := finding{pos: op.Pos, mark: op.Name, hint: "nothing to fix where nobody has to stay; else " + keepsOne(op, ended)}
		var names []string
		for _, g := range ended {
			names = append(names, g.Name)
			at.related = append(at.related, also(g.Pos, "%s is declared here", g.Name)...)
		}
		p.report(at, "%s may take the last one away on whom %s relied: it does not ask for another one", op.Name, enumerate(names, "and"))
	}
}

// leavesOne reports whether a guard that an operation requires leaves another record in the group of g, and in its states.
func leavesOne(p, g *spec.Peers) bool {
	return p != nil && p.Some && p.Own() && count.Key(g.Same).Within(p.Same) &&
		!slices.ContainsFunc(p.In, func(s spec.StateRef) bool { return !listed(s.State, g.In) })
}

// keepsOne says what an operation must require so that one record stays for each of the guards: one that is there, or one
// to be written for the first of them.
func keepsOne(op *spec.Operation, ended []*spec.Guard) string {
	for _, g := range ended {
		if !slices.ContainsFunc(ended, func(x *spec.Guard) bool { return !leavesOne(g.Peers, x.Peers) }) {
			return fmt.Sprintf("add %s to `require` of %s", g.Name, op.Name)
		}
	}
	first := ended[0].Peers
	return fmt.Sprintf("require a guard with `some: {same: %s, in: [%s]}` in %s", bracketed(first.Same), stateNames(first.In), op.Name)
}
