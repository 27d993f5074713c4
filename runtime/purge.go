package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// PurgeOptions say which records Purge removes.
type PurgeOptions struct {
	Before time.Time // those whose updated_at is before it; required
	States []string  // names of terminal or final states; nil: all of them
	Limit  int       // at most so many; 0: all
	Actor  string    // who asks for it; required, and logged
	Reason string    // why; required, and logged
}

// Purge removes records that are finished (terminal, or final) with their logs,
// each in a transaction of its own, and returns how many. Of each one the log
// keeps who removed it, when and why, and, emptied, the events that its creation
// and its picks left: their ids and request ids are not used again, a late retry
// is refused with ErrPurged. A record with an effect that is still to be
// delivered stays, and so does one that is quarantined, which is reported in the
// error at the end.
//
// What a record kept others from, its going no longer keeps them from: the
// places that unique rules and dedupe_by gave to it are free. Where such a rule
// says that something happens once, remove what it is about together with it, or
// never.
func (m *Machine[R]) Purge(ctx context.Context, o PurgeOptions) (int, error) {
	states, err := m.purgeable(&o)
	if err != nil {
		return 0, err
	}
	query := driver.Query{States: states, Where: []driver.Cond{{Column: "updated_at", Op: driver.OpLt, Value: driver.Time(o.Before)}}}
	removed := 0
	var errs []error
	for row, err := range m.rows(ctx, query) {
		if err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
		gone, err := m.purgeOne(ctx, &row, &o)
		if err != nil {
			errs = append(errs, err)
			if !onlyQuarantined(err) {
				return removed, errors.Join(errs...)
			}
		}
		if gone {
			removed++
		}
		if o.Limit > 0 && removed == o.Limit {
			break
		}
	}
	return removed, errors.Join(errs...)
}

// purgeable checks the options and returns the stored words of the states.
func (m *Machine[R]) purgeable(o *PurgeOptions) ([]string, error) {
	invalid := func(name, message string) error {
		r := m.refusal(CodeInvalidInput, nil, "", "")
		r.Name, r.Message = name, message
		return r
	}
	if o.Before.IsZero() {
		return nil, invalid("before", "Purge needs the time before which records were touched last")
	}
	if err := m.operator(o.Actor, o.Reason, ""); err != nil {
		return nil, err
	}
	states := []string{}
	for i := range m.schema.States {
		st := &m.schema.States[i]
		named := slices.Contains(o.States, st.Name)
		switch {
		case named && !st.Terminal && !st.Final:
			return nil, invalid("states", fmt.Sprintf("%s is neither terminal nor final; only finished records are removed", st.Name))
		case named, o.States == nil && (st.Terminal || st.Final):
			states = append(states, st.Stored)
		}
	}
	if len(states) == 0 || o.States != nil && len(states) != len(o.States) {
		return nil, invalid("states", fmt.Sprintf("got %q, expected names of terminal or final states of this machine, each once", o.States))
	}
	return states, nil
}

// operator checks who does what only an operator does.
func (m *Machine[R]) operator(actor, reason, id string) error {
	switch {
	case actor == "":
		return m.refusal(CodeActorMissing, nil, id, "")
	case actor == driver.SystemActor:
		return m.refusal(CodeSystemActor, nil, id, "")
	case reason == "":
		return m.refusal(CodeReasonMissing, nil, id, "")
	}
	if err := errors.Join(driver.CheckID(actor), driver.CheckText(reason)); err != nil {
		r := m.refusal(CodeInvalidInput, nil, id, "")
		r.Name, r.Message = "actor or reason", err.Error()
		return r
	}
	return nil
}

func (m *Machine[R]) purgeOne(ctx context.Context, row *driver.Row, o *PurgeOptions) (gone bool, err error) {
	if _, err := m.load(nil, row); err != nil {
		return false, err
	}
	e := m.record(driver.OpPurge, row, o.Actor, o.Reason)
	e.RequestID = fmt.Sprintf("%s%s:%d", driver.Reserved, driver.OpPurge, row.Rev)
	if e.Inputs, err = m.purgedFrom(row); err != nil {
		return false, err
	}
	e.Sum = driver.Checksum(&e)
	w := driver.Write{Prev: row.Ref(), PrevState: row.State, Event: e}
	u := m.unit(&fsmimpl.Operation[R]{Name: "purge"}, row.ID, e.RequestID)
	u.try = func(tx driver.Tx, _ bool) error {
		repairer, ok := tx.(driver.Repairer)
		if !ok {
			return fmt.Errorf("purge %s %q: this store cannot remove records", m.schema.Machine, row.ID)
		}
		now, err := tx.Row(row.ID)
		if errors.Is(err, ErrNotFound) || err == nil && now.Ref() != row.Ref() {
			gone = false
			return nil // somebody else was there, or it was taken up again
		}
		if err != nil {
			return err
		}
		again := w
		gone, err = repairer.Purge(&again)
		return err
	}
	u.find = func(r driver.Reader) (bool, error) {
		var err error
		gone, err = wasPurged(r, row.ID)
		return gone, err
	}
	return gone, m.run(ctx, u)
}

// purgedFrom makes the inputs of a purge. The audit must know from which group of
// the projection a record is missing: a number tells that, which tells nothing
// of the record.
func (m *Machine[R]) purgedFrom(row *driver.Row) (driver.JSON, error) {
	if m.d.Projection == nil {
		return driver.RawJSON("{}"), nil
	}
	group, err := m.d.Projection.Group(m.schema, row)
	if err != nil {
		return driver.JSON{}, err
	}
	return driver.RawJSON(`{"group":"` + numberText(groupNumber(group)) + `"}`), nil
}

// record makes a record-only event that no operation makes.
func (m *Machine[R]) record(operation string, row *driver.Row, actor, reason string) driver.Event {
	return driver.Event{
		ID: row.ID, Rev: row.Rev, Operation: operation, Name: operation, From: row.State, To: row.State,
		At: m.now(), Actor: actor, Reason: reason, RequestN: -1, Inputs: driver.RawJSON("{}"), Changes: driver.RawJSON("{}"), Version: m.schema.Version,
	}
}

// missing refuses a write on a record that is not there: whoever asks again after
// a purge hears that, and not that there never was one.
func (m *Machine[R]) missing(r driver.Reader, op *fsmimpl.Operation[R], id string) error {
	purged, err := wasPurged(r, id)
	switch {
	case err != nil:
		return err
	case purged:
		return m.refusal(CodePurged, op, id, "")
	}
	return m.refusal(CodeNotFound, op, id, "")
}

// wasPurged reports whether the log of an id without a row says that its record was
// removed.
func wasPurged(r driver.Reader, id string) (bool, error) {
	for e, err := range r.Events(id, 0) {
		if err != nil {
			return false, err
		}
		if e.Operation == driver.OpPurge && e.RecordOnly() {
			return true, nil
		}
	}
	return false, nil
}
