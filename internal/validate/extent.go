package validate

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

// Extent says how large a machine is, and how much of it was proven.
func Extent(m *spec.Machine) string {
	cells := 0
	for _, o := range m.Operations {
		if len(o.Creates) == 0 {
			cells += len(m.States)
		}
	}
	proof := Proof(m)
	return fmt.Sprintf("%s, %s, %s, %s, %s", Counted(len(m.States), "state"), Counted(len(m.Operations), "operation"), Counted(cells, "cell"),
		Counted(proof.Steps, "transition"), Counted(proof.Obligations, "proof obligation"))
}

// Counted writes a number of things: 1 file, 2 files.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
