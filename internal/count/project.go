package count

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Projected lists the derived states that a group can have: one, unless a
// saturated count leaves a rule open; none when no rule fits.
func (g Group) Projected() []string {
	var states []string
	for _, rule := range g.shape.machine.Projection.Rules {
		surely, maybe := g.fits(rule)
		if maybe && !slices.Contains(states, rule.State.Name) {
			states = append(states, rule.State.Name)
		}
		if surely {
			return states
		}
	}
	return states
}

// fits reports whether all conditions of a rule hold, and whether they may.
func (g Group) fits(rule *spec.ProjectionRule) (surely, maybe bool) {
	surely, maybe = true, true
	and := func(s, m bool) { surely, maybe = surely && s, maybe && m }
	if rule.Any != nil {
		and(g.in(rule.Any...).atLeast(1))
	}
	if rule.None != nil {
		s, m := g.in(rule.None...).atLeast(1)
		and(!m, !s)
	}
	if rule.All != nil {
		and(g.in(rule.All...).atLeast(1))
		s, m := g.in(g.except(rule.All)...).atLeast(1)
		and(!m, !s)
	}
	if rule.AtLeast > 0 {
		and(g.in(slices.Concat(rule.Any, rule.All)...).atLeast(rule.AtLeast))
	}
	return surely, maybe
}

// except lists the states of the machine that are not among the named ones.
func (g Group) except(states []spec.StateRef) []spec.StateRef {
	var rest []spec.StateRef
	for _, s := range g.shape.machine.States {
		if !listed(s, states) {
			rest = append(rest, spec.StateRef{State: s})
		}
	}
	return rest
}

// listed reports whether the state is among the named ones.
func listed(s *spec.State, refs []spec.StateRef) bool {
	return slices.ContainsFunc(refs, func(r spec.StateRef) bool { return r.State == s })
}
