package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// explain finds out why a write did nothing. Logged says that the event is in the
// log by now, so its request was new. After an error of the database no question is asked: the
// first one returns it.
func (x *txn) explain(w *driver.Write, cause error, logged bool) error {
	id, e := w.Prev.ID, &w.Event
	var request any
	if !logged && e.RequestID != "" {
		request = e.RequestID
	}
	why := ""
	err := x.each(x.t.text("explain_write"), []any{id, request, e.RequestN, w.Prev.Rev, w.PrevState, logged},
		func(rows Rows) error { return rows.Scan(&why) })
	switch {
	case err != nil:
		return err
	case why == "request":
		return driver.ErrRequestTaken
	case why == "id":
		return driver.ErrIDTaken
	case why == "moved":
		return driver.ErrMoved
	case w.Prev.Rev > 0 && cause == nil: // at its revision: not the row that was decided on, or nothing moves it
		switch same, err := x.unmoved(w); {
		case err != nil:
			return err
		case same:
			return x.t.blame(w, nil)
		case w.Old != nil:
			return driver.ErrMoved
		}
	}
	if w.Row != nil {
		if rule, err := x.conflict(w); err != nil || rule != "" {
			if err == nil {
				err = &driver.ConflictError{Rule: rule}
			}
			return err
		}
	}
	if cause == nil && w.Prev.Rev == 0 && w.Row != nil && x.t.dialect.server() {
		if err := x.against(w); err != nil {
			return err
		}
	}
	if cause == nil && x.t.dialect.server() || x.t.dialect.hidden(cause, x.t.schema.Table) {
		// What stood against it is gone by now. It is busy, whatever the cause was.
		x.err = &fsm.Refusal{ID: id, Code: fsm.ErrBusy, Machine: x.t.schema.Machine, Operation: e.Operation, Cause: cause}
		return x.err
	}
	return x.t.blame(w, cause)
}

// unmoved reports whether the row that a write did not move is the one that it was
// decided on, and nobody else can have changed it meanwhile: the transaction locks it.
func (x *txn) unmoved(w *driver.Write) (bool, error) {
	if x.alone || w.Row == nil {
		return false, nil
	}
	row, err := x.one(x.t.text("row_locked"), w.Prev.ID)
	if errors.Is(err, driver.ErrNotFound) {
		return false, nil
	}
	if err != nil || w.Old == nil {
		return err == nil, err
	}
	return (w.Old.Chain == 0 || w.Old.Chain == row.Chain) && driver.SameRow(&row, w.Old), nil
}

// learn returns writes with the chain that the stored record has, where they were decided on a record
// without one: a caller holds a copy of its fields. So one that nobody has changed is compared
// by its chain, as others are. One that others than the engine have written has none.
func (r *reader) learn(ws []*driver.Write) ([]*driver.Write, error) {
	var ids arrays
	for _, w := range ws {
		if lacksChain(w) {
			ids.add(w.Prev.ID)
		}
	}
	if ids.Len() == 0 || !r.t.dialect.server() {
		return ws, nil
	}
	stored := map[string]driver.Row{}
	err := r.each(r.t.text("some"), []any{ids.end()}, func(rows Rows) error {
		row, err := r.t.rowOf(rows)
		stored[row.ID] = row
		return err
	})
	ws = slices.Clone(ws)
	for i, w := range ws {
		if row, found := stored[w.Prev.ID]; found && lacksChain(w) && driver.SameRow(&row, w.Old) {
			w, old := *w, *w.Old
			old.Chain, w.Old = row.Chain, &old
			ws[i] = &w
		}
	}
	return ws, err
}

// against returns what stands against a creation that nothing explains: ON CONFLICT
// passes over indexes of the users' too, and the plain statement names them. Where
// nothing stands against it any more, the row is rolled back with its transaction.
func (x *txn) against(w *driver.Write) error {
	if !x.alone {
		return x.insert(w, w.Event.Sum)
	}
	if _, err := x.q.exec(x.ctx, "BEGIN"); err != nil {
		return x.fail(err)
	}
	x.mode.careful = true
	err := x.insert(w, w.Event.Sum)
	if _, failed := x.q.exec(context.WithoutCancel(x.ctx), "ROLLBACK"); failed != nil {
		return x.fail(failed)
	}
	return err
}

// blame is fault for a write.
func (t *table) blame(w *driver.Write, cause error) error {
	err := t.fault("write", cause)
	if refusal := (*fsm.Refusal)(nil); errors.As(err, &refusal) {
		refusal.ID, refusal.Operation = w.Prev.ID, w.Event.Operation
	}
	return err
}

// conflict returns the unique rule that the new row would break. Two partial
// indexes may be over the same columns, so the database's message does not say.
func (x *txn) conflict(w *driver.Write) (string, error) {
	for _, later := range []bool{false, true} {
		for i := range x.t.schema.Uniques {
			u := &x.t.schema.Uniques[i]
			if !counts(u, w.Row.State) {
				continue
			}
			q, held := driver.Query{States: u.States}, ""
			if u.States == nil { // a later version may have states without the rule
				for _, st := range x.t.schema.States {
					q.States = append(q.States, st.Stored)
				}
			}
			for _, name := range u.Columns {
				q.Where = append(q.Where, driver.Cond{Column: name, Op: driver.OpEq, Value: w.Row.Values[x.t.schema.Column(name)]})
			}
			if later {
				var err error
				if held, err = x.heldIn(u); err != nil {
					return "", err
				}
				q.States = nil
			}
			if n, err := x.others(q, w.Row.ID, held); err != nil || n > 0 {
				return u.Name, err
			}
		}
	}
	return "", nil
}

// heldIn returns the condition of the database's indexes for a rule. Those of a later
// version may have the rule in states that this one does not know.
func (x *txn) heldIn(u *driver.UniqueRule) (string, error) {
	columns, held := slices.Sorted(slices.Values(u.Columns)), "false"
	err := x.each(x.t.dialect.ruled(x.t.schema.Table, strings.Join(columns, ",")), nil, func(rows Rows) error {
		var condition string
		err := rows.Scan(&condition)
		held += " OR (" + condition + ")"
		return err
	})
	return held, err
}
