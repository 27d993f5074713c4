package oracle

import (
	"context"
	"iter"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// Driver is how the tests reach one generated package: typed adapters without
// a decision of their own.
type Driver[R any] struct {
	Descriptor *fsmimpl.Descriptor[R]
	Check      func(R) []fsm.Violation
	Equal      func(a, b R) bool
	Terminal   func(state string) bool
	Final      func(state string) bool // nil when no state is final
	Fold       func([]fsm.Event) (R, error)
	Errors     map[string]error // the package's own sentinels by the names under `error` and `reject`
	Words      []Vocabulary
	Pure       map[string]Pure[R] // by operation
	// Project is the projection over the records of one group; nil when there is none.
	Project func([]R) Projected
	// Leads reports whether the derived machine may move so by one step; nil when nothing is said.
	Leads func(from, to string) bool
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
	Can func(r R) error                   // whether the state allows it; nil for a creation
}

// Event is what a pure method says that it did, in the names of the specification.
type Event struct {
	Name       string // as the log has it
	From, To   string // From is empty for a creation
	RecordOnly bool
	Guard      string
}

// Projected is what a projection makes of a group.
type Projected struct {
	State  string
	Key    map[string]any // by field, zero without records
	Fields map[string]any // absent values are nil
}

// Durable is one generated machine, opened on a store.
type Durable[R any] struct {
	Operations map[string]Durably[R] // by operation; without those that are not exported
	Record     func(ctx context.Context, id string) (R, error)
	List       func(ctx context.Context, states ...string) iter.Seq2[R, error] // by their names
	Count      func(ctx context.Context, states ...string) (map[string]int64, error)
	History    func(ctx context.Context, id string) iter.Seq2[fsm.Event, error]
	// Audit asks the probes for their answer: whether all is well, by the probe's name.
	Audit   func(ctx context.Context, probe func(name string) (bool, error)) iter.Seq2[audit.Finding, error]
	Sweep   func(ctx context.Context) (int, error) // nil when no trigger waits for a time
	Startup func(ctx context.Context) (int, error) // nil when nothing runs at startup
	Deliver func(ctx context.Context) (int, error) // nil without effects that are delivered
	// Batch makes the calls that collect makes, all or none.
	Batch func(ctx context.Context, collect func(*Durable[R]) error) ([]fsm.Outcome[R], error)
	// In is the machine within a transaction of the caller's own.
	In func(ctx context.Context, tx fsm.Joined) (*Durable[R], error)
	// Hold makes a handle of a record; nil for a machine without handles.
	Hold func(r R, actor string) Holding[R]
	// Worker makes workers; nil for a machine that is not of their shape.
	Worker *Working[R]
}

// Working is how workers are made.
type Working[R any] struct {
	Pick, Beat string // the operations that claim and keep alive
	Deadline   string // the field that both set; empty when it is counted from updated_at
	New        func(actor string, o worker.Options, work func(context.Context, *fsm.Held[R]) error, release func(context.Context, R) error, failed func(context.Context, R, error) error) (*worker.Worker[R], error)
}

// Holding is what a handle shows of its record.
type Holding[R any] struct {
	State  string // whose type the handle has
	Handle *fsm.Held[R]
	Record R
	Ref    fsm.Ref
	Target fsm.Target      // the handle itself; nil in a state without handles
	Fields map[string]bool // of each method that gives a field: whether it gives the record's value
}

// Durably is one operation of the durable layer.
type Durably[R any] struct {
	Do   func(ctx context.Context, at fsm.Target, c Call) (fsm.Outcome[R], error) // names its record, or creates it
	Pick func(ctx context.Context, n int, c Call) ([]fsm.Outcome[R], error)       // with `next`; n 0 is the form for one
	// Enter makes or picks by the machine as an actor has it; n 0 is the form for one.
	Enter func(ctx context.Context, n int, c Call) ([]fsm.Outcome[R], error)
	// Held calls by a handle, as the actor of which the call is made. End is the
	// state whose type the result has, or "recorded".
	Held func(ctx context.Context, h *fsm.Held[R], c Call) (out fsm.Outcome[R], end string, err error)
}

// Many makes one call on each target, or one creation for each call, in one transaction.
func (d *Durable[R]) Many(ctx context.Context, operation string, at []fsm.Target, calls []Call) ([]fsm.Outcome[R], error) {
	return d.Batch(ctx, func(in *Durable[R]) error {
		for i, c := range calls {
			if _, err := in.Operations[operation].Do(ctx, at[i], c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Memory is the store in memory, over which every generated package is tested.
var Memory = Store{
	Name: "memstore",
	Open: func(t *testing.T) fsm.Store {
		store, _ := sharedMemory(t)
		return store
	},
	Shared: sharedMemory,
}

// Vocabulary is one generated enum with its words, ready to be tested. It is
// made by Words.
type Vocabulary struct {
	Name string
	Test func(t *testing.T)
}

// Words tests the text, JSON and column forms of every enum.
func (s *Suite[R]) Words(t *testing.T) {
	for _, w := range s.D.Words {
		t.Run(w.Name, w.Test)
	}
}
