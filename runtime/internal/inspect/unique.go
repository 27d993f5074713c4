package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Doubles calls f for each group of records that break a unique rule, until it
// returns false.
func Doubles[R any](ctx context.Context, m *Engine[R], f func(u *driver.UniqueRule, found Finding) bool) error {
	for i := range m.Schema.Uniques {
		u := &m.Schema.Uniques[i]
		for after := ""; ; {
			var list []driver.Double
			next := ""
			err := m.Table.View(ctx, func(r driver.Reader) (err error) {
				if list, err = r.Doubles(u, after, PageSize); len(list) == PageSize {
					next = list[len(list)-1].First
				}
				return err
			})
			if err != nil {
				return err
			}
			for _, d := range list {
				found := Finding{ID: d.First, Check: CheckUnique, Must: true,
					Message: fmt.Sprintf("the unique rule %s gives one place to one record, %d hold it: %q to %q", u.Name, d.Count, d.First, d.Last)}
				if !f(u, found) {
					return nil
				}
			}
			if after = next; after == "" {
				break
			}
		}
	}
	return nil
}

// PlaceOf returns the query of all rows that hold the row's place of a unique
// rule; holds is false when it holds none.
func PlaceOf(s *driver.Schema, u *driver.UniqueRule, row *driver.Row) (q driver.Query, holds bool) {
	if u.States != nil && !slices.Contains(u.States, row.State) {
		return q, false
	}
	q.States = u.States
	for _, name := range u.Columns {
		v := row.Values[s.Column(name)]
		if v == nil {
			return q, false
		}
		q.Where = append(q.Where, driver.Cond{Column: name, Op: driver.OpEq, Value: v})
	}
	return q, true
}

// LooseRow reports whether the log does not end with the row.
func LooseRow(r driver.Reader, row *driver.Row) (bool, error) {
	ends := false
	for e, err := range r.Events(row.ID, row.Rev) {
		if IsUnreadable(err) {
			if e.RecordOnly() {
				continue
			}
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if e.RecordOnly() {
			continue
		}
		if e.Rev > row.Rev {
			return true, nil
		}
		ends = e.To == row.State
	}
	return !ends, nil
}

// SameConds reports whether two conditions are one.
func SameConds(a, b []driver.Cond) bool {
	return slices.EqualFunc(a, b, func(a, b driver.Cond) bool {
		return a.Column == b.Column && a.By == b.By && a.Op == b.Op && a.Now == b.Now && driver.Same(a.Value, b.Value)
	})
}
