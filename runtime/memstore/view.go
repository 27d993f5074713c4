package memstore

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// view reads and writes one machine's table within one transaction.
type view struct {
	tx     *Tx
	table  *table
	schema *driver.Schema
}

var errEnded = errors.New("memstore: the transaction has ended")

// Ended reports whether the transaction was committed or rolled back.
func (v *view) Ended() bool { return v.tx.done }

// Part runs f and takes back what it wrote when it fails.
func (v *view) Part(f func() error) error {
	mark := len(v.tx.undo)
	err := f()
	if err != nil && !v.tx.done {
		v.tx.back(mark)
	}
	return err
}

// Row returns the row, or ErrNotFound.
func (v *view) Row(id string) (driver.Row, error) {
	if v.tx.done {
		return driver.Row{}, errEnded
	}
	row, ok := v.table.rows[id]
	if !ok {
		return driver.Row{}, driver.ErrNotFound
	}
	return cloneRow(row), nil
}

// Rows returns the rows that fit.
func (v *view) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		rows, err := v.find(q)
		if err != nil {
			yield(driver.Row{}, err)
			return
		}
		for _, row := range rows {
			if !yield(cloneRow(row), nil) {
				return
			}
		}
	}
}

// Count returns how many rows fit.
func (v *view) Count(q driver.Query) (int64, error) {
	q.Order = nil
	rows, err := v.find(q)
	return int64(len(rows)), err
}

// CountStates returns how many rows are in each state.
func (v *view) CountStates(int) (map[string]int64, error) {
	counts := map[string]int64{}
	for _, id := range v.table.ids {
		counts[v.table.rows[id].State]++
	}
	return counts, nil
}

func (v *view) find(q driver.Query) ([]driver.Row, error) {
	if err := rows.Known(v.schema, &q); err != nil {
		return nil, fmt.Errorf("memstore: %w", err)
	}
	start := 0
	if q.After != "" && len(q.Order) == 0 {
		i, found := slices.BinarySearch(v.table.ids, q.After)
		if found {
			i++
		}
		start = i
	}
	var list []driver.Row
	for _, id := range v.table.ids[start:] {
		row := v.table.rows[id]
		if !rows.Fit(v.schema, &row, &q) || !rows.Behind(v.schema, &row, &q) {
			continue
		}
		list = append(list, row)
		if q.Limit > 0 && len(q.Order) == 0 && len(list) == q.Limit {
			break
		}
	}
	if len(q.Order) > 0 {
		rows.Sort(v.schema, list, q.Order)
		if q.Limit > 0 && len(list) > q.Limit {
			list = list[:q.Limit]
		}
	}
	return list, nil
}

// Events returns the log of a record from revision from on.
func (v *view) Events(id string, from int64) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		for _, e := range v.table.events[id] {
			if e.Rev >= from && !yield(cloneEvent(e), nil) {
				return
			}
		}
	}
}

// Request returns the events that carry the request id.
func (v *view) Request(id, requestID string) ([]driver.Event, error) {
	if requestID == "" {
		return nil, nil
	}
	var events []driver.Event
	for _, e := range v.table.requests[requestKey{id, requestID}] {
		events = append(events, cloneEvent(e))
	}
	return events, nil
}

// Log returns the events behind the cursor, which is the number of those up to it.
func (v *view) Log(after driver.Cursor, limit int) ([]driver.Entry, error) {
	start := 0
	if after != "" {
		n, err := strconv.Atoi(string(after))
		if err != nil || n < 1 || n > len(v.table.log) || strconv.Itoa(n) != string(after) {
			return nil, fmt.Errorf("memstore: %s: %q: %w", v.schema.Machine, after, driver.ErrCursor)
		}
		start = n
	}
	var list []driver.Entry
	for i, e := range v.table.log[start:] {
		if limit > 0 && len(list) == limit {
			break
		}
		if e.ID == "" {
			continue // it was purged; its place stays, so that cursors do
		}
		list = append(list, driver.Entry{Event: cloneEvent(e), Cursor: driver.Cursor(strconv.Itoa(start + i + 1))})
	}
	return list, nil
}

// Newest returns the events before the cursor, the last one first.
func (v *view) Newest(before driver.Cursor, limit int) ([]driver.Entry, error) {
	end := len(v.table.log)
	if before != "" {
		n, err := strconv.Atoi(string(before))
		if err != nil || n < 1 || strconv.Itoa(n) != string(before) {
			return nil, fmt.Errorf("memstore: %s: %q: %w", v.schema.Machine, before, driver.ErrCursor)
		}
		end = min(n-1, end)
	}
	var list []driver.Entry
	for i := end; i > 0 && (limit <= 0 || len(list) < limit); i-- {
		if e := v.table.log[i-1]; e.ID != "" {
			list = append(list, driver.Entry{Event: cloneEvent(e), Cursor: driver.Cursor(strconv.Itoa(i))})
		}
	}
	return list, nil
}

// Outbox returns deliveries that are due, oldest first.
func (v *view) Outbox(due time.Time, limit int) ([]driver.Delivery, error) {
	return atMost(v.due(due, func(*driver.Delivery) bool { return true }), limit), nil
}

// Delivery returns one delivery, or ErrNotFound.
func (v *view) Delivery(id string, rev, n int64) (driver.Delivery, error) {
	d, ok := v.table.outbox[deliveryKey{id, rev, n}]
	if !ok {
		return driver.Delivery{}, driver.ErrNotFound
	}
	return d, nil
}

// due returns the deliveries that are due and fit, oldest first.
func (v *view) due(due time.Time, fits func(*driver.Delivery) bool) (list []driver.Delivery) {
	for _, d := range v.table.outbox {
		if !d.Due.After(due) && fits(&d) {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b driver.Delivery) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.N, b.N))
	})
	return list
}

func atMost(list []driver.Delivery, limit int) []driver.Delivery {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}

// Effects returns the names of the effects of which a delivery is due.
func (v *view) Effects(due time.Time) ([]string, error) {
	names := map[string]bool{}
	for _, d := range v.table.outbox {
		if !d.Due.After(due) {
			names[d.Effect] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Orphans returns ids that have events but no row.
func (v *view) Orphans(after string, limit int) ([]string, error) {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(v.table.events)) {
		if _, ok := v.table.rows[id]; !ok && id > after && !slices.ContainsFunc(v.table.events[id], mark) {
			ids = append(ids, id)
		}
		if limit > 0 && len(ids) == limit {
			break
		}
	}
	return ids, nil
}

// WriteMany makes writes part of the transaction.
func (v *view) WriteMany(ws []*driver.Write) error {
	for _, w := range ws {
		if err := v.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// Write makes one write part of the transaction.
func (v *view) Write(w *driver.Write) error {
	if v.tx.done {
		return errEnded
	}
	t, e := v.table, &w.Event
	id := w.Prev.ID
	old, found := t.rows[id]
	creates := w.Prev.Rev == 0
	switch {
	case t.taken(e):
		return driver.ErrRequestTaken
	case creates && (found || len(t.events[id]) > 0):
		return driver.ErrIDTaken
	case !creates && (!found || old.Rev != w.Prev.Rev || old.State != w.PrevState),
		!creates && w.Row != nil && w.Old != nil && !driver.SameRow(&old, w.Old):
		return driver.ErrMoved
	}
	if w.Row == nil {
		if creates {
			return fmt.Errorf("memstore: a creation of %q without a row", id)
		}
		e.N = t.nextN(id, e.Rev)
	} else {
		if len(w.Row.Values) != len(v.schema.Columns) {
			return fmt.Errorf("memstore: the row of %q has %d values, %s has %d columns",
				id, len(w.Row.Values), v.schema.Machine, len(v.schema.Columns))
		}
		prev := &old
		if creates {
			prev = nil
		}
		if err := t.put(v.tx, v.schema, prev, w.Row); err != nil {
			return err
		}
		if w.Leave {
			t.settle(v.tx, deliveryKey{id, w.Prev.Rev, 0})
		}
	}
	t.note(v.tx, cloneEvent(*e))
	for _, d := range w.Outbox {
		t.ask(v.tx, d)
	}
	return nil
}

// Peers counts the other records of a group.
func (v *view) Peers(q driver.PeerQuery) (int64, error) {
	where, whole := v.group(q)
	if !whole || q.Hold {
		return 0, nil
	}
	rows, err := v.find(driver.Query{States: q.States, Where: where})
	if err != nil {
		return 0, err
	}
	var n int64
	for _, row := range rows {
		if row.ID != q.Except {
			n++
		}
	}
	return n, nil
}

// group returns the conditions that make the group; whole is false when one of
// its values is absent.
func (v *view) group(q driver.PeerQuery) (where []driver.Cond, whole bool) {
	for i, c := range q.Columns {
		if q.Values[i] == nil {
			return nil, false
		}
		where = append(where, driver.Cond{Column: c, Op: driver.OpEq, Value: q.Values[i]})
	}
	return where, true
}

// Claim gives deliveries of an effect to its caller, fresh ones first.
func (v *view) Claim(effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
	list := v.due(now, func(d *driver.Delivery) bool { return d.Effect == effect })
	slices.SortStableFunc(list, func(a, b driver.Delivery) int { return cmp.Compare(min(a.Attempts, 1), min(b.Attempts, 1)) })
	list = atMost(list, limit)
	for i := range list {
		d := &list[i]
		d.Claim(until)
		v.put(*d)
	}
	return list, nil
}

// put changes a delivery that is there.
func (v *view) put(d driver.Delivery) {
	t, key := v.table, deliveryKey{d.ID, d.Rev, d.N}
	old := t.outbox[key]
	t.outbox[key] = d
	v.tx.later(func() { t.outbox[key] = old })
}

// at returns a delivery at an attempt, if it is there.
func (v *view) at(id string, rev, n int64, attempt int) (driver.Delivery, bool) {
	d, ok := v.table.outbox[deliveryKey{id, rev, n}]
	return d, ok && d.Attempts == attempt
}

// Settle removes a delivery.
func (v *view) Settle(id string, rev, n int64, attempt int) (bool, error) {
	_, ok := v.at(id, rev, n, attempt)
	if ok {
		v.table.settle(v.tx, deliveryKey{id, rev, n})
	}
	return ok, nil
}

// Postpone notes a failed attempt.
func (v *view) Postpone(id string, rev, n int64, attempt int, due time.Time, lastError string) (bool, error) {
	d, ok := v.at(id, rev, n, attempt)
	if ok {
		d.Due, d.LastError = due, lastError
		v.put(d)
	}
	return ok, nil
}

func cloneEvent(e driver.Event) driver.Event {
	e.Labels = maps.Clone(e.Labels)
	return e
}
