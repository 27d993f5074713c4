package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// maxKeys is how many keys the audit remembers to have told, so that one that is
// another record's too is told once.
const maxKeys = 1 << 12

// auditIndexes yields the keys of the store's own indexes that do not say what
// their records say. What follows from something that is told already is left
// out: the records have another fault, or share a place of one of the rules.
func (m *machine[R]) auditIndexes(ctx context.Context, shared []*driver.UniqueRule, yield func(inspect.Finding) bool) error {
	told := map[string]bool{}
	for place := ""; ; {
		var wrong []driver.Misindexed
		err := m.Table.View(ctx, func(r driver.Reader) (err error) {
			wrong, place, err = r.Misindexed(place)
			return err
		})
		if err != nil {
			return err
		}
		for _, w := range wrong {
			if told[w.Key] {
				continue
			}
			if len(told) < maxKeys {
				told[w.Key] = true
			}
			follows, err := m.followsFromMore(ctx, w.ID, shared)
			if err != nil {
				return err
			}
			if !follows && !yield(inspect.Finding{ID: w.ID, Check: CheckIndex, Must: true, Message: fmt.Sprintf("the key %q %s", w.Key, w.Problem)}) {
				return errBrokenOff
			}
		}
		if place == "" {
			return nil
		}
	}
}

// followsFromMore reports whether something else is wrong with a record.
func (m *machine[R]) followsFromMore(ctx context.Context, id string, shared []*driver.UniqueRule) (bool, error) {
	found, err := m.auditRecord(ctx, id, nil)
	if err != nil || slices.ContainsFunc(found, func(f inspect.Finding) bool { return f.Must }) {
		return true, err
	}
	follows := false
	err = m.Table.View(ctx, func(r driver.Reader) error {
		row, err := r.Row(id)
		if errors.Is(err, driver.ErrNotFound) {
			follows, err = orphan(r, id)
			return err
		}
		if err != nil {
			return err
		}
		for _, u := range shared {
			q, holds := inspect.PlaceOf(m.Schema, u, &row)
			if !holds {
				continue
			}
			for other, rowErr := range r.Rows(driver.Query{States: q.States}) { // no index is asked
				if rowErr != nil {
					return rowErr
				}
				same, holds := inspect.PlaceOf(m.Schema, u, &other)
				follows = follows || holds && other.ID != id && inspect.SameConds(q.Where, same.Where)
			}
		}
		return nil
	})
	return follows, err
}

// orphan reports whether there is a log of an id without a row that was not
// purged.
func orphan(r driver.Reader, id string) (bool, error) {
	for _, err := range r.Events(id, 0) {
		if err != nil && !inspect.IsUnreadable(err) {
			return false, err
		}
		gone, err := inspect.WasPurged(r, id)
		return !gone, err
	}
	return false, nil
}

// indexed reports whether the store finds a record under what it says.
func indexed(r driver.Reader, id string) (bool, error) {
	for place := ""; ; {
		wrong, next, err := r.Misindexed(place)
		if err != nil || slices.ContainsFunc(wrong, func(w driver.Misindexed) bool { return w.ID == id }) {
			return false, err
		}
		if place = next; place == "" {
			return true, nil
		}
	}
}
