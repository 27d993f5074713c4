package serve

import "github.com/fsmgen/fsmgen/spec"

// askText says of an effect when it is performed, and what follows it.
func askText(e *spec.Effect) string {
	text := "effect " + e.Name + " at least once, after the commit"
	if e.Atomic {
		text = "effect " + e.Name + " in the same transaction"
	}
	if e.Then != nil {
		text += ", then " + e.Then.Operation.Name
	}
	return text
}
