package fsm

import (
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// known looks a request up: in the record's log, or in the machine's with an
// empty id. It returns the outcomes of the request, nil when it is unknown, and
// a refusal when its id belongs to another request.
func (m *Machine[R]) known(r driver.Reader, q *request[R], id, requestID string) ([]Outcome[R], error) {
	if requestID == "" {
		return nil, nil
	}
	events, err := r.Request(id, requestID)
	if err != nil {
		return nil, err
	}
	var outs []Outcome[R]
	for i := range events {
		e := &events[i]
		same := sameRequest(e, q)
		if e.Operation == driver.OpPurged && same {
			return nil, m.refusal(ErrPurged, q.op, e.ID, "")
		}
		if !same || q.Call.ID != "" && q.Call.ID != e.ID {
			reused := m.refusal(ErrRequestReused, q.op, e.ID, "")
			reused.Message = fmt.Sprintf("%q stands at revision %d for operation %s", requestID, e.Rev, m.operationName(e.Operation))
			return nil, reused
		}
		out, err := m.replay(r, e)
		if err != nil {
			return nil, err
		}
		out.Replayed = !q.own
		outs = append(outs, out)
	}
	return outs, nil
}

// operationName returns the specification's name of a stored operation.
func (m *Machine[R]) operationName(stored string) string {
	if op := m.byStored[stored]; op != nil {
		return op.Name
	}
	return stored
}

// replay makes the outcome of an event and of the steps of `then` that were
// taken in its transaction: the record as of the last of them, whatever has
// happened since.
func (m *Machine[R]) replay(r driver.Reader, first *driver.Event) (Outcome[R], error) {
	var out Outcome[R]
	row, events, err := inspect.RowAt(m.schema, r, first.ID, first.Rev, first)
	if err != nil {
		return out, err
	}
	rec, err := m.d.Decode(row)
	if err != nil {
		refused := m.refusal(ErrQuarantined, nil, row.ID, row.State)
		refused.Cause = err
		return out, refused
	}
	current, err := r.Row(first.ID)
	if err != nil {
		return out, err
	}
	for i := range events {
		events[i].Chain = 0 // as in the first outcome, which the store had not written yet
	}
	out = m.outcome(rec, &row, events...)
	out.Current, out.CurrentState = current.Ref(), m.schema.StateName(current.State)
	return out, nil
}
