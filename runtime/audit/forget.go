package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// ForgetOptions say what Forget removes.
type ForgetOptions struct {
	Before time.Time // what is left of records that were purged before it; required
	Limit  int       // tries at most so many records; 0: all
}

// Forget removes what Purge left of records, each in a transaction of its own, and
// returns of how many. Nothing is left of them then, which gives up what Purge
// keeps: their ids and request ids can be used again, so a late retry is applied
// as new or finds no record, and neither an audit nor the log knows that they were
// there, or who removed them. Choose a time before which nobody retries any more.
// Who is interrupted calls it again.
//
// Where the audit follows a projection, what is left of a record stays while its
// group has records: without it the audit would take their steps for wrong. It
// goes with the last one of them.
func Forget[R any](ctx context.Context, on Machine[R], o ForgetOptions) (int, error) {
	m := of(on)
	if o.Before.IsZero() {
		r := refusal(m.Engine, fsm.ErrInvalidInput, "", "")
		r.Name, r.Message = "before", "Forget needs the time before which the records were purged"
		return 0, r
	}
	if p := m.Descriptor.Projection; p != nil && len(p.Moves) > 0 {
		return m.forgetGroups(ctx, &o)
	}
	return m.forgetMarks(ctx, &o, func(*driver.Event) bool { return true })
}

// forgetMarks forgets the records whose mark fits.
func (m *machine[R]) forgetMarks(ctx context.Context, o *ForgetOptions, fits func(mark *driver.Event) bool) (int, error) {
	removed, tried := 0, 0
	for after := ""; ; {
		marks, err := m.tombstones(ctx, after, o.Before)
		if err != nil {
			return removed, err
		}
		for i := range marks {
			after = marks[i].ID
			if !fits(&marks[i]) {
				continue
			}
			if o.Limit > 0 && tried == o.Limit {
				return removed, nil
			}
			tried++
			gone, err := m.forgetOne(ctx, &marks[i], o.Before)
			if err != nil {
				return removed, err
			}
			if gone {
				removed++
			}
		}
		if len(marks) < inspect.PageSize {
			return removed, nil
		}
	}
}

func (m *machine[R]) tombstones(ctx context.Context, after string, before time.Time) (marks []driver.Event, err error) {
	err = m.Table.View(ctx, func(r driver.Reader) error {
		var err error
		marks, err = r.Tombstones(after, before, inspect.PageSize)
		return err
	})
	return marks, err
}

func (m *machine[R]) forgetOne(ctx context.Context, mark *driver.Event, before time.Time) (gone bool, err error) {
	u := inspect.Work{Name: "forget", ID: mark.ID, RequestID: ""}
	u.Try = func(tx driver.Tx) (err error) {
		gone, err = tx.Forget(mark.ID, before)
		return err
	}
	u.Find = func(r driver.Reader) (bool, error) {
		gone = true
		for e, err := range r.Events(mark.ID, 0) {
			gone = err == nil && e.RequestID != mark.RequestID
			return gone, err
		}
		return gone, nil
	}
	return gone, m.Run(ctx, u)
}

// forgetGroups forgets the records of the groups that have no record any more, and
// never had one that moved on to another group.
func (m *machine[R]) forgetGroups(ctx context.Context, o *ForgetOptions) (int, error) {
	alive := map[uint64]bool{}
	for row, err := range inspect.Rows(ctx, m.Table, driver.Query{}) {
		if err != nil {
			return 0, err
		}
		if err := m.groupsOf(ctx, &row, alive); err != nil {
			return 0, err
		}
	}
	return m.forgetMarks(ctx, o, func(mark *driver.Event) bool {
		inputs, _ := mark.Inputs.Members()
		n, said := numberOf(inputs["group"])
		return said && !alive[n]
	})
}

// groupsOf notes the groups that a record is or was in.
func (m *machine[R]) groupsOf(ctx context.Context, row *driver.Row, groups map[uint64]bool) error {
	note := func(row *driver.Row) error {
		key, err := m.Descriptor.Projection.Group(m.Schema, row)
		if err == nil {
			groups[groupNumber(key)] = true
		}
		return err
	}
	if err := note(row); err != nil {
		return err
	}
	return m.Table.View(ctx, func(r driver.Reader) error {
		var folded driver.Row
		for e, err := range r.Events(row.ID, 0) {
			if err == nil {
				err = folded.Fold(m.Schema, &e)
			}
			if err == nil {
				err = note(&folded)
			}
			if err != nil {
				return errors.Join(fmt.Errorf("forget %s: the log of %q does not tell its groups", m.Schema.Machine, row.ID), err)
			}
		}
		return nil
	})
}
