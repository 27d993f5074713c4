package fsmimpl

import "context"

// Probe asks the world about records for an audit; generated code makes one for each
// method of the package's Probes.
type Probe[R any] struct {
	Name    string // in the specification
	Message string // what a record is without it
	// In says which records it is asked about.
	In func(r *R) bool
	// Ask reports whether its fact is true of a record. An error and a panic are findings:
	// nobody knows.
	Ask func(ctx context.Context, r R) (bool, error)
}
