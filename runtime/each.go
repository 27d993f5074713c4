package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	u := m.unit(q.op, "", q.RequestID)
	if bulk, ok := m.table.(driver.Bulk); ok && simple(q.op, &q.Call) {
		u.fast = func() (slow bool, err error) {
			outs, slow, err = m.eachTogether(ctx, bulk, q)
			return slow, err
		}
	}
	u.try = func(tx driver.Tx, again bool) (err error) {
		outs, err = m.eachIn(ctx, tx, q, again)
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
func (m *Machine[R]) eachTogether(ctx context.Context, bulk driver.Bulk, q *request[R]) ([]Outcome[R], bool, error) {
	var steps []*step[R]
	held := false
	try := func(wait bool) (slow bool, err error) {
		return bulkTry(ctx, bulk, func(tx driver.ManyTx) error {
			rows, err := m.fitting(tx, q, wait)
			if held = errors.Is(err, driver.ErrMoved); err != nil {
				return err
			}
			if steps, err = m.decideEach(q, rows); err != nil { // the transaction may have begun anew
				return err
			}
			return tx.WriteMany(writesOf(steps))
		})
	}
	slow, err := try(false)
	if slow && held {
		slow, err = try(true)
	}
	if slow || err != nil {
		return nil, slow, err
	}
	outs := make([]Outcome[R], len(steps))
	for i, s := range steps {
		outs[i] = m.stepOutcome(s)
	}
	return outs, false, nil
}

// decideEach decides on rows that the transaction has locked.
func (m *Machine[R]) decideEach(q *request[R], rows []driver.Row) ([]*step[R], error) {
	steps := make([]*step[R], len(rows))
	for i := range rows {
		row := &rows[i]
		rec, err := m.load(q.op, row)
		if err != nil {
			return nil, err
		}
		if steps[i], err = m.decide(q.op, &q.Call, row, rec, row.ID, nil, q.origin(q.RequestID, int64(i))); err != nil {
			return nil, err
		}
		steps[i].write.Old = row
	}
	if m.passOn(steps) {
		return nil, errPassOn
	}
	return steps, nil
}

// errPassOn makes a try slow: the order of its writes counts.
var errPassOn = errors.New("a place is passed on")

// eachIn takes the records one by one, within a transaction.
func (m *Machine[R]) eachIn(ctx context.Context, tx driver.Tx, q *request[R], again bool) ([]Outcome[R], error) {
	ask := func() ([]Outcome[R], error) {
		if q.own && !again {
			return nil, nil // nobody but an earlier try can have used it
		}
		return m.known(tx, q, "", q.RequestID)
	}
	if outs, err := ask(); err != nil || len(outs) > 0 {
		return outs, err
	}
	rows, err := m.fitting(tx, q, again || m.joined != nil)
	var refused *Refusal
	if err == nil || errors.As(err, &refused) { // it may have waited for the first call of this request
		if outs, err := ask(); err != nil || len(outs) > 0 {
			return outs, err
		}
	}
	if err != nil {
		return nil, err
	}
	outs := make([]Outcome[R], len(rows))
	for i := range rows {
		row, err := tx.Row(rows[i].ID) // an effect of one before may have moved it
		if err != nil {
			return nil, err
		}
		if _, err := m.isLoose(tx, row.ID); err != nil {
			return nil, err
		}
		rec, err := m.load(q.op, &row)
		if err != nil {
			return nil, err
		}
		if outs[i], err = m.advance(ctx, tx, q, &row, rec, row.ID, q.origin(q.RequestID, int64(i))); err != nil {
			return nil, m.reused(tx, q, &row, err)
		}
	}
	return outs, nil
}

// reused tells of a request id that the record has already from a call on it alone.
func (m *Machine[R]) reused(tx driver.Tx, q *request[R], row *driver.Row, err error) error {
	if !errors.Is(err, driver.ErrRequestTaken) {
		return err
	}
	if events, _ := tx.Request(row.ID, q.RequestID); len(events) > 0 { // where it cannot look, the next try tells
		return m.refusal(ErrRequestReused, q.op, row.ID, row.State)
	}
	return err
}

// fitting locks the records that fit, and returns them by id: those that nobody else has, or,
// with wait, all that are there when it looks. Where it missed one it is ErrMoved. What fits is decided
// once more when it has waited, at the time of the call from then on.
func (m *Machine[R]) fitting(tx driver.Tx, q *request[R], wait bool) ([]driver.Row, error) {
	m.tick(q)
	look := driver.Query{States: q.op.From, Where: timed(q.Where, q.at), Limit: int(q.op.Each) + 1}
	locked := map[string]bool{}
	if err := m.lockEach(tx, q, look, wait, locked); err != nil {
		return nil, err
	}
	m.tick(q)
	look.Where = timed(q.Where, q.at)
	rows, err := m.rowsOfEach(tx, q, look)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if !locked[rows[i].ID] {
			return nil, driver.ErrMoved
		}
	}
	return rows, m.many(q, len(rows))
}

// lockEach locks the records that fit. What the store does not compare is looked at before, so that no other one is locked.
func (m *Machine[R]) lockEach(tx driver.Tx, q *request[R], look driver.Query, wait bool, locked map[string]bool) error {
	parts := []driver.Query{look}
	if q.Fits != nil {
		rows, err := m.rowsOfEach(tx, q, look)
		if err != nil {
			return err
		}
		parts = nil
		for part := range slices.Chunk(rows, 1000) {
			ids := make([]string, len(part))
			for i := range part {
				ids[i] = part[i].ID
			}
			parts = append(parts, driver.Query{IDs: ids})
		}
	}
	for _, part := range parts {
		part.Lock, part.Wait = true, wait
		rows, err := inspect.Collect(tx, part)
		if err != nil {
			return err
		}
		for i := range rows {
			locked[rows[i].ID] = true
		}
	}
	return nil
}

// many refuses a call on so many records, if they are none or too many.
func (m *Machine[R]) many(q *request[R], n int) error {
	switch {
	case n == 0:
		return m.unless(q, "", m.refusal(ErrNothingToDo, q.op, "", ""))
	case int64(n) > q.op.Each:
		r := m.refusal(ErrTooLarge, q.op, "", "")
		r.Message = fmt.Sprintf("more than %d records fit", q.op.Each)
		return m.unless(q, "", r)
	}
	return nil
}

// rowsOfEach reads the records that fit, by id: no more than the limit of the query.
func (m *Machine[R]) rowsOfEach(r driver.Reader, q *request[R], look driver.Query) (rows []driver.Row, err error) {
	for most := look.Limit; ; {
		part, err := inspect.Collect(r, look)
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
