package driver

import (
	"fmt"
)

// SpecID names one specification of a machine.
type SpecID struct {
	Version int
	Hash    string // of its meaning
}

// String returns the version and the beginning of the hash.
func (s SpecID) String() string { return fmt.Sprintf("version %d (hash %.12s)", s.Version, s.Hash) }

// ID names the schema's specification.
func (s *Schema) ID() SpecID { return SpecID{s.Version, s.Hash} }

// RetiredError says that the store's tables have gone over to a later
// specification, beside which the program's may not work. It is the cause of a
// refusal with ErrSchemaMismatch.
type RetiredError struct {
	Machine string
	Program SpecID
	Store   SpecID
}

// Error names both specifications and how to fix it.
func (e *RetiredError) Error() string {
	return fmt.Sprintf("the program is %v, which was retired; the tables are those of %v: run a program of version %d, or restore a backup from before its migration",
		e.Program, e.Store, e.Store.Version)
}
