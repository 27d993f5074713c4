package chart

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

// asked says what a step asks for, and what follows it. How often an effect is performed is
// a matter of the store.
func (c *Chart) asked(asks []*spec.Effect, then *spec.OperationRef) []string {
	var lines []string
	for _, e := range asks {
		if e.Other != nil {
			lines = append(lines, "then "+e.Other.Use.Name+": "+e.Other.Do)
			continue
		}
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
		if e.Failed != nil {
			lines = append(lines, failedText(e))
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

// failedText says what follows an effect that gave up.
func failedText(e *spec.Effect) string {
	failed := "or " + e.Failed.Operation.Name
	switch {
	case e.Then == nil:
		failed = e.Failed.Operation.Name + " if it gives up"
	}
	switch e.Attempts {
	case 0:
		return failed
	case 1:
		return failed + " after 1 try"
	}
	return fmt.Sprintf("%s after %d tries", failed, e.Attempts)
}
