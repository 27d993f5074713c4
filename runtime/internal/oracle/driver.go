package oracle

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Driver is how the tests reach one generated package: typed adapters without
// a decision of their own.
type Driver[R any] struct {
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

// Event is what a pure method says that it did, in the names of the specification.
type Event struct {
	Name       string // as the log has it
	From, To   string // From is empty for a creation
	RecordOnly bool
	Guard      string
}

// Did calls the pure method of an operation.
func (d *Driver[R]) Did(r *R, o *Op, c Call) (Event, error) {
	event, err := d.Pure(r, o.Name, c)
	if event == nil {
		return Event{}, err
	}
	v := reflect.ValueOf(event)
	e := Event{RecordOnly: v.FieldByName("RecordOnly").Bool(), Name: v.FieldByName("Name").String(), Guard: v.FieldByName("Guard").String()}
	for name, text := range map[string]*string{"From": &e.From, "To": &e.To} {
		if state := v.FieldByName(name); !state.IsZero() {
			*text = fmt.Sprint(state.Interface())
		}
	}
	return e, err
}

// Projected is what a projection makes of a group.
type Projected struct {
	State  string
	Key    map[string]any // by field, zero without records
	Fields map[string]any // absent values are nil
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
