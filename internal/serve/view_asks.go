package serve

import "github.com/fsmgen/fsmgen/spec"

// askText says of an effect when it is performed, and what follows it.
func askText(m *spec.Machine, e *spec.Effect) string {
	text := "effect " + e.Name
	switch {
	case m.Alone(): // the program performs it
	case e.Atomic:
		text += " in the same transaction"
	default:
		text += " at least once, after the commit"
	}
	if e.Then != nil {
		text += ", then " + e.Then.Operation.Name
	}
	return text
}
