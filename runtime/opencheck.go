package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// defaultCheck is how many records NewMachine checks before it returns.
const defaultCheck = 100_000

// checkAtOpen looks at what is cheap to look at: unique rules, which a store
// must not break to be opened, and of each record its words, its rules and the
// end of its log. Records that break one of these are quarantined.
func (m *Machine[R]) checkAtOpen(ctx context.Context) error {
	if m.options.check < 0 {
		return nil
	}
	run := m.health.begin(false, m.now())
	total, err := m.total(ctx)
	if err != nil {
		return m.openCheck(err)
	}
	run.expect(total)
	inspects := false
	err = m.table.View(ctx, func(r driver.Reader) error {
		_, inspects = r.(driver.Inspector)
		return nil
	})
	if err != nil {
		return m.openCheck(err)
	}
	ahead := inspects || total <= m.options.check
	if ahead {
		var first *Finding
		var rule *driver.UniqueRule
		err := m.doubles(ctx, func(u *driver.UniqueRule, f Finding) bool {
			first, rule = &f, u
			return false
		})
		if first != nil {
			refused := m.refusal(CodeNotUnique, nil, first.ID, "")
			refused.Name, refused.Cause = rule.Name, rule.Err
			refused.Message = first.Message + "; what one record may do alone may have been done twice. " +
				"Open it with WithOpenCheck(-1) to look at the records and mend them"
			return refused
		}
		if err != nil {
			return m.openCheck(err)
		}
	}
	if total <= m.options.check {
		err := m.checkRecords(ctx, run, !ahead)
		run.end(err, m.now())
		return m.openCheck(err)
	}
	go func() { // it ends with the records or with the store
		err := m.checkRecords(context.WithoutCancel(ctx), run, !ahead)
		run.end(err, m.now())
	}()
	return nil
}

func (m *Machine[R]) openCheck(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("open %s: check the records: %w", m.schema.Machine, err)
}

// checkRecords looks at every row and at the end of every log.
func (m *Machine[R]) checkRecords(ctx context.Context, run *checkRun, uniques bool) error {
	for row, err := range m.rows(ctx, driver.Query{}) {
		if err != nil {
			return err
		}
		x := inspection[R]{m: m, id: row.ID, foldErr: errLogShort} // the log is not read
		x.row(&row)
		bad := false
		for i := range x.found {
			run.found(&x.found[i])
			bad = bad || x.found[i].Must
		}
		run.record(bad)
	}
	err := m.looseRows(ctx, func(id string, told bool) {
		m.quarantine.Store(id, struct{}{})
		if !told {
			run.found(&Finding{ID: id, Check: CheckFold})
			run.change(func(h *Health) { h.Quarantined++ })
		}
	})
	if err != nil || !uniques {
		return err
	}
	return m.doubles(ctx, func(_ *driver.UniqueRule, f Finding) bool {
		run.found(&f)
		return true
	})
}

// looseRows calls f for the rows that their log does not end with; told is set
// for those that are reported for what they are already.
func (m *Machine[R]) looseRows(ctx context.Context, f func(id string, told bool)) error {
	for after := ""; ; {
		var ids []string
		var told []bool
		inspects, last, read := false, "", 0
		err := m.table.View(ctx, func(r driver.Reader) (err error) {
			ids, told = nil, nil
			add := func(row *driver.Row) {
				x := inspection[R]{m: m, id: row.ID, foldErr: errLogShort}
				x.row(row)
				ids = append(ids, row.ID)
				told = append(told, slices.ContainsFunc(x.found, func(f Finding) bool { return f.Must }))
			}
			var in driver.Inspector
			if in, inspects = r.(driver.Inspector); inspects {
				list, err := in.Loose(after, pageSize)
				for _, id := range list {
					row, err := r.Row(id)
					if err != nil {
						return err
					}
					add(&row)
				}
				return err
			}
			rows, err := collect(r, driver.Query{After: after, Limit: pageSize})
			if err != nil {
				return err
			}
			read = len(rows)
			for i := range rows {
				last = rows[i].ID
				loose, err := looseRow(r, &rows[i])
				if err != nil {
					return err
				}
				if loose {
					add(&rows[i])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, id := range ids {
			f(id, told[i])
		}
		switch {
		case inspects && len(ids) == pageSize:
			after = ids[len(ids)-1]
		case !inspects && read == pageSize:
			after = last
		default:
			return nil
		}
	}
}

// looseRow reports whether the log does not end with the row.
func looseRow(r driver.Reader, row *driver.Row) (bool, error) {
	ends := false
	for e, err := range r.Events(row.ID, row.Rev) {
		if isUnreadable(err) {
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

// doubles calls f for each group of records that break a unique rule, until it
// returns false.
func (m *Machine[R]) doubles(ctx context.Context, f func(u *driver.UniqueRule, found Finding) bool) error {
	for i := range m.schema.Uniques {
		u := &m.schema.Uniques[i]
		for after := ""; ; {
			var list []driver.Double
			next := ""
			err := m.table.View(ctx, func(r driver.Reader) (err error) {
				if in, ok := r.(driver.Inspector); ok {
					list, err = in.Doubles(u, after, pageSize)
					if len(list) == pageSize {
						next = list[len(list)-1].First
					}
					return err
				}
				list, next, err = m.searchDoubles(r, u, after)
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

// searchDoubles looks at one page of rows, each with a query of its own.
func (m *Machine[R]) searchDoubles(r driver.Reader, u *driver.UniqueRule, after string) (list []driver.Double, next string, err error) {
	rows, err := collect(r, driver.Query{After: after, Limit: pageSize})
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		row := &rows[i]
		q, holds := placeOf(m.schema, u, row)
		if !holds {
			continue
		}
		n, err := r.Count(q)
		if err != nil {
			return nil, "", err
		}
		if n < 2 {
			continue
		}
		d := driver.Double{Count: n}
		for other, err := range r.Rows(q) {
			if err != nil {
				return nil, "", err
			}
			if d.First == "" {
				d.First = other.ID
			}
			d.Last = other.ID
		}
		if d.First == row.ID { // the group is told once
			list = append(list, d)
		}
	}
	if len(rows) == pageSize {
		next = rows[len(rows)-1].ID
	}
	return list, next, nil
}

// placeOf returns the query of all rows that hold the row's place of a unique
// rule; holds is false when it holds none.
func placeOf(s *driver.Schema, u *driver.UniqueRule, row *driver.Row) (q driver.Query, holds bool) {
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

// auditUniques yields the groups of records that share a place, and returns the
// rules that some do.
func (m *Machine[R]) auditUniques(ctx context.Context, yield func(Finding) bool) (shared []*driver.UniqueRule, err error) {
	broken := false
	err = m.doubles(ctx, func(u *driver.UniqueRule, f Finding) bool {
		if !slices.Contains(shared, u) {
			shared = append(shared, u)
		}
		broken = !yield(f)
		return !broken
	})
	if broken {
		return nil, errBrokenOff
	}
	return shared, err
}

// isLoose reports whether a record that a check at open has quarantined is still
// as it was then; one that is not is free again.
func (m *Machine[R]) isLoose(r driver.Reader, id string) (bool, error) {
	if _, held := m.quarantine.Load(id); !held {
		return false, nil
	}
	row, err := r.Row(id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	loose := false
	if err == nil {
		if loose, err = looseRow(r, &row); err != nil {
			return false, err
		}
	}
	if !loose {
		m.quarantine.Delete(id)
	}
	return loose, nil
}
