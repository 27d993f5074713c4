package sqlstore

import (
	"fmt"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

var _ fsm.Mender = (*txn)(nil)

// Restore puts a row in the place of what is stored under its id, with the
// triggers of the table out of the way. It needs the rights of the table's owner.
func (x *txn) Restore(row *fsm.Row, e *fsm.Event) error {
	w := &fsm.Write{Prev: row.Ref(), PrevState: row.State, Row: row, Event: *e}
	x.last = w
	if err := x.t.fits(w); err != nil {
		return err
	}
	err := x.t.dialect.unguarded(x.ctx, txQuerier{x.tx, patience(0)}, x.t.schema.Table, func() error {
		if _, err := x.change(x.t.statement(`DELETE FROM %s WHERE "id" = ?`, x.t.name), row.ID); err != nil {
			return err
		}
		return x.insert(w)
	})
	if err != nil {
		return x.mendFault(err)
	}
	w.Row = nil
	err = x.record(w)
	e.N = w.Event.N
	return err
}

// mendFault gives an error of the database the words of the engine.
func (x *txn) mendFault(err error) error {
	if x.err != nil {
		return x.err
	}
	if x.t.dialect.failure(err) == failOpen {
		return err
	}
	return x.t.fault("mend", err)
}

// Bury removes a finished record in the order that the schema allows: the mark in
// the log, the row, the events.
func (x *txn) Bury(w *fsm.Write) (bool, error) {
	x.last = w
	id := w.Prev.ID
	waiting, err := x.found(x.t.statement(`SELECT 1 FROM %s WHERE "id" = ?`, x.t.part("_outbox")), id)
	if err != nil || waiting {
		return false, err
	}
	if err := x.record(w); err != nil {
		return false, err
	}
	events := x.t.part("_events")
	n, err := x.change(x.t.statement(`DELETE FROM %s WHERE "id" = ? AND "rev" = ? AND "state" = ?`, x.t.name), id, w.Prev.Rev, w.PrevState)
	if err == nil && n != 1 {
		return false, fsm.ErrMoved
	}
	if err == nil {
		_, err = x.change(x.t.statement(`DELETE FROM %s WHERE "id" = ? AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0)`, events), id)
	}
	if err == nil {
		_, err = x.change(x.t.statement(`UPDATE %s SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL,
			"inputs" = NULL, "changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "sum" = 0, "chain" = 0
			WHERE "id" = ? AND "operation" <> '__purge'`, events), id)
	}
	if err != nil {
		return false, x.mendFault(fmt.Errorf("bury %q: %w", id, err))
	}
	return true, nil
}
