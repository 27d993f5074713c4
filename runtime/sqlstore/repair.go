package sqlstore

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Restore puts a row in the place of what is stored under its id. The triggers of the
// schema let it pass. It needs the rights of the tables' owner.
func (x *txn) Restore(row *driver.Row, e *driver.Event) error {
	w := &driver.Write{Prev: row.Ref(), PrevState: row.State, Row: row, Event: *e}
	x.last = w
	if err := x.t.fits(w); err != nil {
		return err
	}
	ruled := len(x.t.schema.Uniques) > 0 // any place: the row that is stored may be in any
	if err := x.reserveAs(ruled, ruled, w); err != nil {
		return err
	}
	err := x.t.dialect.unguarded(x.ctx, txQuerier{x.tx, 0}, x.t, func() error {
		n, err := x.replace(row)
		if err != nil || n > 0 {
			return err
		}
		return x.insert(w, 0)
	})
	if err == nil {
		err = x.showAll()
	}
	if err != nil {
		return x.repairFault(err)
	}
	w.Row = nil
	err = x.record(w)
	e.N = w.Event.N
	return err
}

// replace changes a stored row in place: rows of others that refer to it must not
// go with it.
func (x *txn) replace(row *driver.Row) (int64, error) {
	return x.change(x.t.text("restore"), x.rowArgs(row)...)
}

// repairFault gives an error of the database the words of the engine.
func (x *txn) repairFault(err error) error {
	if x.err != nil {
		return x.err
	}
	if x.t.dialect.failure(err) == failOpen {
		return err
	}
	return x.t.fault("repair", err)
}

// Purge removes a finished record in the order that the schema allows: the mark in
// the log, the row, the events.
func (x *txn) Purge(w *driver.Write) (bool, error) {
	x.last = w
	id := w.Prev.ID
	waiting, err := x.found(x.t.text("waiting"), id)
	if err != nil || waiting {
		return false, err
	}
	if err := x.record(w); err != nil {
		return false, err
	}
	n, err := x.change(x.t.text("purge_row"), id, w.Prev.Rev, w.PrevState)
	if err == nil && n != 1 {
		return false, driver.ErrMoved
	}
	if err == nil {
		_, err = x.change(x.t.text("purge_events"), id)
	}
	if err == nil {
		_, err = x.change(x.t.text("purge_contents"), id)
	}
	if err != nil {
		return false, x.repairFault(fmt.Errorf("purge %q: %w", id, err))
	}
	return true, nil
}

// Tombstones returns the marks of records that were purged before a time.
func (r *reader) Tombstones(after string, before time.Time, limit int) ([]driver.Event, error) {
	return r.events(r.t.text("tombstones"), after, r.t.bind(before), unlimited(limit))
}

// Forget removes what is left of a purged record in the order that the schema
// allows: the mark says so, the other events, the mark.
func (x *txn) Forget(id string, before time.Time) (bool, error) {
	x.last = &driver.Write{Prev: driver.Ref{ID: id}, Event: driver.Event{ID: id}}
	n, err := x.change(x.t.text("forget_mark"), id, x.t.bind(before))
	if err == nil && n == 0 {
		return false, nil
	}
	if err == nil {
		_, err = x.change(x.t.text("forget_others"), id)
	}
	if err == nil {
		_, err = x.change(x.t.text("forget_last"), id)
	}
	if err != nil {
		return false, x.repairFault(fmt.Errorf("forget %q: %w", id, err))
	}
	return true, nil
}

// Redact puts events with other contents in their places and makes a write. The triggers
// of the schema let it pass. It needs the rights of the tables' owner.
func (x *txn) Redact(w *driver.Write, edited []driver.Event) (bool, error) {
	x.last = w
	if err := x.t.fits(w); err != nil {
		return false, err
	}
	waiting, err := x.found(x.t.text("waiting"), w.Prev.ID)
	if err != nil || waiting {
		return waiting, err
	}
	q := txQuerier{x.tx, 0}
	if shred := x.t.dialect.shred(); shred != "" {
		if _, err := q.exec(x.ctx, shred); err != nil {
			return false, x.repairFault(err)
		}
	}
	err = x.t.dialect.unguarded(x.ctx, q, x.t, func() error { return x.erase(w, edited) })
	if err == nil {
		err = x.showAll()
	}
	if err != nil {
		return false, x.repairFault(err)
	}
	return false, nil
}

// erase makes the writes of a redaction.
func (x *txn) erase(w *driver.Write, edited []driver.Event) error {
	for i := range edited {
		if err := x.edit(&edited[i]); err != nil {
			return err
		}
	}
	if _, err := x.change(x.t.text("unchain"), w.Prev.ID); err != nil {
		return err // that of the log is another one now
	}
	return x.write(w)
}

// edit puts an event with other contents in its place.
func (x *txn) edit(e *driver.Event) error {
	var args []any
	for i := range eventColumns {
		if c := &eventColumns[i]; c.redacted {
			args = append(args, x.t.bind(c.value(e)))
		}
	}
	n, err := x.change(x.t.text("edit"), append(args, int64(e.Chain), e.ID, e.Rev, e.N)...)
	if err == nil && n != 1 {
		err = driver.ErrMoved
	}
	return err
}
