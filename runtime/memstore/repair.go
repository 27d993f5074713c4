package memstore

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The operations of the mark that a purged record leaves, and of the events that
// were emptied.
const (
	opPurge  = "__purge"
	opPurged = "__purged"
)

// spot is the place where an event stands in the log of its record.
type spot struct{ rev, n int64 }

func spotOf(e *driver.Event) spot { return spot{e.Rev, e.N} }

// mark reports whether an event says that its record was purged.
func mark(e driver.Event) bool { return e.Operation == opPurge && e.RecordOnly() }

// Restore puts a row in the place of what is stored under its id.
func (v *view) Restore(row *driver.Row, e *driver.Event) error {
	t := v.table
	if len(row.Values) != len(v.schema.Columns) {
		return fmt.Errorf("memstore: the row of %q has %d values, %s has %d columns", row.ID, len(row.Values), v.schema.Machine, len(v.schema.Columns))
	}
	var old *driver.Row
	if stored, ok := t.rows[row.ID]; ok {
		old = &stored
	}
	if err := t.put(v.tx, v.schema, old, row); err != nil {
		return err
	}
	e.N = t.nextN(row.ID, e.Rev)
	t.note(v.tx, cloneEvent(*e))
	return nil
}

// Purge removes a finished record.
func (v *view) Purge(w *driver.Write) (bool, error) {
	t, id := v.table, w.Prev.ID
	for key := range t.outbox {
		if key.id == id {
			return false, nil
		}
	}
	if err := v.Write(w); err != nil {
		return false, err
	}
	row := t.rows[id]
	events := t.events[id]
	i, _ := slices.BinarySearch(t.ids, id)
	places := uniqueKeys(v.schema, &row)
	v.tx.later(func() {
		t.rows[id], t.events[id] = row, events
		t.ids = slices.Insert(t.ids, i, id)
		for _, k := range places {
			t.unique[k.text] = id
		}
	})
	for _, k := range places {
		delete(t.unique, k.text)
	}
	delete(t.rows, id)
	t.ids = slices.Delete(t.ids, i, i+1)
	t.renumber(v.tx, v.schema, &row, nil)
	var kept []driver.Event
	for _, e := range events {
		switch {
		case mark(e):
			kept = append(kept, e)
		case e.RequestN >= 0 || e.Rev == 1 && e.N == 0:
			kept = append(kept, driver.Event{ID: e.ID, Rev: e.Rev, N: e.N, Operation: opPurged, Name: opPurged, From: e.From, To: e.To, At: e.At,
				RequestID: e.RequestID, RequestN: e.RequestN, Fingerprint: e.Fingerprint, Version: e.Version})
		}
	}
	t.events[id] = kept
	left := map[spot]driver.Event{}
	for _, k := range kept {
		left[spotOf(&k)] = k
	}
	for i := range t.log {
		e := t.log[i]
		if e.ID != id {
			continue
		}
		v.tx.later(func() { t.log[i] = e })
		t.log[i] = left[spotOf(&e)]
	}
	for _, e := range events {
		if e.RequestID == "" {
			continue
		}
		for _, key := range requestKeys(&e) {
			t.resettle(v.tx, key, id, left)
		}
	}
	return true, nil
}

// Redact puts events with other contents in their places, and makes a write.
func (v *view) Redact(w *driver.Write, edited []driver.Event) (bool, error) {
	t, id := v.table, w.Prev.ID
	for key := range t.outbox {
		if key.id == id {
			return true, nil
		}
	}
	now := map[spot]driver.Event{}
	for _, e := range edited {
		now[spotOf(&e)] = cloneEvent(e)
	}
	edit := func(list []driver.Event) []driver.Event {
		list = slices.Clone(list)
		for i, e := range list {
			if next, ok := now[spotOf(&e)]; ok && e.ID == id {
				list[i] = next
			}
		}
		return list
	}
	events, log := t.events[id], t.log
	v.tx.later(func() { t.events[id], t.log = events, log })
	t.events[id], t.log = edit(events), edit(log)
	for _, e := range edited {
		if e.RequestID == "" {
			continue
		}
		for _, key := range requestKeys(&e) {
			old := t.requests[key]
			v.tx.later(func() { t.requests[key] = old })
			t.requests[key] = edit(old)
		}
	}
	return false, v.Write(w)
}

// resettle replaces what one record has under a request by what is kept of it.
func (t *table) resettle(tx *Tx, key requestKey, id string, left map[spot]driver.Event) {
	old := t.requests[key]
	var next []driver.Event
	for _, e := range old {
		if e.ID != id {
			next = append(next, e)
			continue
		}
		if k, ok := left[spotOf(&e)]; ok {
			next = append(next, k)
		}
	}
	if tx.later(func() { t.requests[key] = old }); next == nil {
		delete(t.requests, key)
		return
	}
	t.requests[key] = next
}

// Tombstones returns the marks of records that were purged before a time.
func (v *view) Tombstones(after string, before time.Time, limit int) ([]driver.Event, error) {
	var marks []driver.Event
	for _, id := range slices.Sorted(maps.Keys(v.table.events)) {
		if last := v.table.tombstone(id, before); last != nil && id > after {
			marks = append(marks, *last)
		}
		if limit > 0 && len(marks) == limit {
			break
		}
	}
	return marks, nil
}

// tombstone returns the mark that a log ends with, of a record that was purged before
// a time.
func (t *table) tombstone(id string, before time.Time) *driver.Event {
	events := t.events[id]
	if _, there := t.rows[id]; there || len(events) == 0 {
		return nil
	}
	if last := &events[len(events)-1]; mark(*last) && last.At.Before(before) {
		return last
	}
	return nil
}

// Forget removes what is left of a record that was purged before a time.
func (v *view) Forget(id string, before time.Time) (bool, error) {
	if v.tx.done {
		return false, errEnded
	}
	t := v.table
	if t.tombstone(id, before) == nil {
		return false, nil
	}
	events := t.events[id]
	v.tx.later(func() { t.events[id] = events })
	delete(t.events, id)
	for i := range t.log {
		if e := t.log[i]; e.ID == id {
			v.tx.later(func() { t.log[i] = e })
			t.log[i] = driver.Event{}
		}
	}
	for i := range events {
		if events[i].RequestID == "" {
			continue
		}
		for _, key := range requestKeys(&events[i]) {
			t.resettle(v.tx, key, id, nil)
		}
	}
	return true, nil
}
