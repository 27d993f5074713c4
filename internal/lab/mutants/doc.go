// Package mutants changes Go code in every way that its operators know: each guard,
// validation and invariant left out or turned around, each assignment and counter step
// left out, each target, event and column exchanged, each bound moved by one.
//
// All mutants of a package are in one binary behind a switch (Env), so that a thousand
// take minutes.
package mutants

import "fmt"

// Env is the environment that switches a mutant on.
func (m *Mutant) Env() string { return fmt.Sprintf("FSMGEN_MUTANT=%d", m.Number) }
