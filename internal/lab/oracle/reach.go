package oracle

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsmcases"
)

// How the suites reach the generated package: as its own tests do.
type (
	// Driver holds typed adapters without a decision of their own.
	Driver[R any] = fsmcases.Package[R]
	// End says how a state ends a record.
	End = fsmcases.End
	// Projected is what a projection makes of a group.
	Projected = fsmcases.Projected
	// Durable is one generated machine, opened on a store.
	Durable[R any] = fsmcases.Durable[R]
	// Call is one call of an operation.
	Call = fsmcases.Call
	// Effects stands for the world outside.
	Effects = fsmcases.Effects
	// Performed is one effect that ran.
	Performed = fsmcases.Performed
	// Store is one kind of store that the durable form is tested over.
	Store = fsmcases.Store
)

// Event is what a pure method says that it did, in the names of the specification.
type Event struct {
	Name       string // as the log has it
	From, To   string // From is empty for a creation
	RecordOnly bool
	Guard      string
}

// Did calls the pure method of an operation.
func Did[R any](d *Driver[R], r *R, o *Op, c Call) (Event, error) {
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

// Words tests the text, JSON and column forms of every enum.
func (s *Suite[R]) Words(t *testing.T) {
	for _, w := range s.D.Words {
		t.Run(w.Name, w.Test)
	}
}
