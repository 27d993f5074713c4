package chart

import "github.com/fsmgen/fsmgen/spec"

// asked says what a step asks for, and what follows it. How often an effect is performed is
// a matter of the store.
func (c *Chart) asked(asks []*spec.Effect, then *spec.OperationRef) []string {
	var lines []string
	for _, e := range asks {
		how := "at least once"
		if e.Atomic {
			how = "in the same transaction"
		}
		lines = append(lines, "effect "+e.Name)
		if !c.Machine.Alone() {
			lines = append(lines, how)
		}
		if e.Then != nil {
			lines = append(lines, "then "+e.Then.Operation.Name)
		}
	}
	if then != nil {
		lines = append(lines, "then "+then.Operation.Name)
	}
	return lines
}

// asks adds to the condition of a branch what it asks for, where the picture tells that.
func (c *Chart) asks(b *spec.Branch, cond string) []string {
	lines := []string{cond}
	if c.Detail == Full {
		lines = append(lines, c.asked(b.Asks, b.Then)...)
	}
	return lines
}
