package fsmimpl

import "github.com/fsmgen/fsmgen/runtime/driver"

// Target is what an operation is applied to: the record itself, an outcome
// that holds it (one round trip), or a Ref (read, decide, write).
type Target interface{ Ref() driver.Ref }

// Item is one call of a batch.
type Item[R any] struct {
	At   Target
	Call Call[R]
}
