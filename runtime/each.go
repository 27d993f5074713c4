package fsm

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Each makes a call on every record that fits the operation's `each`, in the order of their
// ids and in one transaction: all of them or none. The refusal of a record is that of the
// call, and names it. Without a record it is ErrNothingToDo, with more than the
// specification allows ErrTooLarge; neither is remembered. All events carry the request id,
// whose scope is the machine: the same call again gives the same outcomes.
//
// A record that comes to fit while the call is at work may stay as it is. One that fitted
// when the call was made is taken, unless another call has moved it.
func (m *Machine[R]) Each(ctx context.Context, c fsmimpl.Call[R]) ([]Outcome[R], error) {
	if err := m.unbatched(c.Operation.Name); err != nil {
		return nil, err
	}
	each := func(ctx context.Context) ([]Outcome[R], error) { return m.each(ctx, c) }
	return m.rungMany(watched(ctx, m, observed(&c, ""), each, seenMany))
}

func (m *Machine[R]) each(ctx context.Context, c fsmimpl.Call[R]) ([]Outcome[R], error) {
	ctx = m.begin(ctx)
	m.compare(ctx)
	q, err := m.prepare(c, "", false)
	if err != nil {
		return nil, err
	}
	if q.op.Each == 0 {
		return nil, fmt.Errorf("%s: %s takes one record at a time", m.schema.Machine, q.op.Name)
	}
	if q.RequestID == "" {
		q.ownID()
	}
	q.among = true
	var outs []Outcome[R]
	wait := m.joined != nil // for who has the records, in the order of all that lock several
	u := m.unit(q.op, "", q.RequestID)
	if bulk, ok := m.table.(driver.Bulk); ok && simple(q.op, &q.Call) {
		u.fast = func() (slow bool, err error) {
			outs, wait, err = m.eachTogether(ctx, bulk, q)
			return wait, err
		}
	}
	u.try = func(tx driver.Tx, again bool) (err error) {
		wait = wait || again
		outs, err = m.eachIn(ctx, tx, q, again, wait)
		return err
	}
	u.find = func(r driver.Reader) (found bool, err error) {
		outs, err = m.known(r, q, "", q.RequestID)
		return len(outs) > 0, err
	}
	if err := m.run(ctx, u); err != nil {
		return nil, err
	}
	return outs, nil
}

// eachTogether is the first try: all steps are decided, and written at once. Whatever speaks
// against one of them makes it slow.
func (m *Machine[R]) eachTogether(ctx context.Context, bulk driver.Bulk, q *request[R]) (outs []Outcome[R], slow bool, err error) {
	var steps []*step[R]
	slow, err = bulkTry(ctx, bulk, func(tx driver.ManyTx) error {
		rows, err := m.fitting(tx, q)
		if err != nil {
			return err
		}
		steps = make([]*step[R], len(rows)) // the transaction may have begun anew
		for i := range rows {
			rec, err := m.load(q.op, &rows[i])
			if err != nil {
				return err
			}
			if steps[i], err = m.decide(q.op, &q.Call, &rows[i], rec, rows[i].ID, nil, q.origin(q.RequestID, int64(i))); err != nil {
				return err
			}
			steps[i].write.Old = &rows[i]
		}
		if m.passOn(steps) {
			return driver.ErrMoved
		}
		return tx.WriteMany(writesOf(steps))
	})
	if slow || err != nil {
		return nil, slow, err
	}
	outs = make([]Outcome[R], len(steps))
	for i, s := range steps {
		outs[i] = m.stepOutcome(s)
	}
	return outs, false, nil
}

// eachIn takes the records one by one, within a transaction.
func (m *Machine[R]) eachIn(ctx context.Context, tx driver.Tx, q *request[R], again, wait bool) ([]Outcome[R], error) {
	if !q.own || again {
		if outs, err := m.known(tx, q, "", q.RequestID); err != nil || len(outs) > 0 {
			return outs, err
		}
	}
	if wait {
		m.tick(q)
		ids, err := m.idsOfEach(tx, q)
		if err != nil {
			return nil, err
		}
		if err := lockAll(tx, ids); err != nil {
			return nil, err
		}
	}
	rows, err := m.fitting(tx, q)
	if err != nil {
		return nil, err
	}
	outs := make([]Outcome[R], len(rows))
	for i := range rows {
		row, err := tx.Row(rows[i].ID) // an effect of one before may have moved it
		if err != nil {
			return nil, err
		}
		rec, err := m.load(q.op, &row)
		if err != nil {
			return nil, err
		}
		if outs[i], err = m.advance(ctx, tx, q, &row, rec, row.ID, q.origin(q.RequestID, int64(i))); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// fitting locks the records that fit, and returns them by id. It passes over those that
// another writer has; then it is ErrMoved, and the next try waits for them.
func (m *Machine[R]) fitting(tx driver.Tx, q *request[R]) ([]driver.Row, error) {
	m.tick(q)
	rows, err := m.rowsOfEach(tx, q, true)
	if err != nil {
		return nil, err
	}
	locked := make(map[string]bool, len(rows))
	for i := range rows {
		locked[rows[i].ID] = true
	}
	ids, err := m.idsOfEach(tx, q)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !locked[id] {
			return nil, driver.ErrMoved
		}
	}
	switch {
	case len(rows) == 0:
		return nil, m.unless(q, "", m.refusal(ErrNothingToDo, q.op, "", ""))
	case int64(len(rows)) > q.op.Each:
		r := m.refusal(ErrTooLarge, q.op, "", "")
		r.Message = fmt.Sprintf("more than %d records fit", q.op.Each)
		return nil, m.unless(q, "", r)
	}
	return rows, nil
}

// idsOfEach returns the ids of the records that fit, and locks none.
func (m *Machine[R]) idsOfEach(tx driver.Tx, q *request[R]) ([]string, error) {
	rows, err := m.rowsOfEach(tx, q, false)
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids, err
}

// rowsOfEach reads the records that fit, by id: no more than one too many.
func (m *Machine[R]) rowsOfEach(tx driver.Tx, q *request[R], lock bool) (rows []driver.Row, err error) {
	most := int(q.op.Each) + 1
	look := driver.Query{States: q.op.From, Where: timed(q.Where, q.at), Limit: most, Lock: lock}
	for {
		part, err := inspect.Collect(tx, look)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if q.Fits != nil {
				rec, err := m.d.Decode(part[i])
				if err == nil && !q.Fits(&rec, q.at) {
					continue
				}
			}
			if rows = append(rows, part[i]); len(rows) == most {
				return rows, nil
			}
		}
		if len(part) < look.Limit {
			return rows, nil
		}
		look.After = part[len(part)-1].ID
	}
}
