package fsm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inside"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// ErrUnlocked is what a read of many records gets in an atomic effect, where the effect's
// call has not locked all of them. Two effects could else both decide on what the other is
// about to change. A guard of the operation with `none`, `fewer` or `some` over the same group
// locks it; a counter in one record, which the effect moves, needs no such read.
var ErrUnlocked = errors.New("the records that are read are not locked, so another transaction may change them before this one commits")

// unskewed refuses to read many records in an atomic effect that has not locked them, or
// that would read them past its own transaction.
func (m *Machine[R]) unskewed(ctx context.Context, what string, where []driver.Cond) error {
	if m.joined != nil && !inside.Around(ctx, m.store) {
		ctx = m.joined.around
	}
	fixed := func(column string, value any) bool {
		return value != nil && slices.ContainsFunc(where, func(c driver.Cond) bool {
			return c.Column == column && c.By == "" && c.Op == driver.OpEq && driver.Same(c.Value, value)
		})
	}
	if !inside.Around(ctx, m.store) || m.joined != nil && inside.Locked(ctx, m.store, m.schema.Machine, fixed) {
		return nil
	}
	return fmt.Errorf("%s: %s in an atomic effect: %w; lock the group by a guard of the operation, or count in one record: see \"A parent that follows its children\" in docs/cookbook.md",
		m.schema.Machine, what, ErrUnlocked)
}

// Record returns a record, or driver.ErrNotFound. A record that breaks a MUST rule of
// its state comes back beside a refusal with ErrQuarantined.
func (m *Machine[R]) Record(ctx context.Context, id string) (R, error) {
	var row driver.Row
	read := func(r driver.Reader) (err error) {
		row, err = r.Row(id)
		return err
	}
	err := m.table.Look(ctx, read)
	if err == nil && m.wasLoose(id) {
		err = m.table.View(ctx, func(r driver.Reader) (err error) {
			if err = read(r); err == nil {
				_, err = m.isLoose(r, id)
			}
			return err
		})
	}
	var zero R
	if errors.Is(err, driver.ErrNotFound) {
		return zero, m.refusal(ErrNotFound, nil, id, "")
	}
	if err != nil {
		return zero, err
	}
	return m.load(nil, &row)
}

// List returns the records that fit the query, by id unless it has an order.
// Without an order they are read page by page, each page a consistent snapshot
// of its own, so the machine may be used while the list is walked. A record
// that breaks a MUST rule comes beside a refusal, and the list goes on. Do not decide on
// a list what you write: another transaction may change the records meanwhile. In an
// atomic effect it is refused with ErrUnlocked.
func (m *Machine[R]) List(ctx context.Context, q driver.Query) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		if err := m.unskewed(ctx, "List", q.Where); err != nil {
			var zero R
			yield(zero, err)
			return
		}
		for row, err := range inspect.Rows(ctx, m.table, q) {
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

// History returns the log of a record from its first event on; driver.ErrNotFound when
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
					if page = append(page, e); len(page) == inspect.PageSize {
						break
					}
				}
				return nil
			})
			if err == nil && rev == 0 && len(page) == 0 {
				err = m.refusal(ErrNotFound, nil, id, "")
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
			if len(page) < inspect.PageSize {
				return
			}
		}
	}
}

// Count returns how many records there are in each of the given states (stored
// words), or in every state when none is given, at one instant. In an atomic effect it
// is refused with ErrUnlocked.
func (m *Machine[R]) Count(ctx context.Context, states ...string) (map[string]int64, error) {
	if err := m.unskewed(ctx, "Count", nil); err != nil {
		return nil, err
	}
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
