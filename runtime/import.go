package fsm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Import takes over a record that exists elsewhere, such as a row of an older table, in
// the state that it is in there. The log begins with the event "__import", whose actor
// and reason say who imported it and why, and whose image holds it. Import asks what
// holds for a record of that state (types, presence, invariants, unique rules), and
// refuses with ErrInvalidInput, ErrInvariant or ErrNotUnique. It asks no guard, asks for no
// effect and takes no step: what an operation would have done has been done elsewhere. From then
// on the record is one like any other, also for sweepers and workers; HoldDeadlines keeps a sweep
// from deadlines that are long past. Package adopt imports many records, and says beforehand which fit.
//
// The revision of rec does not matter: the record begins at 1. Zero times become that of the
// call; an empty ID is made. Within one request id an Import that is made again is a replay.
// Import can be part of Batch, which imports many rows in one transaction.
func (m *Machine[R]) Import(ctx context.Context, rec R, c Call) (Outcome[R], error) {
	call, _ := m.importing(rec, fsmimpl.Caller(c))
	return m.Create(ctx, call)
}

// importing makes the call that imports a record, and returns the row that it brings.
func (m *Machine[R]) importing(rec R, c fsmimpl.Caller) (fsmimpl.Call[R], driver.Row) {
	row := m.d.Encode(&rec)
	op := &fsmimpl.Operation[R]{
		Name: driver.OpImport, Stored: driver.OpImport, Event: driver.OpImport,
		By: fsmimpl.ByOperator, Creates: true, NeedActor: true,
	}
	return fsmimpl.Call[R]{
		Operation: op, Caller: c, ID: row.ID, Inputs: m.asInputs(&row),
		Decide: func(r *R, id string, _ []int64, now time.Time) (fsmimpl.Step, error) {
			made := row
			made.ID, made.Rev = id, 1
			rec, broken := m.imported(op, &made, now)
			if len(broken) > 0 {
				return fsmimpl.Step{}, broken[0]
			}
			*r = rec
			return fsmimpl.Step{To: made.State}, nil
		},
	}, row
}

// asInputs returns what an import brings, so that its fingerprint covers it.
func (m *Machine[R]) asInputs(row *driver.Row) []driver.Input {
	list := []driver.Input{
		{Name: "state", Kind: driver.KindString, Value: row.State},
		{Name: "created_at", Kind: driver.KindTime, Value: row.CreatedAt},
		{Name: "updated_at", Kind: driver.KindTime, Value: row.UpdatedAt},
	}
	for i := range m.schema.Columns {
		c := &m.schema.Columns[i]
		list = append(list, driver.Input{Name: c.Name, Kind: c.Kind, Value: row.Values[i]})
	}
	return list
}

// imported makes the record of a row that comes from elsewhere. For one that no operation
// could have left in its state, it returns each value that cannot be, or else what the record breaks.
func (m *Machine[R]) imported(op *fsmimpl.Operation[R], row *driver.Row, now time.Time) (rec R, wrong []*Refusal) {
	invalid := func(name, format string, args ...any) {
		r := m.refusal(ErrInvalidInput, op, row.ID, "")
		r.Name, r.Message = name, fmt.Sprintf(format, args...)
		wrong = append(wrong, r)
	}
	if !m.schema.Knows(row.State) {
		invalid("state", "the machine has no state %q", row.State)
	}
	for _, at := range []*time.Time{&row.CreatedAt, &row.UpdatedAt} {
		if at.IsZero() {
			*at = now
		}
		*at = driver.Time(*at)
	}
	switch {
	case !fsmimpl.InYears(row.CreatedAt):
		invalid("created_at", "%v is outside the years 1 to 9999", row.CreatedAt)
	case row.UpdatedAt.Before(row.CreatedAt):
		invalid("updated_at", "%v is before created_at, %v", row.UpdatedAt, row.CreatedAt)
	case row.UpdatedAt.After(now):
		invalid("updated_at", "%v is after the time of the import, %v", row.UpdatedAt, now)
	}
	values := make([]any, len(row.Values))
	for i, v := range row.Values {
		c := &m.schema.Columns[i]
		if t, ok := v.(time.Time); ok {
			v = driver.Time(t)
		}
		if err := check(c, v); err != nil {
			invalid(c.Name, "%v", err)
		}
		values[i] = v
	}
	row.Values = values
	if len(wrong) > 0 {
		return rec, wrong
	}
	rec, err := m.d.Decode(*row)
	if err != nil {
		invalid("", "%v", err)
	} else if broken := m.broken(&rec); broken != nil {
		r := m.refusal(ErrInvariant, op, row.ID, row.State)
		r.Name = strings.Join(broken, ", ")
		wrong = append(wrong, r)
	}
	return rec, wrong
}

// check looks at a value as the inputs of operations are looked at.
func check(c *driver.Column, v any) error {
	switch v := v.(type) {
	case time.Time: // zero where it may be absent is a slip, too
		return fsmimpl.CheckTime(v)
	case string:
		switch {
		case c.Kind == driver.KindString && !c.Optional:
			return fsmimpl.CheckText(v)
		case c.Kind == driver.KindSet:
			var s driver.Set
			if err := s.UnmarshalJSON([]byte(v)); err != nil {
				return err
			}
			return driver.CheckSet(s)
		}
	case int64:
		if c.Kind == driver.KindSequence && v < 1 {
			return fmt.Errorf("it is %d; sequences begin at 1", v)
		}
	}
	return nil
}
