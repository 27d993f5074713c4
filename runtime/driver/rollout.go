package driver

import (
	"context"
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

// Retirer is a Table that two specifications may have open at once.
//
// Migrate of a specification whose version is higher than the one it finds
// notes what becomes of that one: it stays open where Schema.Beside names it,
// and is retired otherwise. A program of one that stays open passes Check, and
// its Migrate does nothing; a program of one that was retired gets a refusal
// with CodeSchemaMismatch from both, whose cause is a *RetiredError. A version
// that did not rise retires nothing.
type Retirer interface {
	// Retire ends a roll-out: every other specification of this machine is
	// retired. It is refused unless the store holds this specification's tables.
	Retire(ctx context.Context) error
}

// RetiredError says that the store's tables have gone over to a later
// specification, beside which the program's may not work. It is the cause of a
// refusal with CodeSchemaMismatch.
type RetiredError struct {
	Machine string
	Program SpecID
	Store   SpecID
}

// Error names both specifications and how to mend it.
func (e *RetiredError) Error() string {
	return fmt.Sprintf("the program is %v, which was retired; the tables are those of %v: run a program of version %d, or restore a backup from before its migration",
		e.Program, e.Store, e.Store.Version)
}
