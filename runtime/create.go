package fsm

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Create makes a record. A known request id is replayed; then a record with the
// same dedupe value is returned as it is (Existing); then an id that is taken is
// refused with ErrExists. Without an ID in the call the engine makes one.
func (m *Machine[R]) Create(ctx context.Context, c fsmimpl.Call[R]) (Outcome[R], error) {
	if m.batch != nil {
		m.batch.made = append(m.batch.made, c)
		return Outcome[R]{}, nil
	}
	if m.options.observe == nil {
		return m.rung(m.create(ctx, c))
	}
	return m.createObserved(ctx, c)
}

func (m *Machine[R]) createObserved(ctx context.Context, c fsmimpl.Call[R]) (Outcome[R], error) {
	return m.rung(watched(ctx, m, observed(&c, c.ID), func(ctx context.Context) (Outcome[R], error) { return m.create(ctx, c) }, seenOne))
}

func (m *Machine[R]) create(ctx context.Context, c fsmimpl.Call[R]) (Outcome[R], error) {
	ctx = m.begin(ctx)
	var out Outcome[R]
	q, id, err := m.creation(c)
	if err != nil {
		return out, err
	}
	u := m.unit(q.op, id, q.RequestID)
	if simple(q.op, &q.Call) {
		u.fast = func() (slow bool, err error) {
			s, err := m.decideNew(q, id)
			if err != nil {
				return true, nil
			}
			if err := m.table.Commit(ctx, &s.write); err != nil {
				return false, err // a broken unique rule too: an existing record comes first
			}
			out = m.outcome(s.rec, &s.row, s.write.Event)
			return false, nil
		}
		u.glance = func(r driver.Reader) (done bool, err error) {
			out, done, err = m.made(r, q)
			return done, err
		}
	}
	u.try = func(tx driver.Tx, again bool) (err error) {
		out, err = m.createIn(ctx, tx, q, id, again)
		return err
	}
	u.find = func(r driver.Reader) (bool, error) {
		outs, err := m.known(r, q, "", q.RequestID)
		if len(outs) > 0 {
			out = outs[0]
		}
		return len(outs) > 0, err
	}
	if err := m.run(ctx, u); err != nil {
		return Outcome[R]{}, err
	}
	return out, nil
}

// made reads the answer to a creation that met a record or a request: what its
// request led to, or the record that its dedupe value finds. done is false where
// only a transaction can tell.
func (m *Machine[R]) made(r driver.Reader, q *request[R]) (out Outcome[R], done bool, err error) {
	outs, err := m.known(r, q, "", q.RequestID)
	if len(outs) == 0 && err == nil {
		outs, err = m.existing(r, q)
	}
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		return out, true, err
	case err != nil || len(outs) == 0:
		return out, false, err
	}
	return outs[0], true, nil
}

// decideNew decides on a record that is to be made.
func (m *Machine[R]) decideNew(q *request[R], id string) (*step[R], error) {
	var zero R
	return m.decide(q.op, &q.Call, nil, zero, id, nil, q.origin(q.RequestID, 0))
}

// CreateMany makes records in one transaction, in the order of the calls: all
// of them or none. The error of a call that is refused names its index. Calls
// whose request is known are replayed, and existing records returned, one by one.
func (m *Machine[R]) CreateMany(ctx context.Context, calls []fsmimpl.Call[R]) ([]Outcome[R], error) {
	if len(calls) == 0 {
		return nil, nil
	}
	call := observedMany(&calls[0], len(calls))
	return m.rungMany(watched(ctx, m, call, func(ctx context.Context) ([]Outcome[R], error) { return m.createMany(ctx, calls) }, seenMany))
}

func (m *Machine[R]) createMany(ctx context.Context, calls []fsmimpl.Call[R]) ([]Outcome[R], error) {
	ctx = m.begin(ctx)
	queue := make([]*request[R], len(calls))
	ids := make([]string, len(calls))
	for i, c := range calls {
		var err error
		if queue[i], ids[i], err = m.creation(c); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		queue[i].among = len(calls) > 1
	}
	outs := make([]Outcome[R], len(calls))
	u := m.unit(queue[0].op, ids[0], queue[0].RequestID)
	u.joins, u.fast = true, m.fastTogether(ctx, func() []*step[R] { return m.decideAllNew(queue, ids) }, outs)
	u.try = func(tx driver.Tx, again bool) (err error) {
		return m.planning(ctx, func(ctx context.Context) error {
			for i, q := range queue {
				if outs[i], err = m.createIn(ctx, tx, q, ids[i], again); err != nil {
					return fmt.Errorf("item %d: %w", i, err)
				}
			}
			return nil
		})
	}
	u.find = func(r driver.Reader) (bool, error) {
		for i, q := range queue {
			known, err := m.known(r, q, "", q.RequestID)
			if err != nil {
				return false, err
			}
			if len(known) == 0 {
				if known, err = m.existing(r, q); err != nil || len(known) == 0 {
					return false, err
				}
			}
			outs[i] = known[0]
		}
		return true, nil
	}
	if err := m.run(ctx, u); err != nil {
		return nil, err
	}
	return outs, nil
}

// creation prepares a call that makes a record, and its id.
func (m *Machine[R]) creation(c fsmimpl.Call[R]) (*request[R], string, error) {
	q, err := m.prepare(c, c.ID, false)
	if err != nil {
		return nil, "", err
	}
	if !q.op.Creates {
		return nil, "", fmt.Errorf("%s: %s creates no record", m.schema.Machine, q.op.Name)
	}
	if q.op.Stored == driver.OpImport { // the image has what was brought
		q.inputs = driver.RawJSON("{}")
	}
	if q.RequestID == "" {
		q.ownID()
	}
	id := q.Call.ID
	if id == "" {
		id = driver.NewID()
	}
	return q, id, nil
}

// createIn makes a record within a transaction.
func (m *Machine[R]) createIn(ctx context.Context, tx driver.Tx, q *request[R], id string, again bool) (Outcome[R], error) {
	var none Outcome[R]
	lookup := func() ([]Outcome[R], error) {
		if q.own && !again {
			return nil, nil // nobody but an earlier try can have used it
		}
		return m.known(tx, q, "", q.RequestID)
	}
	if outs, err := lookup(); err != nil || len(outs) > 0 {
		if err != nil {
			return none, err
		}
		return outs[0], nil
	}
	outs, err := m.existing(tx, q)
	if err != nil {
		return none, err
	}
	var taken error
	if len(outs) == 0 {
		row, err := tx.Row(id)
		if err != nil && !errors.Is(err, driver.ErrNotFound) {
			return none, err
		}
		if err == nil {
			taken = m.refusal(ErrExists, q.op, id, row.State)
		}
	}
	if len(outs) > 0 || taken != nil {
		// What is there may be this request's own, of a try that landed after it
		// was looked up: not every store's transaction sees one state only.
		if late, err := lookup(); err != nil || len(late) > 0 {
			if err != nil {
				return none, err
			}
			return late[0], nil
		}
		if err := m.unless(q, id, nil); err != nil {
			return none, err
		}
		if taken != nil {
			return none, taken
		}
		return outs[0], nil
	}
	if purged, err := inspect.WasPurged(tx, id); err != nil || purged {
		if err == nil {
			err = m.unless(q, id, m.refusal(ErrPurged, q.op, id, ""))
		}
		return none, err
	}
	m.tick(q)
	var zero R
	return m.advance(ctx, tx, q, nil, zero, id, q.origin(q.RequestID, 0))
}

// existing returns the outcome of a creation that finds a record by its dedupe
// rule, or nil.
func (m *Machine[R]) existing(r driver.Reader, q *request[R]) ([]Outcome[R], error) {
	rule := m.uniqueRule(q.op.Dedupe)
	if rule == nil || q.Dedupe == nil {
		return nil, nil
	}
	query := driver.Query{States: rule.States, Limit: 1}
	for i, c := range rule.Columns {
		query.Where = append(query.Where, driver.Cond{Column: c, Op: driver.OpEq, Value: q.Dedupe[i]})
	}
	for row, err := range r.Rows(query) {
		if err != nil {
			return nil, err
		}
		rec, err := m.load(q.op, &row)
		if err != nil {
			return nil, err
		}
		out := m.outcome(rec, &row)
		out.Existing = true
		return []Outcome[R]{out}, nil
	}
	return nil, nil
}
