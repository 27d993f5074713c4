package fsm

import (
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Outcome is what a call led to.
type Outcome[R any] struct {
	Record       R              // as of the call's own revision, after all steps of `then`
	Events       []driver.Event // the event of the call and those of its `then` steps
	Replayed     bool           // the request was known: nothing was written now; also when the answer to this call's own commit was lost and found again by its request id
	RecordOnly   bool           // the call was recorded and changed nothing else
	Existing     bool           // a creation found the record by `dedupe_by`: nothing was written
	Current      driver.Ref     // id and revision now; differs from Record only for a replay
	CurrentState string         // the state now, by its name in the specification

	ref    driver.Ref
	stored *driver.Row // Record as the store has it
}

// storedRow returns what the store had of the record, if the target knows it.
func (o Outcome[R]) storedRow() *driver.Row { return o.stored }

// Held returns the record, for an operation that is given the outcome.
func (o Outcome[R]) Held() R { return o.Record }

// Ref returns id and revision of the record, so that an Outcome is a Target. One that a test
// makes by hand needs its Record alone.
func (o Outcome[R]) Ref() driver.Ref {
	if o.ref == (driver.Ref{}) {
		if at, ok := any(o.Record).(fsmimpl.Target); ok {
			return at.Ref()
		}
	}
	return o.ref
}
