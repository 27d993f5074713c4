package chart

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Derived is a projection as a second machine.
type Derived struct {
	Title  string
	States []DerivedState
	Start  string      // the state of a key without a record; "" when no rule says so
	Moves  [][2]string // from, to; none to itself
}

// DerivedState is a state of a projection.
type DerivedState struct {
	Name  string
	Rules []string // what leads here
	Ends  bool     // nothing leads away
}

// Derived returns the projection, or nil when the chart shows none.
func (c *Chart) Derived() *Derived {
	p := c.Projection
	if p == nil {
		return nil
	}
	d := &Derived{
		Title: fmt.Sprintf("%s, derived from every %s with the same %s", p.Entity, c.Machine.Entity, strings.Join(fieldNames(p.Key), ", ")),
		Start: emptyGroupState(p),
	}
	leaves := make(map[string]bool)
	for _, t := range p.Transitions {
		if t.From.Name != t.To.Name {
			d.Moves = append(d.Moves, [2]string{t.From.Name, t.To.Name})
			leaves[t.From.Name] = true
		}
	}
	for _, n := range projectedNames(p) {
		s := DerivedState{Name: n, Rules: ruleLines(p, n), Ends: !leaves[n] && len(p.Transitions) > 0}
		d.States = append(d.States, s)
	}
	return d
}

// ruleLines says what leads to a derived state.
func ruleLines(p *spec.Projection, state string) []string {
	var lines []string
	for i, r := range p.Rules {
		if r.State.Name == state {
			lines = append(lines, fmt.Sprintf("rule %d: %s", i+1, ruleSentence(r, i > 0)))
		}
	}
	if lines == nil {
		return []string{"reserved, no rule leads here"}
	}
	return lines
}
