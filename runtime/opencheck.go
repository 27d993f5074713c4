package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
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
	run := m.health.Begin(false, m.now())
	total, err := m.total(ctx)
	if err != nil {
		return m.openCheck(err)
	}
	run.Expect(total)
	var first *inspect.Finding
	var rule *driver.UniqueRule
	err = inspect.Doubles(ctx, m.Engine(), func(u *driver.UniqueRule, f inspect.Finding) bool {
		first, rule = &f, u
		return false
	})
	if first != nil {
		refused := m.refusal(ErrNotUnique, nil, first.ID, "")
		refused.Name, refused.Cause = rule.Name, rule.Err
		refused.Message = first.Message + "; what one record may do alone may have been done twice. " +
			"Open it with WithOpenCheck(-1) to look at the records and fix them"
		return refused
	}
	if err != nil {
		return m.openCheck(err)
	}
	if total <= m.options.check {
		err := m.checkRecords(ctx, run)
		run.End(err, m.now())
		return m.openCheck(err)
	}
	go func() { // it ends with the records or with the store
		err := m.checkRecords(context.WithoutCancel(ctx), run)
		run.End(err, m.now())
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
func (m *Machine[R]) checkRecords(ctx context.Context, run *inspect.CheckRun) error {
	engine := m.Engine()
	for row, err := range inspect.Rows(ctx, m.table, driver.Query{}) {
		if err != nil {
			return err
		}
		found, _, _ := inspect.OfRow(engine, &row, byItself)
		bad := false
		for i := range found {
			run.Found(&found[i])
			bad = bad || found[i].Must
		}
		run.Record(bad)
	}
	return m.looseRows(ctx, func(id string, told bool) {
		m.quarantine.Store(id, struct{}{})
		if !told {
			run.Found(&inspect.Finding{ID: id, Check: inspect.CheckFold})
			run.Change(func(h *inspect.Health) { h.Quarantined++ })
		}
	})
}

// byItself adds nothing to what a rule says of a row: the log is not read.
func byItself(text string) string { return text }

// looseRows calls f for the rows that their log does not end with; told is set
// for those that are reported for what they are already.
func (m *Machine[R]) looseRows(ctx context.Context, f func(id string, told bool)) error {
	engine := m.Engine()
	for after := ""; ; {
		var ids []string
		var told []bool
		err := m.table.View(ctx, func(r driver.Reader) (err error) {
			told = nil
			if ids, err = r.Loose(after, inspect.PageSize); err != nil {
				return err
			}
			for _, id := range ids {
				row, err := r.Row(id)
				if err != nil {
					return err
				}
				found, _, _ := inspect.OfRow(engine, &row, byItself)
				told = append(told, slices.ContainsFunc(found, func(f inspect.Finding) bool { return f.Must }))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, id := range ids {
			f(id, told[i])
		}
		if len(ids) < inspect.PageSize {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// wasLoose reports whether a check at open has quarantined a record.
func (m *Machine[R]) wasLoose(id string) bool {
	_, loose := m.quarantine.Load(id)
	return loose
}

// isLoose reports whether a record that a check at open has quarantined is still
// as it was then; one that is not is free again.
func (m *Machine[R]) isLoose(r driver.Reader, id string) (bool, error) {
	if !m.wasLoose(id) {
		return false, nil
	}
	row, err := r.Row(id)
	if err != nil && !errors.Is(err, driver.ErrNotFound) {
		return false, err
	}
	loose := false
	if err == nil {
		if loose, err = inspect.LooseRow(r, &row); err != nil {
			return false, err
		}
	}
	if !loose {
		m.quarantine.Delete(id)
	}
	return loose, nil
}

// total counts the records.
func (m *Machine[R]) total(ctx context.Context) (n int64, err error) {
	err = m.table.View(ctx, func(r driver.Reader) (err error) {
		n, err = r.Count(driver.Query{})
		return err
	})
	return n, err
}
