package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// PageSize is how many rows or events are read at once, so that no transaction
// stays open while the caller looks at them.
const PageSize = 256

// Rows reads the rows of a query page by page.
func Rows(ctx context.Context, table driver.Table, q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		left := q.Limit
		for {
			page := q
			if len(q.Order) == 0 {
				page.Limit = PageSize
				if left > 0 {
					page.Limit = min(left, PageSize)
				}
			}
			var rows []driver.Row
			err := table.Look(ctx, func(r driver.Reader) (err error) { // a page is one list
				rows, err = Collect(r, page)
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

// Collect reads the rows of a query to the end, so that writes may follow.
func Collect(r driver.Reader, q driver.Query) ([]driver.Row, error) {
	var rows []driver.Row
	for row, err := range r.Rows(q) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// RowAt folds the row as of revision rev. With first, the event of that
// revision which a request led to, it goes on over the steps that followed in
// its transaction, and returns first and them.
func RowAt(s *driver.Schema, r driver.Reader, id string, rev int64, first *driver.Event) (driver.Row, []driver.Event, error) {
	from := max(1, rev-rev%driver.ImageEvery)
	for {
		row, events, err := foldFrom(s, r, id, from, rev, first)
		if err == nil || from == 1 {
			return row, events, err
		}
		from = 1 // the log may have come from somewhere without images, or from a program that does not know all fields
	}
}

func foldFrom(s *driver.Schema, r driver.Reader, id string, from, rev int64, first *driver.Event) (row driver.Row, chain []driver.Event, err error) {
	if first != nil {
		chain = []driver.Event{*first}
	}
	for e, err := range r.Events(id, from) {
		if err != nil {
			return row, nil, err
		}
		if e.Rev > rev || first != nil && e.Rev == rev && e.N > first.N {
			if first == nil || e.RequestID != "" { // a step of `then` has none in the transaction of what it follows
				break
			}
			chain = append(chain, e)
		}
		if row.Rev == 0 && from > 1 && e.Partial(s) {
			return row, nil, errPartial
		}
		if err := row.Fold(s, &e); err != nil {
			return row, nil, fmt.Errorf("fold %s %q at revision %d: %w", s.Machine, id, e.Rev, err)
		}
	}
	if row.Rev < rev {
		return row, nil, fmt.Errorf("fold %s %q: the log ends at revision %d, before %d: %w",
			s.Machine, id, row.Rev, rev, ErrLogShort)
	}
	return row, chain, nil
}

var (
	// ErrLogShort says that a log ends before the revision that was asked for.
	ErrLogShort = errors.New("the log is too short")
	errPartial  = errors.New("the image does not hold all fields")
)

// WasPurged reports whether the log of an id without a row says that its record was
// removed.
func WasPurged(r driver.Reader, id string) (bool, error) {
	for e, err := range r.Events(id, 0) {
		if err != nil {
			return false, err
		}
		if e.Operation == driver.OpPurge && e.RecordOnly() {
			return true, nil
		}
	}
	return false, nil
}
