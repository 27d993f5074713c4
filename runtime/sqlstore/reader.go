package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// reader reads one machine's tables in one transaction.
type reader struct {
	ctx context.Context
	t   *table
	q   querier
	err error // the first error of the database: nothing is believed after it
	ran bool  // a statement, so the isolation of the transaction is settled

	locked bool // it has locked the rows that it found

	cause error // err in the words of the database
}

// chunk is how many rows one query fetches. The rows of a chunk are read before
// the caller sees the first, so a caller may query and write between two rows.
const chunk = 256

// each runs a query and calls f for each row. It keeps the first error of the
// database.
func (r *reader) each(text string, args []any, f func(Rows) error) error {
	if r.err != nil {
		return r.err
	}
	r.ran = true
	var own error // of f
	err := r.q.query(r.ctx, func(rows Rows) error { own = f(rows); return own }, text, args...)
	if err != nil && own == nil {
		return r.fail(err)
	}
	return own
}

// fail notes that the transaction can no longer be trusted: some errors make
// the database take it back, and what followed would stand by itself.
func (r *reader) fail(err error) error {
	if r.err == nil {
		r.cause = err
	}
	err = r.t.fault("read or write", err)
	if done := r.ctx.Err(); done != nil {
		err = done // the database was interrupted, in words of its own
	}
	if r.err == nil {
		r.err = err
	}
	return err
}

// found reports whether a query has a row.
func (r *reader) found(text string, args ...any) (bool, error) {
	found := false
	err := r.each(text, args, func(Rows) error { found = true; return nil })
	return found, err
}

// integer returns the integer of a query's only row; ok is false without a row.
func (r *reader) integer(text string, args ...any) (n int64, ok bool, err error) {
	err = r.each(text, args, func(rows Rows) error { ok = true; return rows.Scan(&n) })
	return n, ok, err
}

// Row returns the row, or ErrNotFound.
func (r *reader) Row(id string) (driver.Row, error) { return r.one(r.t.text("row"), id) }

func (r *reader) one(text, id string) (driver.Row, error) {
	var row driver.Row
	found := false
	err := r.each(text, []any{id}, func(rows Rows) (err error) {
		found = true
		row, err = r.t.rowOf(rows)
		return err
	})
	if err == nil && !found {
		err = driver.ErrNotFound
	}
	return row, err
}

func (r *reader) rows(q *driver.Query) ([]driver.Row, error) {
	b, err := r.t.selectRows(q)
	if err != nil {
		return nil, err
	}
	statement := b.String()
	if q.Lock {
		if q.Wait {
			statement += r.t.dialect.hold()
		} else {
			statement += r.t.dialect.lock()
		}
		r.locked = true
	}
	var list []driver.Row
	err = r.each(statement, b.args, func(rows Rows) error {
		row, err := r.t.rowOf(rows)
		list = append(list, row)
		return err
	})
	return list, err
}

// Rows returns the rows that fit the query, in its order. In the order of ids
// it fetches chunk after chunk; in another order, all up to the limit at once.
func (r *reader) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		left := q.Limit
		if left <= 0 {
			left = math.MaxInt
		}
		if q.Park != nil && !q.Stir.IsZero() {
			stirred, err := r.stirred(q.Park, q.Stir)
			if err == nil && stirred {
				err = driver.ErrStir
			}
			if err != nil {
				yield(driver.Row{}, err)
				return
			}
		}
		for left > 0 {
			if len(q.Order) == 0 {
				q.Limit = min(left, chunk)
			}
			list, err := r.rows(&q)
			if err != nil {
				yield(driver.Row{}, err)
				return
			}
			for _, row := range list {
				if !yield(row, nil) {
					return
				}
			}
			if len(q.Order) > 0 || len(list) < q.Limit {
				return
			}
			left -= len(list)
			q.After = list[len(list)-1].ID
		}
	}
}

// Count returns how many rows fit the query.
func (r *reader) Count(q driver.Query) (int64, error) {
	b := &text{d: r.t.dialect}
	b.WriteString("SELECT " + r.t.says("count") + "count(*) FROM ")
	if q.Limit > 0 {
		b.WriteString("(SELECT 1 AS \"one\" FROM ")
	}
	b.WriteString(r.t.name)
	if err := r.t.where(b, &q); err != nil {
		return 0, err
	}
	if q.Limit > 0 {
		b.WriteString(b.most(q.Limit) + ") AS \"some\"")
	}
	n, _, err := r.integer(b.String(), b.args...)
	return n, err
}

// CountStates returns how many rows are in each state. Where states have an index, they are counted one by one, up to the bound;
// else all rows are looked at once.
func (r *reader) CountStates(most int) (map[string]int64, error) {
	counts := map[string]int64{}
	if !r.t.dialect.server() {
		for _, s := range r.t.schema.States {
			n, err := r.Count(driver.Query{States: []string{s.Stored}, Limit: most})
			if err != nil {
				return nil, err
			}
			counts[s.Stored] = n
		}
		return counts, nil
	}
	err := r.each("SELECT "+r.t.says("count")+`"state", count(*) FROM `+r.t.name+` GROUP BY "state"`, nil, func(rows Rows) error {
		var state string
		var n int64
		err := rows.Scan(&state, &n)
		counts[state] = n
		return err
	})
	return counts, err
}

// patient lifts the limits of a statement that reads the whole table: its time grows
// with the table, so the caller's context alone ends it. hasten sets ours again; the
// server's is lifted for the rest of the transaction.
func (r *reader) patient() (hasten func(), err error) {
	s, alone := r.q.(*session)
	if !alone || s.limit == 0 {
		return func() {}, nil
	}
	if _, err := s.exec(r.ctx, "SET LOCAL statement_timeout = 0"); err != nil {
		return nil, r.fail(err)
	}
	limit := s.limit
	s.limit = 0
	return func() { s.limit = limit }, nil
}

func (r *reader) events(text string, args ...any) ([]driver.Event, error) {
	var list []driver.Event
	err := r.each(text, args, func(rows Rows) error {
		e, err := r.t.eventOf(rows)
		list = append(list, e)
		return err
	})
	return list, err
}

// readable is events for a log of which some row is no event. It returns what is wrong by the place in the list.
func (r *reader) readable(text string, args ...any) (list []driver.Event, broken map[int]*driver.EventError, err error) {
	broken = map[int]*driver.EventError{}
	err = r.each(text, args, func(rows Rows) error {
		e, err := r.t.eventOrPlace(rows)
		var unreadable *driver.EventError
		if errors.As(err, &unreadable) {
			broken[len(list)], err = unreadable, nil
		}
		list = append(list, e)
		return err
	})
	return list, broken, err
}

// few is how many events the first query of a log fetches, for most readers want
// the first ones only; each query after it fetches eight times as many, up to a chunk.
const few = 4

// Events returns the log of a record from revision from on, chunk after chunk.
func (r *reader) Events(id string, from int64) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		rev, n := from, int64(-1)
		for limit := few; ; limit = min(limit*8, chunk) {
			list, err := r.events(r.t.text("history"), id, rev, n, limit)
			var broken map[int]*driver.EventError
			if unscanned(err) {
				list, broken, err = r.readable(r.t.text("history"), id, rev, n, limit)
			}
			if err != nil {
				yield(driver.Event{}, err)
				return
			}
			for i, e := range list {
				var err error
				if unreadable := broken[i]; unreadable != nil {
					err = unreadable
				}
				if !yield(e, err) {
					return
				}
			}
			if len(list) < limit {
				return
			}
			last := &list[len(list)-1]
			rev, n = last.Rev, last.N
		}
	}
}

// Request returns the events that carry the request id.
func (r *reader) Request(id, requestID string) ([]driver.Event, error) {
	switch {
	case requestID == "":
		return nil, nil
	case id == "":
		return r.events(r.t.text("request_of_machine"), requestID)
	}
	return r.events(r.t.text("request"), id, requestID)
}

// unlimited stands for no limit; every database takes it.
func unlimited(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}

// Outbox returns deliveries that are due, oldest first.
func (r *reader) Outbox(due time.Time, limit int) ([]driver.Delivery, error) {
	return r.deliveries(r.t.text("due"), r.t.bind(due), unlimited(limit))
}

// Delivery returns one delivery, or ErrNotFound.
func (r *reader) Delivery(id string, rev, n int64) (driver.Delivery, error) {
	list, err := r.deliveries(r.t.text("asked"), id, rev, n)
	if err != nil || len(list) == 0 {
		return driver.Delivery{}, cmp.Or(err, driver.ErrNotFound)
	}
	return list[0], nil
}

// Effects returns the names of the effects of which a delivery is due.
func (r *reader) Effects(due time.Time) ([]string, error) {
	return r.ids(r.t.text("due_effects"), r.t.bind(due))
}

func (r *reader) deliveries(text string, args ...any) ([]driver.Delivery, error) {
	var list []driver.Delivery
	err := r.each(text, args, func(rows Rows) error {
		var d driver.Delivery
		err := rows.Scan(&d.ID, &d.Rev, &d.N, &d.Effect, &d.Key, &d.Attempts, (*instant)(&d.Due), &d.LastError)
		list = append(list, d)
		return err
	})
	return list, err
}

// ids returns the texts of a query's only column.
func (r *reader) ids(text string, args ...any) (list []string, err error) {
	err = r.each(text, args, func(rows Rows) error {
		list = append(list, "")
		return rows.Scan(&list[len(list)-1])
	})
	return list, err
}
