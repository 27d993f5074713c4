package fsmcases

import (
	"context"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Package is one generated package as its tests have it: what must come of its calls,
// and typed adapters without a decision of their own.
type Package[R any] struct {
	Spec    string // the file of the specification, as seen from the package; empty where it is not known
	States  string // in their order; those that end a record as "done (terminal)" or "done (final)"
	Version int    // of the specification
	// RequestID and ExpectedRev say whether a call carries them: "required", "optional" or "none".
	RequestID, ExpectedRev string
	Fields                 string // in their order; one that was renamed as "owner (worker)"
	// Moves says for each operation where it leads: "queued -> claimed, stalled -> claimed", for
	// a creation "(new) -> queued". In "done -> (recorded)" a call is recorded and changes nothing; in
	// "lost -> (nothing)" the operation itself decides to change nothing. In all other states it is refused.
	Moves   map[string]string
	Records map[string]string // by operation: the other states in which a branch, or a guard that fails, records the call
	System  string            // the operations of the system
	Told    map[string]string // by guard: what a refusal tells the values of
	Stored  map[string]string // by operation: its word in the log, where that is another one
	Cases   []Case
	Checks  []Check
	Steps   []Check // a record, what a step changes of it, and the rule over a step that this breaks
	Groups  []Group
	Derived Derived // of the projection

	Descriptor *fsmimpl.Descriptor[R]
	Check      func(R) []fsm.Violation
	Equal      func(a, b R) bool
	Fold       func([]fsm.Event) (R, error)
	Ends       []End            // one for each state
	Errors     map[string]error // the package's own sentinels by the names under `error` and `reject`
	Words      []Vocabulary
	// Pure calls the pure method of an operation and returns the package's own event. A
	// creation fills r.
	Pure func(r *R, operation string, c Call) (event any, err error)
	// Can reports whether the state allows an operation.
	Can func(r R, operation string) error
	// Possible lists the operations that the state allows.
	Possible func(r R) []string
	// Project is the projection over the records of one group; nil when there is none.
	Project func([]R) Projected
	// Leads reports whether the derived machine may move so by one step; nil when nothing is said.
	Leads func(from, to string) bool
	// Migrate prepares a store.
	Migrate func(ctx context.Context, store fsm.Store) error
	// Open opens the machine on a store that is migrated already.
	Open func(ctx context.Context, store fsm.Store, fx *Effects, opts ...fsm.Option) (*Durable[R], error)
	// Stores are the stores that the durable form is tested over, besides memstore.
	Stores []Store
}

// End says how a state ends a record, as the methods of the state have it.
type End struct {
	State           string
	Terminal, Final bool
}

// Projected is what a projection makes of a group.
type Projected struct {
	State  string
	Key    map[string]any // by field, zero without records
	Fields map[string]any // absent values are nil
}

// Store is one kind of store that the durable form is tested over.
type Store struct {
	Name string                       // of one in a database: the SQL dialect, "sqlite" or "postgres"
	Open func(t *testing.T) fsm.Store // opens an empty store and closes it with the test
}

// Memory is the store in memory, over which every generated package is tested.
var Memory = Store{
	Name: "memstore",
	Open: func(t *testing.T) fsm.Store {
		store := memstore.New()
		t.Cleanup(func() { store.Close() })
		return store
	},
}
