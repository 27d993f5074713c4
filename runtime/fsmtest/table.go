package fsmtest

import "github.com/fsmgen/fsmgen/runtime/internal/oracle"

// What a generated test file says of its machine, in the words of the specification.
type (
	// Table is a specification in its own words, as far as a test must know it.
	Table = oracle.Table
	// Field is one datum of the record.
	Field = oracle.Field
	// State is one state and what holds in it.
	State = oracle.State
	// Guard is a named precondition.
	Guard = oracle.Guard
	// Unique says that among the records in some states fields are unique.
	Unique = oracle.Unique
	// Operation is one operation; its targets stand in the matrix.
	Operation = oracle.Operation
	// Witness is a case that the proof of the specification has found.
	Witness = oracle.Witness
	// Input is one datum of a call.
	Input = oracle.Input
	// Branch is one line of `choose`.
	Branch = oracle.Branch
	// Move is a move that must never happen.
	Move = oracle.Move
	// Projection is a state derived from all records with the same key.
	Projection = oracle.Projection
	// Rule gives the derived state when all its conditions hold; the first wins.
	Rule = oracle.Rule
)

// How the tests reach the generated package.
type (
	// Driver holds typed adapters without a decision of their own.
	Driver[R any] = oracle.Driver[R]
	// End says how a state ends a record.
	End = oracle.End
	// Projected is what a projection makes of a group.
	Projected = oracle.Projected
	// Durable is one generated machine, opened on a store.
	Durable[R any] = oracle.Durable[R]
	// NotOfferedError says that a package has no method for an operation.
	NotOfferedError = oracle.NotOfferedError
	// Call is one call of an operation.
	Call = oracle.Call
	// Effects stands for the world outside: it notes every effect that is performed.
	Effects = oracle.Effects
	// Vocabulary is one generated enum with its words; Words makes it.
	Vocabulary = oracle.Vocabulary
	// Store is one kind of store that the durable form is tested over.
	Store = oracle.Store
)
