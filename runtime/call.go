package fsm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Call says who makes a call, and why. All of it stands in the event.
type Call struct {
	// RequestID names the request, so that the same call made again replays. Whether it
	// has to be there, the specification says (`requests:`). It must not begin with "sys:".
	RequestID string
	// Actor is who asks. An operation that the specification gives to the system takes none.
	Actor string
	// Reason is why. An operator has to give one.
	Reason string
	// At is when. The zero time is the machine's clock; another one is refused with
	// ErrTimeGiven, unless the machine was opened with WithCallerTime.
	At time.Time
	// Labels are kept with the event; no rule reads them.
	Labels map[string]string
}

// request is one call on its way through the engine.
type request[R any] struct {
	fsmimpl.Call[R]
	op          *fsmimpl.Operation[R]
	at          time.Time
	fingerprint string
	inputs      driver.JSON
	begun       time.Time // when the call was made
	engine      bool      // a sweep makes it, as of its own time
	own         bool      // RequestID is new: nobody can have used it before
	worker      bool      // a worker's claim: it does not wait for records that others hold
	among       bool      // one of several calls in a transaction
	cause       string    // the effect of another machine that asks for it
	tried       int64     // the revision of an earlier try, where the caller named none
}

// prepare checks what can be checked of a call without a record. A call of the engine
// itself is one of a sweep.
func (m *Machine[R]) prepare(c fsmimpl.Call[R], id string, engine bool) (*request[R], error) {
	op := c.Operation
	if op == nil || m.byName[op.Name] != op && op.Stored != driver.OpImport {
		return nil, errors.New("the call's operation is not one of this machine")
	}
	q := &request[R]{Call: c, op: op, engine: engine, begun: m.now()}
	invalid := func(name, format string, args ...any) error {
		r := m.refusal(ErrInvalidInput, op, id, "")
		r.Name, r.Message = name, fmt.Sprintf(format, args...)
		return r
	}
	if id != "" {
		if err := driver.CheckID(id); err != nil {
			return nil, invalid("id", "%v", err)
		}
	}
	switch {
	case op.By == fsmimpl.BySystem:
		if c.RequestID != "" {
			return nil, invalid("request_id", "a system operation gets its own")
		}
		if c.Actor != "" && c.Actor != driver.SystemActor {
			return nil, invalid("actor", "the system runs the operation, so nobody else does")
		}
		q.Actor = driver.SystemActor
	case c.RequestID == "" && !engine && m.schema.RequestID == driver.Required:
		return nil, m.refusal(ErrRequestMissing, op, id, "")
	case c.RequestID != "" && m.schema.RequestID == driver.Never:
		return nil, invalid("request_id", "this machine takes none")
	case strings.HasPrefix(c.RequestID, driver.Reserved):
		return nil, invalid("request_id", "%q begins with %q, which is reserved", c.RequestID, driver.Reserved)
	case c.RequestID != "":
		if err := driver.CheckID(c.RequestID); err != nil {
			return nil, invalid("request_id", "%v", err)
		}
	}
	switch {
	case op.By != fsmimpl.BySystem && q.Actor == driver.SystemActor:
		return nil, m.refusal(ErrSystemActor, op, id, "")
	case !c.At.IsZero() && !engine && !m.options.callerTime:
		return nil, m.refusal(ErrTimeGiven, op, id, "")
	}
	if q.Actor == "" && op.NeedActor {
		return nil, m.refusal(ErrActorMissing, op, id, "")
	}
	if engine {
		q.Actor = driver.SystemActor // a sweep is the system's, of a caller's operation too
	}
	if q.Actor != "" {
		if err := driver.CheckID(q.Actor); err != nil {
			return nil, invalid("actor", "%v", err)
		}
	}
	if q.Reason == "" && op.By == fsmimpl.ByOperator {
		return nil, m.refusal(ErrReasonMissing, op, id, "")
	}
	if err := driver.CheckText(q.Reason); err != nil {
		return nil, invalid("reason", "%v", err)
	}
	size := driver.TextSize(q.Reason)
	for k, v := range q.Labels {
		if err := errors.Join(driver.CheckText(k), driver.CheckText(v)); err != nil {
			return nil, invalid("labels", "%q: %v", k, err)
		}
		size += driver.TextSize(k) + driver.TextSize(v)
	}
	if q.at = driver.Time(c.At); c.At.IsZero() {
		q.at = q.begun
	}
	if limit := m.now().Add(maxAhead); q.at.After(limit) && !c.At.IsZero() && !engine {
		return nil, invalid("at", "%v is more than %v after the machine's clock; is the clock of the caller right?", q.at, maxAhead)
	}
	if y := q.at.Year(); y < 1 || y > 9999 {
		return nil, invalid("at", "the year %d is not in 1 to 9999", y)
	}
	var err error
	if q.inputs, err = driver.InputObject(c.Inputs); err != nil {
		return nil, m.badInput(err, op, id)
	}
	if size += len(q.inputs.String()); size > m.options.most {
		return nil, m.oversize(op, id, "", "it has %d bytes, at most %d are possible", size, m.options.most)
	}
	q.fingerprint, err = driver.Fingerprint(op.Stored, q.Actor, q.Reason, c.Inputs)
	return q, err
}

// tick gives a call that names no time that of now: when it is decided, not when
// it began to wait. So no event lies before what it was decided on.
func (m *Machine[R]) tick(q *request[R]) {
	if q.At.IsZero() {
		q.at = m.now()
	}
}

// ownID gives the request an id that finds it again after a lost answer.
func (q *request[R]) ownID() {
	q.RequestID, q.own = driver.Reserved+"call:"+driver.NewID(), true
}

// systemID returns the request id of a system operation, or of a trigger's call, at
// a revision: the same for everybody who runs it there, so that they converge.
func systemID[R any](op *fsmimpl.Operation[R], rev int64) string {
	return driver.Reserved + op.Stored + ":" + strconv.FormatInt(rev, 10)
}

// refusal returns a refusal of op. The state is a stored word, empty for none.
func (m *Machine[R]) refusal(code Code, op *fsmimpl.Operation[R], id, state string) *Refusal {
	r := &Refusal{Code: code, Machine: m.schema.Machine, ID: id, State: m.schema.StateName(state)}
	if op != nil {
		r.Operation = op.Name
	}
	return r
}

// load makes a record of a row and checks it. A row that breaks a MUST rule
// comes back with a refusal beside it, one that cannot be decoded without.
func (m *Machine[R]) load(op *fsmimpl.Operation[R], row *driver.Row) (R, error) {
	rec, err := m.loadSound(op, row)
	if err == nil && m.wasLoose(row.ID) {
		r := m.refusal(ErrQuarantined, op, row.ID, row.State)
		r.Message = "its log does not end at its revision and state; run an audit; Repair rebuilds the row from its log"
		return rec, r
	}
	return rec, err
}

// loadSound is load without what only the log tells.
func (m *Machine[R]) loadSound(op *fsmimpl.Operation[R], row *driver.Row) (R, error) {
	rec, err := m.d.Decode(*row)
	if err == nil {
		err = inspect.Insane(m.schema, row)
	}
	if err != nil {
		r := m.refusal(ErrQuarantined, op, row.ID, row.State)
		r.Cause = err
		return rec, r
	}
	if broken := m.broken(&rec); broken != nil {
		r := m.refusal(ErrQuarantined, op, row.ID, row.State)
		r.Message = strings.Join(broken, ", ")
		return rec, r
	}
	return rec, nil
}

// broken returns the MUST rules that a record breaks.
func (m *Machine[R]) broken(rec *R) []string {
	var broken []string
	for _, v := range m.d.Check(rec) {
		if v.Must {
			broken = append(broken, v.String())
		}
	}
	return broken
}

// suspect reports whether a record that a caller holds is not one to decide on
// without asking the store.
func (m *Machine[R]) suspect(rec *R, row *driver.Row) bool {
	return m.wasLoose(row.ID) || inspect.Insane(m.schema, row) != nil || m.broken(rec) != nil
}

// outcome makes the outcome of a call that wrote events and left row.
func (m *Machine[R]) outcome(rec R, row *driver.Row, events ...driver.Event) Outcome[R] {
	return Outcome[R]{
		Record:       rec,
		Events:       events,
		RecordOnly:   len(events) > 0 && events[0].RecordOnly(),
		Current:      row.Ref(),
		CurrentState: m.schema.StateName(row.State),
		ref:          row.Ref(),
		stored:       row,
	}
}
