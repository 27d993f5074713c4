package fsm

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// would returns what a call on a record would be refused with now; nil: nothing that can be read speaks against it.
// It writes nothing, locks nothing, and asks for no effect. What only a write finds out is not told: a unique value
// that is taken, a number that is used up, a refusal of what follows in the transaction.
func (m *Machine[R]) would(ctx context.Context, at driver.Ref, c fsmimpl.Call[R]) error {
	q, ref, err := m.target(at, c, false)
	if err != nil {
		return err
	}
	return m.table.View(ctx, func(r driver.Reader) error {
		row, err := r.Row(ref.ID)
		switch {
		case errors.Is(err, driver.ErrNotFound):
			return m.missing(r, q.op, ref.ID)
		case err != nil:
			return err
		case ref.Rev != 0 && row.Rev != ref.Rev:
			return m.stale(q, &row, ref)
		}
		rec, err := m.load(q.op, &row)
		if err != nil {
			return err
		}
		peers, err := m.peersOf(r, q, &row, rec)
		if err != nil {
			return err
		}
		m.tick(q)
		_, err = m.decide(q.op, &q.Call, &row, rec, row.ID, peers, q.origin("", -1))
		return err
	})
}

// wouldEach returns the records that a call on each would move now, by id, as they are; or what it would be refused with,
// as would does. Each is looked at alone: what those before it do is not told.
func (m *Machine[R]) wouldEach(ctx context.Context, c fsmimpl.Call[R]) (list []driver.Row, err error) {
	q, err := m.prepare(c, "", false)
	if err != nil {
		return nil, err
	}
	if q.op.Each == 0 {
		return nil, fmt.Errorf("%s: %s takes one record at a time", m.schema.Machine, q.op.Name)
	}
	m.tick(q)
	err = m.table.View(ctx, func(r driver.Reader) (err error) {
		look := driver.Query{States: q.op.From, Where: timed(q.Where, q.at), Limit: int(q.op.Each) + 1}
		if list, err = m.rowsOfEach(r, q, look); err != nil {
			return err
		}
		if err := m.many(q, len(list)); err != nil {
			return err
		}
		for i := range list {
			row := &list[i]
			rec, err := m.load(q.op, row)
			if err != nil {
				return err
			}
			peers, err := m.peersOf(r, q, row, rec)
			if err != nil {
				return err
			}
			if _, err = m.decide(q.op, &q.Call, row, rec, row.ID, peers, q.origin("", -1)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// peersOf counts the other records that a call's guards ask for, without their locks.
func (m *Machine[R]) peersOf(r driver.Reader, q *request[R], row *driver.Row, rec R) (peers []int64, err error) {
	if q.Peers == nil {
		return nil, nil
	}
	for _, p := range q.Peers(&rec, row.ID) {
		if p.Hold {
			continue
		}
		n := int64(1) // of a sequence: some number
		if !p.Sequence {
			if n, err = others(r, &p); err != nil {
				return nil, err
			}
		}
		peers = append(peers, m.counted(p.Name, n))
	}
	return peers, nil
}

// others counts the records of a group but for one.
func others(r driver.Reader, p *driver.PeerQuery) (int64, error) {
	some := driver.Query{States: p.States}
	for i, column := range p.Columns {
		if p.Values[i] == nil {
			return 0, nil
		}
		some.Where = append(some.Where, driver.Cond{Column: column, Op: driver.OpEq, Value: p.Values[i]})
	}
	n, err := r.Count(some)
	if err != nil || n == 0 || p.Except == "" {
		return n, err
	}
	some.IDs = []string{p.Except}
	own, err := r.Count(some)
	return n - own, err
}
