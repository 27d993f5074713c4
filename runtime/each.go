package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
	inrows "github.com/fsmgen/fsmgen/runtime/internal/rows"
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
	u.try = func(tx driver.Tx, again bool) error {
		return m.planning(ctx, func(ctx context.Context) (err error) {
			outs, err = m.eachIn(ctx, tx, q, again)
			return err
		})
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
			if steps, err = m.decideEach(q, rows); err != nil { // the transaction may begin again
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
	q.among = len(rows) > 1
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

// fitting locks the records that fit, and returns them by id. Without wait it takes those that nobody else has, and is
// ErrMoved where it missed one.
func (m *Machine[R]) fitting(tx driver.Tx, q *request[R], wait bool) ([]driver.Row, error) {
	m.tick(q)
	if wait || q.Fits != nil {
		return m.waitFor(tx, q, wait)
	}
	look := m.lookForEach(q)
	look.Lock = true
	rows, err := inspect.Collect(tx, look)
	if err != nil {
		return nil, err
	}
	locked := make(map[string]bool, len(rows))
	for i := range rows {
		locked[rows[i].ID] = true
	}
	m.tick(q)
	there, err := m.rowsOfEach(tx, q, m.lookForEach(q))
	if err != nil {
		return nil, err
	}
	for i := range there {
		if !locked[there[i].ID] {
			return nil, driver.ErrMoved
		}
	}
	return there, m.many(q, len(there))
}

// lookForEach is the query for the records that fit now: one more than may be.
func (m *Machine[R]) lookForEach(q *request[R]) driver.Query {
	return driver.Query{States: q.op.From, Where: timed(q.Where, q.at), Limit: int(q.op.Each) + 1}
}

// waitFor is fitting that looks first and locks those that it saw, by id. Who has one of them may have changed it, so
// that it fits no more; who comes to fit meanwhile is not waited for.
func (m *Machine[R]) waitFor(tx driver.Tx, q *request[R], wait bool) ([]driver.Row, error) {
	rows, err := m.rowsOfEach(tx, q, m.lookForEach(q))
	if err != nil {
		return nil, err
	}
	if err := m.many(q, len(rows)); err != nil {
		return nil, err
	}
	var fit []driver.Row
	n := 0
	for part := range slices.Chunk(rows, 1000) { // as many ids as a query may have
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		locked, err := inspect.Collect(tx, driver.Query{IDs: ids, Lock: true, Wait: wait})
		if err != nil {
			return nil, err
		}
		fit, n = append(fit, locked...), n+len(locked)
	}
	if n < len(rows) && !wait {
		return nil, driver.ErrMoved
	}
	m.tick(q)
	look := m.lookForEach(q)
	fit = slices.DeleteFunc(fit, func(row driver.Row) bool {
		return !inrows.Fit(m.schema, &row, &look) || !m.fitsEach(q, &row)
	})
	return fit, m.many(q, len(fit))
}

// fitsEach decides what the store does not compare. A record that cannot be decoded may fit.
func (m *Machine[R]) fitsEach(q *request[R], row *driver.Row) bool {
	if q.Fits == nil {
		return true
	}
	rec, err := m.d.Decode(*row)
	return err != nil || q.Fits(&rec, q.at)
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
			if !m.fitsEach(q, &part[i]) {
				continue
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
