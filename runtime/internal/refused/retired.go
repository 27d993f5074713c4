// Package refused makes the refusals that all stores share.
package refused

import (
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Retired returns the refusal of a program of s by a store whose tables are those of
// another specification.
func Retired(s *driver.Schema, store driver.SpecID) error {
	cause := &driver.RetiredError{Machine: s.Machine, Program: s.ID(), Store: store}
	return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: s.Machine, Message: cause.Error(), Cause: cause}
}
