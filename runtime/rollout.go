package fsm

import "github.com/fsmgen/fsmgen/runtime/driver"

// Retired returns the refusal of a program of s by a store whose tables are
// those of another specification. For stores.
func Retired(s *driver.Schema, store driver.SpecID) error {
	cause := &driver.RetiredError{Machine: s.Machine, Program: s.ID(), Store: store}
	return &Refusal{Ground: &Ground{Code: ErrSchemaMismatch, Machine: s.Machine, Message: cause.Error(), Cause: cause}}
}
