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
// on the record is one like any other, also for sweepers and workers.
//
// The revision of rec does not matter: the record begins at 1. Zero times become that of the
// call; an empty ID is made. Within one request id an Import that is made again is a replay.
// Import can be part of Batch, which imports many rows in one transaction.
func (m *Machine[R]) Import(ctx context.Context, rec R, c Call) (Outcome[R], error) {
	row := m.d.Encode(&rec)
	op := &fsmimpl.Operation[R]{
		Name: driver.OpImport, Stored: driver.OpImport, Event: driver.OpImport,
		By: fsmimpl.ByOperator, Creates: true, NeedActor: true,
	}
	return m.Create(ctx, fsmimpl.Call[R]{
		Operation: op, Caller: fsmimpl.Caller(c), ID: row.ID, Inputs: m.asInputs(&row),
		Decide: func(r *R, id string, _ []int64, now time.Time) (fsmimpl.Step, error) {
			made := row
			made.ID, made.Rev = id, 1
			var err error
			*r, err = m.imported(op, &made, now)
			return fsmimpl.Step{To: made.State}, err
		},
	})
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

// imported makes the record of a row that comes from elsewhere, and refuses one that no
// operation could have left in its state.
func (m *Machine[R]) imported(op *fsmimpl.Operation[R], row *driver.Row, now time.Time) (R, error) {
	var none R
	invalid := func(name, format string, args ...any) (R, error) {
		r := m.refusal(ErrInvalidInput, op, row.ID, "")
		r.Name, r.Message = name, fmt.Sprintf(format, args...)
		return none, r
	}
	if !m.schema.Knows(row.State) {
		return invalid("state", "the machine has no state %q", row.State)
	}
	for _, at := range []*time.Time{&row.CreatedAt, &row.UpdatedAt} {
		if at.IsZero() {
			*at = now
		}
		*at = driver.Time(*at)
	}
	switch {
	case !fsmimpl.InYears(row.CreatedAt):
		return invalid("created_at", "%v is outside the years 1 to 9999", row.CreatedAt)
	case row.UpdatedAt.Before(row.CreatedAt):
		return invalid("updated_at", "%v is before created_at, %v", row.UpdatedAt, row.CreatedAt)
	case row.UpdatedAt.After(now):
		return invalid("updated_at", "%v is after the time of the import, %v", row.UpdatedAt, now)
	}
	values := make([]any, len(row.Values))
	for i, v := range row.Values {
		c := &m.schema.Columns[i]
		if t, ok := v.(time.Time); ok {
			v = driver.Time(t)
		}
		if err := check(c, v); err != nil {
			return invalid(c.Name, "%v", err)
		}
		values[i] = v
	}
	row.Values = values
	rec, err := m.d.Decode(*row)
	if err != nil {
		return invalid("", "%v", err)
	}
	if broken := m.broken(&rec); broken != nil {
		r := m.refusal(ErrInvariant, op, row.ID, row.State)
		r.Name = strings.Join(broken, ", ")
		return none, r
	}
	return rec, nil
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
