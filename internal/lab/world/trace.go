package world

import (
	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Step is what a harness has done, and what came of it, for those who want to note it.
type Step[R any] struct {
	Kind      string // "walk": a new empty store; "seed", "step", "sweep", "startup" and "deliver": in that store
	Operation string
	At        fsm.Ref // of a step: the target; without an id the store picks
	Call      oracle.Call
	Count     int        // of sweep, startup and deliver: how many
	Row       driver.Row // of a seed
	Outcome   fsm.Outcome[R]
	Err       error
}

// traced hands a step to whom it was asked for.
func (h *Harness[R]) traced(x Step[R]) {
	if h.Note != nil {
		h.Note(x)
	}
}
