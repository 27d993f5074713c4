package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// PurgeOptions say which records Purge removes.
type PurgeOptions struct {
	Before time.Time // those whose updated_at is before it; required
	States []string  // names of terminal or final states; nil: all of them
	IDs    []string  // only these, at most 1 000; nil: all
	Limit  int       // tries at most so many, removed or not; 0: all
	Behind *string   // goes on behind that id, and says where it ended: empty when none is left; nil: from the first
	Actor  string    // who asks for it; required, and logged
	Reason string    // why; required, and logged
}

// Purge removes records that are finished (terminal, or final) with their logs,
// each in a transaction of its own, and returns how many. Of each one the log
// keeps who removed it, when and why, and, emptied, the events that its creation
// and its picks left: their ids and request ids are not used again, a late retry
// is refused with ErrPurged. A record with an effect that is still to be
// delivered stays. So does one that is quarantined, and one that the database keeps,
// such as for a foreign key or a trigger of yours: these are told in the error
// at the end, and keep no other record from being removed. Where several stay for one
// reason, one *fsm.RecordsError tells of all.
//
// With a Limit and Behind, each call goes on behind those that the last one tried:
//
//	o.Limit, o.Behind = 100, new(string)
//	n, err := audit.Purge(ctx, jobs, o)
//	for *o.Behind != "" {
//		n, err = audit.Purge(ctx, jobs, o)
//	}
//
// What a record kept others from, its going no longer keeps them from: the
// places that unique rules and dedupe_by gave to it are free. Where such a rule
// says that something happens once, remove what it is about together with it, or
// never.
func Purge[R any](ctx context.Context, on Machine[R], o PurgeOptions) (int, error) {
	m := of(on)
	states, err := m.purgeable(&o)
	if err != nil {
		return 0, err
	}
	old := driver.Cond{Column: "updated_at", Op: driver.OpLt, Value: driver.Time(o.Before)}
	query := driver.Query{IDs: o.IDs, States: states, Where: []driver.Cond{old}}
	behind := o.Behind
	if behind == nil {
		behind = new(string)
	}
	query.After = *behind
	removed, tried := 0, 0
	var failed inspect.Failures
	for row, err := range inspect.Rows(ctx, m.Table, query) {
		if err != nil {
			return removed, failed.Join(err)
		}
		if o.Limit > 0 && tried == o.Limit {
			return removed, failed.Join()
		}
		gone, err := m.purgeOne(ctx, &row, &o)
		if err != nil && !ofRecord(err) {
			return removed, failed.Join(err)
		}
		if err != nil {
			failed.Add(err.(*fsm.Refusal).Code, row.ID, err) //nolint:errorlint // ofRecord says that it is one
		}
		if gone {
			removed++
		}
		tried++
		*behind = row.ID
	}
	*behind = ""
	return removed, failed.Join()
}

// purgeable checks the options and returns the stored words of the states.
func (m *machine[R]) purgeable(o *PurgeOptions) ([]string, error) {
	invalid := func(name, message string) error {
		r := refusal(m.Engine, fsm.ErrInvalidInput, "", "")
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
	for i := range m.Schema.States {
		st := &m.Schema.States[i]
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
func (m *machine[R]) operator(actor, reason, id string) error {
	switch {
	case actor == "":
		return refusal(m.Engine, fsm.ErrActorMissing, id, "")
	case actor == driver.SystemActor:
		return refusal(m.Engine, fsm.ErrSystemActor, id, "")
	case reason == "":
		return refusal(m.Engine, fsm.ErrReasonMissing, id, "")
	}
	if err := errors.Join(driver.CheckID(actor), driver.CheckText(reason)); err != nil {
		r := refusal(m.Engine, fsm.ErrInvalidInput, id, "")
		r.Name, r.Message = "actor or reason", err.Error()
		return r
	}
	return nil
}

func (m *machine[R]) purgeOne(ctx context.Context, row *driver.Row, o *PurgeOptions) (gone bool, err error) {
	if _, err := m.Load(row); err != nil {
		return false, err
	}
	e := m.record(driver.OpPurge, row, o.Actor, o.Reason)
	e.RequestID = fmt.Sprintf("%s%s:%d", driver.Reserved, driver.OpPurge, row.Rev)
	if e.Inputs, err = m.purgedFrom(row); err != nil {
		return false, err
	}
	e.Sum = driver.Checksum(&e)
	w := driver.Write{Prev: row.Ref(), PrevState: row.State, Event: e}
	u := inspect.Work{Name: "purge", ID: row.ID, RequestID: e.RequestID}
	u.Try = func(tx driver.Tx) error {
		now, err := tx.Row(row.ID)
		if errors.Is(err, driver.ErrNotFound) || err == nil && now.Ref() != row.Ref() {
			gone = false
			return nil // somebody else was there, or it was taken up again
		}
		if err != nil {
			return err
		}
		again := w
		gone, err = tx.Purge(&again)
		return err
	}
	u.Find = func(r driver.Reader) (bool, error) {
		var err error
		gone, err = inspect.WasPurged(r, row.ID)
		return gone, err
	}
	err = m.Run(ctx, u)
	if r := (*fsm.Refusal)(nil); errors.As(err, &r) && r.ID == "" {
		r.ID, r.Operation = row.ID, u.Name
	}
	return gone, err
}

// purgedFrom makes the inputs of a purge. The audit must know from which group of
// the projection a record is missing: a number tells that, which tells nothing
// of the record.
func (m *machine[R]) purgedFrom(row *driver.Row) (driver.JSON, error) {
	if m.Descriptor.Projection == nil {
		return driver.RawJSON("{}"), nil
	}
	group, err := m.Descriptor.Projection.Group(m.Schema, row)
	if err != nil {
		return driver.JSON{}, err
	}
	return driver.RawJSON(`{"group":"` + numberText(groupNumber(group)) + `"}`), nil
}

// record makes a record-only event that no operation makes.
func (m *machine[R]) record(operation string, row *driver.Row, actor, reason string) driver.Event {
	return driver.Event{
		ID: row.ID, Rev: row.Rev, Operation: operation, Name: operation, From: row.State, To: row.State,
		At: m.Now(), Actor: actor, Reason: reason, RequestN: -1, Inputs: driver.RawJSON("{}"), Changes: driver.RawJSON("{}"), Version: m.Schema.Version,
	}
}

// missing refuses a write on a record that is not there: whoever asks again after
// a purge hears that, and not that there never was one.
func (m *machine[R]) missing(r driver.Reader, id string) error {
	purged, err := inspect.WasPurged(r, id)
	switch {
	case err != nil:
		return err
	case purged:
		return refusal(m.Engine, fsm.ErrPurged, id, "")
	}
	return refusal(m.Engine, fsm.ErrNotFound, id, "")
}
