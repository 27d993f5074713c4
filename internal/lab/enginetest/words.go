package enginetest

import "github.com/fsmgen/fsmgen/internal/lab/oracle"

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
