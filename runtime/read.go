package fsm

import (
	"context"
	"errors"
	"iter"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// pageSize is how many rows or events are read at once, so that no transaction
// stays open while the caller looks at them.
const pageSize = 256

// Record returns a record, or ErrNotFound. A record that breaks a MUST rule of
// its state comes back beside a refusal with CodeQuarantined.
func (m *Machine[R]) Record(ctx context.Context, id string) (R, error) {
	var row driver.Row
	err := m.table.View(ctx, func(r driver.Reader) (err error) {
		if row, err = r.Row(id); err == nil {
			_, err = m.isLoose(r, id)
		}
		return err
	})
	var zero R
	if errors.Is(err, ErrNotFound) {
		return zero, m.refusal(CodeNotFound, nil, id, "")
	}
	if err != nil {
		return zero, err
	}
	return m.load(nil, &row)
}

// List returns the records that fit the query, by id unless it has an order.
// Without an order they are read page by page, each page a consistent snapshot
// of its own, so the machine may be used while the list is walked. A record
// that breaks a MUST rule comes beside a refusal, and the list goes on.
func (m *Machine[R]) List(ctx context.Context, q driver.Query) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for row, err := range m.rows(ctx, q) {
			if err != nil {
				var zero R
				yield(zero, err)
				return
			}
			if !yield(m.load(nil, &row)) {
				return
			}
		}
	}
}

// rows reads the rows of a query page by page.
func (m *Machine[R]) rows(ctx context.Context, q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		left := q.Limit
		for {
			page := q
			if len(q.Order) == 0 {
				page.Limit = pageSize
				if left > 0 {
					page.Limit = min(left, pageSize)
				}
			}
			var rows []driver.Row
			err := m.table.View(ctx, func(r driver.Reader) (err error) {
				rows, err = collect(r, page)
				return err
			})
			if err != nil {
				yield(driver.Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if len(q.Order) > 0 || len(rows) < page.Limit {
				return
			}
			if left > 0 {
				if left -= len(rows); left == 0 {
					return
				}
			}
			q.After = rows[len(rows)-1].ID
		}
	}
}

// History returns the log of a record from its first event on; ErrNotFound when
// there is none. It is read page by page.
func (m *Machine[R]) History(ctx context.Context, id string) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		var rev, n int64 = 0, -1 // the newest event that was handed out
		for {
			var page []driver.Event
			err := m.table.View(ctx, func(r driver.Reader) error {
				page = nil
				for e, err := range r.Events(id, max(rev, 1)) {
					if err != nil {
						return err
					}
					if e.Rev == rev && e.N <= n {
						continue
					}
					if page = append(page, e); len(page) == pageSize {
						break
					}
				}
				return nil
			})
			if err == nil && rev == 0 && len(page) == 0 {
				err = m.refusal(CodeNotFound, nil, id, "")
			}
			if err != nil {
				yield(driver.Event{}, err)
				return
			}
			for _, e := range page {
				rev, n = e.Rev, e.N
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// Count returns how many records there are in each of the given states (stored
// words), or in every state when none is given, at one instant.
func (m *Machine[R]) Count(ctx context.Context, states ...string) (map[string]int64, error) {
	if len(states) == 0 {
		for i := range m.schema.States {
			states = append(states, m.schema.States[i].Stored)
		}
	}
	counts := make(map[string]int64, len(states))
	err := m.table.View(ctx, func(r driver.Reader) error {
		for _, s := range states {
			n, err := r.Count(driver.Query{States: []string{s}})
			if err != nil {
				return err
			}
			counts[s] = n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}
