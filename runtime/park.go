package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// errMet ends a transaction of a pick that met records to be parked.
type errMet struct {
	list  []driver.Parked
	limit int // of the query that found them
}

func (e *errMet) Error() string { return fmt.Sprintf("%d records are to be parked", len(e.list)) }

// search is how far a pick has come.
type search[R any] struct {
	passOver map[string]bool // records that cannot be taken although they seemed to fit
	probe    bool            // one of them was refused late: the rules are asked first
	limit    int             // of the next look
	still    bool            // nothing is parked any more: it led to nothing
	awake    bool            // nothing is woken any more
	held     string          // a parked record that another writer has
	full     map[string]bool // groups that are known to have no room
}

// look returns the query of a pick that wants n records.
func (s *search[R]) look(m *Machine[R], tx driver.Tx, q *request[R], n int) driver.Query {
	look := m.look(q, n)
	s.full = map[string]bool{}
	if look.Park = m.parks(tx, q); look.Park != nil {
		look.Limit = max(n, s.limit)
		if !s.awake {
			look.Stir = q.at
		}
	}
	return look
}

// clearWay parks or wakes what an error of a pick asks for, which is to be made again then.
func (m *Machine[R]) clearWay(ctx context.Context, q *request[R], s *search[R], err error) (again bool, _ error) {
	var met *errMet
	switch {
	case errors.Is(err, driver.ErrStir):
		err = m.wake(ctx, q, s)
	case errors.As(err, &met):
		err = m.park(ctx, q, met, s)
	default:
		return false, err
	}
	if call.Err(ctx) != nil { // it has no time left to clear its way
		s.still, s.awake = true, true
	}
	return err == nil, err
}

// parks returns what q may park for in tx; nil where the store or the call does not.
// One that brings its own time sees what others do not see yet, and a transaction of
// the caller's would keep what is parked from others.
func (m *Machine[R]) parks(tx driver.Tx, q *request[R]) *driver.Parking {
	if _, ok := tx.(driver.ParkingTx); !ok || m.joined != nil || !q.At.IsZero() {
		return nil
	}
	return m.parking(q.op)
}

// refused reports whether a record is surely refused. deep asks for other records, too.
func (m *Machine[R]) refused(tx driver.Tx, q *request[R], row *driver.Row, rec *R, s *search[R], deep bool) (driver.Parked, bool, error) {
	p := m.parking(q.op)
	b := driver.Parked{ID: row.ID, Rev: row.Rev, Rule: -1, Groups: make([][]any, len(p.Rules))}
	for i := range p.Rules {
		b.Groups[i] = m.groupOf(row, p.Rules[i].Columns)
	}
	if q.op.Own != nil && !q.op.Own(rec) {
		b.Until = driver.AsItIs
		return b, true, nil
	}
	for _, c := range p.Due {
		b.Until = max(b.Until, m.dueAt(row, c, q.at))
	}
	if b.Until > 0 || !deep {
		return b, b.Until > 0, nil
	}
	for i := range p.Rules {
		full, err := m.full(tx, &p.Rules[i], b.Groups[i], s)
		if err != nil || full {
			b.Rule = i
			return b, full, err
		}
	}
	return b, false, nil
}

// groupOf returns the values by which a row is in a group; nil when one is absent.
func (m *Machine[R]) groupOf(row *driver.Row, columns []string) []any {
	values := make([]any, len(columns))
	for i, name := range columns {
		if values[i] = rows.Column(m.schema, row, name); values[i] == nil {
			return nil
		}
	}
	return values
}

// dueAt returns from when on a comparison with now holds; 0: it does now.
func (m *Machine[R]) dueAt(row *driver.Row, c driver.Cond, now time.Time) int64 {
	v, ok := rows.Key(m.schema, row, c.Column, c.By).(time.Time)
	switch {
	case !ok:
		return driver.AsItIs
	case c.Op == driver.OpLe && v.After(now):
		return v.UnixMicro()
	case c.Op == driver.OpLt && !v.Before(now):
		return v.UnixMicro() + 1
	case c.Op == driver.OpGe && v.Before(now), c.Op == driver.OpGt && !v.After(now):
		return driver.AsItIs
	}
	return 0
}

// full reports whether a group has no room.
func (m *Machine[R]) full(tx driver.Tx, r *driver.ParkRule, values []any, s *search[R]) (bool, error) {
	if values == nil {
		return false, nil
	}
	key := fmt.Sprintf("%s %q", r.Note, values)
	if s.full[key] {
		return true, nil
	}
	n, err := tx.Count(driver.Query{States: r.States, Where: groupConds(r, values)})
	if err == nil && n >= r.Than {
		s.full[key] = true
	}
	return s.full[key], err
}

// groupConds returns the conditions by which the rows of a group are found.
func groupConds(r *driver.ParkRule, values []any) []driver.Cond {
	where := make([]driver.Cond, len(values))
	for i, v := range values {
		where[i] = driver.Cond{Column: r.Columns[i], Op: driver.OpEq, Value: v}
	}
	return where
}

// park parks what a pick has met. When nothing could be parked, it is passed over.
func (m *Machine[R]) park(ctx context.Context, q *request[R], met *errMet, s *search[R]) error {
	return m.table.Update(ctx, func(tx driver.Tx) error {
		n, err := tx.(driver.ParkingTx).Park(m.parking(q.op), met.list)
		s.still, s.limit = n == 0, min(met.limit, maxLook)
		s.probe = s.probe && len(met.list) > 1
		return err
	})
}

// parkHere parks what a pick meets behind what it has taken: the rest of the
// transaction looks at what comes then.
func (s *search[R]) parkHere(tx driver.Tx, look *driver.Query, met []driver.Parked, now time.Time) error {
	n, err := tx.(driver.ParkingTx).Park(look.Park, met)
	if s.still = n == 0; err != nil || s.still {
		return err
	}
	again := *look
	again.Stir, again.Lock = now, true
	_, _, err = tx.(driver.ParkingTx).Wake(again)
	return err
}

// maxLook bounds how many records are parked in one transaction.
const maxLook = 4096

// wake shows what may be free again.
func (m *Machine[R]) wake(ctx context.Context, q *request[R], s *search[R]) error {
	return m.table.Update(ctx, func(tx driver.Tx) error {
		n, held, err := tx.(driver.ParkingTx).Wake(driver.Query{States: q.op.From, Order: q.op.Order, Park: m.parking(q.op), Stir: m.now()})
		s.awake, s.held = n == 0, held
		return err
	})
}

// stands reports whether one of rows is to be parked by what it says itself.
func (m *Machine[R]) stands(tx driver.Tx, q *request[R], free []*candidate[R]) bool {
	return slices.ContainsFunc(free, func(c *candidate[R]) bool {
		_, refused, _ := m.refused(tx, q, c.row, &c.rec, nil, false)
		return refused
	})
}
