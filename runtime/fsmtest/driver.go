package fsmtest

import (
	"context"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Driver is how the tests reach one generated package: typed adapters without
// a decision of their own.
type Driver[R any] struct {
	Descriptor *fsm.Descriptor[R]
	Check      func(R) []fsm.Violation
	Equal      func(a, b R) bool
	Classify   func(state, operation string) fsm.Class // by their names
	Fold       func([]fsm.Event) (R, error)
	Errors     map[string]error // the package's own sentinels by the names under `error` and `reject`
	Words      []Vocabulary
	Pure       map[string]Pure[R] // by operation
	// Project is the projection over the records of one group; nil when there is none.
	Project func([]R) Projected
	// Open opens the machine on a store that is migrated already.
	Open func(ctx context.Context, store fsm.Store, fx *Effects, opts ...fsm.Option) (*Durable[R], error)
	// Migrate prepares a store.
	Migrate func(ctx context.Context, store fsm.Store) error
	// Stores are the stores that the durable form is tested over, besides memstore.
	Stores []Store
}

// Pure is one operation of the pure layer.
type Pure[R any] struct {
	Do  func(r *R, c Call) (Event, error) // a creation fills r
	Can func(r *R, c Call) error          // nil for a creation
}

// Event is what a pure method says that it did, in the names of the specification.
type Event struct {
	Operation, Name string
	From, To        string // From is empty for a creation
	Rev             int64
	At              time.Time
	RecordOnly      bool
	Guard           string
}

// Projected is what a projection makes of a group.
type Projected struct {
	State  string
	Fields map[string]int64
}

// Durable is one generated machine, opened on a store.
type Durable[R any] struct {
	Core       *fsm.Machine[R]
	Operations map[string]Durably[R] // by operation; without those that are not exported
}

// Durably is one operation of the durable layer.
type Durably[R any] struct {
	Do   func(ctx context.Context, at fsm.Target, c Call) (fsm.Outcome[R], error) // names its record, or creates it
	Pick func(ctx context.Context, n int, c Call) ([]fsm.Outcome[R], error)       // with `next`; n 0 is the form for one
	Many func(ctx context.Context, at []fsm.Target, c []Call) ([]fsm.Outcome[R], error)
}
