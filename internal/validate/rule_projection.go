package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/count"
	"github.com/fsmgen/fsmgen/spec"
)

// projectionRules compare what the projection promises with every group that
// records can form.
var projectionRules = []Rule{
	{
		Code: "FSM501", Name: "gap in the projection", Severity: spec.Error, Run: projectionGap,
		Doc: "The projection is a function: each group of records has a derived state, the group without records too. When no rule fits,\n" +
			"readers get none at all. End the list with a rule that has no condition.",
	},
	{
		Code: "FSM502", Name: "unlisted move of the projection", Severity: spec.Error, Run: projectionMove,
		Doc: "`transitions` lists the only ways in which the derived state may move; readers build on it. An operation on one record\n" +
			"moves the state of its group in another way. Either the list lacks an edge, or a rule is in the wrong place (the first that\n" +
			"fits wins). Or the operation needs a guard that looks at the other records. Steps of one transaction are one step.",
	},
	{
		Code: "FSM503", Name: "projected state that never occurs", Severity: spec.Error, Run: projectedState,
		Doc: "No group of records, however large, has the derived state: the rules before it always win, or its condition cannot\n" +
			"come true. A reader would wait for it in vain. A state that is only for later belongs under `reserved`, and has no rule yet.",
	},
	{
		Code: "FSM504", Name: "projected move that never occurs", Severity: spec.Error, Run: projectedMove,
		Doc: "An edge under `transitions` promises a move that no operation makes in any group. The list is then no description of\n" +
			"what happens: a reader waits for it in vain, and a reviewer believes that somebody thought of it.",
	},
}

func projectionGap(p *Pass) {
	if p.Machine.Projection == nil {
		return
	}
	walk := p.projected()
	if walk.Gap == nil {
		return
	}
	rules := p.Machine.Projection.Rules
	last := rules[len(rules)-1].State
	at := finding{pos: last.Pos, mark: last.Name, hint: "end `rules` with a rule that has no condition: `- {state: ...}`"}
	if walk.Gap.Op == nil {
		p.report(at, "no projection rule fits a group without records")
		return
	}
	p.report(at, "no projection rule fits a group with the records %s, to which %s leads", walk.Gap.After, walk.Gap.Op.Name)
}

func projectionMove(p *Pass) {
	if p.Machine.Projection == nil || p.Machine.Projection.Transitions == nil {
		return // without a list any move is allowed
	}
	walk := p.projected()
	for _, v := range walk.Order {
		if listedMove(p.Machine, v) {
			continue
		}
		step := walk.Moves[v]
		p.report(finding{
			pos: step.Op.Pos, mark: step.Op.Name, related: also(p.Machine.Projection.Pos, "the projection is declared here"),
			hint: fmt.Sprintf("add `- {from: %s, to: %s}` to `transitions`, or keep %s from it with a guard", v.From, v.To, step.Op.Name),
		}, "%s moves the projection %s -> %s, which `transitions` does not list (group before: %s, after: %s)",
			step.Op.Name, v.From, v.To, step.Before, step.After)
	}
}

func listedMove(m *spec.Machine, v count.Move) bool {
	return slices.ContainsFunc(m.Projection.Transitions, func(t *spec.ProjectionMove) bool {
		return t.From.Name == v.From && t.To.Name == v.To
	})
}

func projectedState(p *Pass) {
	if p.Machine.Projection == nil {
		return
	}
	walk := p.projected()
	if !walk.Complete {
		return // what was not met may still occur
	}
	told := map[string]bool{}
	for _, rule := range p.Machine.Projection.Rules {
		s := rule.State
		if !walk.States[s.Name] && !told[s.Name] {
			p.report(finding{pos: s.Pos, mark: s.Name, hint: "move the rule up, fix its condition, or list " + s.Name + " under `reserved` instead"},
				"no group of records ever has the projected state %s", s.Name)
		}
		told[s.Name] = true
	}
}

func projectedMove(p *Pass) {
	if p.Machine.Projection == nil {
		return
	}
	walk := p.projected()
	if !walk.Complete {
		return // what was not met may still occur
	}
	never := func(s spec.ProjectedState) bool { // it has a finding of its own, or is reserved
		return !walk.States[s.Name]
	}
	for _, t := range p.Machine.Projection.Transitions {
		if _, occurs := walk.Moves[count.Move{From: t.From.Name, To: t.To.Name}]; occurs || never(t.From) || never(t.To) || t.From.Name == t.To.Name {
			continue
		}
		p.report(finding{pos: t.Pos, hint: "remove the edge, or add the operation that makes it"},
			"nothing ever moves the projection %s -> %s", t.From.Name, t.To.Name)
	}
}
