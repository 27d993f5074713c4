package answers

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

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
	if e.Failed != nil {
		text += ", when it gives up "
		switch {
		case e.Attempts == 1:
			text += "or its try fails "
		case e.Attempts > 1:
			text += fmt.Sprintf("or %d tries fail ", e.Attempts)
		}
		text += e.Failed.Operation.Name
	}
	return text
}
