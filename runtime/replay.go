package fsm

import (
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
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
		// What a request brought cannot be compared after a redaction.
		same := e.Fingerprint == q.fingerprint || e.Redacted() && (e.Operation == q.op.Stored || e.Operation == driver.OpPurged)
		if e.Operation == driver.OpPurged && same {
			return nil, m.refusal(CodePurged, q.op, e.ID, "")
		}
		if !same || q.Call.ID != "" && q.Call.ID != e.ID {
			reused := m.refusal(CodeRequestReused, q.op, e.ID, "")
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
	row, events, err := m.rowAt(r, first.ID, first.Rev, first)
	if err != nil {
		return out, err
	}
	rec, err := m.d.Decode(row)
	if err != nil {
		refused := m.refusal(CodeQuarantined, nil, row.ID, row.State)
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

// rowAt folds the row as of revision rev. With first, the event of that
// revision which a request led to, it goes on over the steps that followed in
// its transaction, and returns first and them.
func (m *Machine[R]) rowAt(r driver.Reader, id string, rev int64, first *driver.Event) (driver.Row, []driver.Event, error) {
	from := max(1, rev-rev%driver.ImageEvery)
	for {
		row, events, err := m.foldFrom(r, id, from, rev, first)
		if err == nil || from == 1 {
			return row, events, err
		}
		from = 1 // the log may have come from somewhere without images, or from a program that does not know all fields
	}
}

func (m *Machine[R]) foldFrom(r driver.Reader, id string, from, rev int64, first *driver.Event) (row driver.Row, chain []driver.Event, err error) {
	if first != nil {
		chain = []driver.Event{*first}
	}
	for e, err := range r.Events(id, from) {
		if err != nil {
			return row, nil, err
		}
		if e.Rev > rev || first != nil && e.Rev == rev && e.N > first.N {
			if first == nil || e.RequestID != "" { // a step of `then` has none in the transaction of what it follows
				break
			}
			chain = append(chain, e)
		}
		if row.Rev == 0 && from > 1 && e.Partial(m.schema) {
			return row, nil, errPartial
		}
		if err := row.Fold(m.schema, &e); err != nil {
			return row, nil, fmt.Errorf("fold %s %q at revision %d: %w", m.schema.Machine, id, e.Rev, err)
		}
	}
	if row.Rev < rev {
		return row, nil, fmt.Errorf("fold %s %q: the log ends at revision %d, before %d: %w",
			m.schema.Machine, id, row.Rev, rev, errLogShort)
	}
	return row, chain, nil
}

var (
	errLogShort = errors.New("the log is too short")
	errPartial  = errors.New("the image does not hold all fields")
)
