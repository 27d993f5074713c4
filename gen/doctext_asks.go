package gen

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

// askText says when an effect is performed, and what follows it.
func askText(n *names, e *spec.Effect) string {
	method := spec.MethodName(e.Name)
	switch {
	case e.Atomic:
		return fmt.Sprintf("[Effects.%s] is performed in the same transaction", method)
	case e.Then != nil:
		return fmt.Sprintf("[Effects.%s] is performed after the commit, and %s follows", method, n.op(e.Then.Operation).Method)
	}
	return fmt.Sprintf("[Effects.%s] is performed after the commit", method)
}

// followText says what follows a step in its transaction.
func followText(n *names, r *spec.OperationRef) string {
	return n.op(r.Operation).Method + " follows in the same transaction"
}

// branchAsks says what a branch asks for, and what follows it.
func branchAsks(n *names, b *spec.Branch) string {
	text := ""
	for _, e := range b.Asks {
		text += "; " + askText(n, e)
	}
	if b.Then != nil {
		text += "; " + followText(n, b.Then)
	}
	return text
}
