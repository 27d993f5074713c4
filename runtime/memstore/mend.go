package memstore

import (
	"fmt"
	"slices"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

var _ fsm.Mender = (*view)(nil)

// The operations of the mark that a buried record leaves, and of the events that
// were emptied.
const (
	opPurge  = "__purge"
	opPurged = "__purged"
)

// spot is the place where an event stands in the log of its record.
type spot struct{ rev, n int64 }

func spotOf(e *fsm.Event) spot { return spot{e.Rev, e.N} }

// mark reports whether an event says that its record was buried.
func mark(e fsm.Event) bool { return e.Operation == opPurge && e.RecordOnly() }

// Restore puts a row in the place of what is stored under its id.
func (v *view) Restore(row *fsm.Row, e *fsm.Event) error {
	t := v.table
	if len(row.Values) != len(v.schema.Columns) {
		return fmt.Errorf("memstore: the row of %q has %d values, %s has %d columns", row.ID, len(row.Values), v.schema.Machine, len(v.schema.Columns))
	}
	var old *fsm.Row
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

// Bury removes a finished record.
func (v *view) Bury(w *fsm.Write) (bool, error) {
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
	var kept []fsm.Event
	for _, e := range events {
		switch {
		case mark(e):
			kept = append(kept, e)
		case e.RequestN >= 0 || e.Rev == 1 && e.N == 0:
			kept = append(kept, fsm.Event{ID: e.ID, Rev: e.Rev, N: e.N, Operation: opPurged, Name: opPurged, From: e.From, To: e.To, At: e.At,
				RequestID: e.RequestID, RequestN: e.RequestN, Fingerprint: e.Fingerprint, Version: e.Version})
		}
	}
	t.events[id] = kept
	left := map[spot]fsm.Event{}
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

// resettle replaces what one record has under a request by what is kept of it.
func (t *table) resettle(tx *Tx, key requestKey, id string, left map[spot]fsm.Event) {
	old := t.requests[key]
	var next []fsm.Event
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
