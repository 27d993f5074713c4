package etcdstore

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The operations of the mark that a purged record leaves, and of the events that
// were emptied.
const (
	opPurge  = "__purge"
	opPurged = "__purged"
)

// isMark reports whether an event says that its record was purged.
func isMark(e *driver.Event) bool { return e.Operation == opPurge && e.RecordOnly() }

// Restore puts a row in the place of what is stored under its id. What the
// indexes and unique places say of the record is made anew: nobody knows what a
// hand has done to them, so all of the table's are read.
func (x *txn) Restore(row *driver.Row, e *driver.Event) error {
	if err := x.claim(partRow + row.ID); err != nil {
		return err
	}
	t, id := x.t, row.ID
	w := &driver.Write{Prev: row.Ref(), PrevState: row.State, Row: row, Event: *e}
	if err := t.check(w); err != nil {
		return err
	}
	x.last = w
	key, step := t.keys.row(id), t.keys.event(id, row.Rev, 0)
	if err := x.load(key, step); err != nil {
		return err
	}
	x.track(key)
	text, found, err := x.get(step)
	if err != nil {
		return err
	}
	var chain uint32
	if found {
		led, err := decodeEvent(id, text)
		if err != nil {
			return err
		}
		chain = led.Chain
	}
	if err := x.reshelve(row); err != nil {
		return err
	}
	if text, err = encodeRow(t.schema, row, chain); err != nil {
		return err
	}
	x.over.put(key, text)
	x.over.put(t.keys.written(), nil)
	if e.N, chain, err = x.numbered(id, e.Rev, chain); err != nil {
		return err
	}
	return t.append(x.over, x.rev, e, driver.Chained(chain, e))
}

// reshelve makes the indexes and places of a record what its row says.
func (x *txn) reshelve(row *driver.Row) error {
	t := x.t
	wanted := map[string][]byte{}
	for _, e := range t.indexes(row) {
		wanted[e.key] = []byte(e.value)
	}
	for _, p := range t.taken(row) {
		holder, taken, err := x.get(p.key)
		switch {
		case err != nil:
			return err
		case taken && string(holder) != row.ID:
			if holds, err := x.holds(string(holder), p); holds || err != nil {
				return errors.Join(err, &driver.ConflictError{Rule: p.rule})
			}
		}
		x.track(p.key)
		wanted[p.key] = []byte(row.ID)
	}
	ours := func(e entry, part string) bool {
		switch part {
		case partState:
			_, id, _ := strings.Cut(strings.TrimPrefix(e.key, t.keys.base+part), "\x00")
			return id == row.ID
		case partIndex:
			_, id := cutIndexed(e.value)
			return id == row.ID
		}
		return string(e.value) == row.ID
	}
	var stale []string
	for _, part := range []string{partState, partIndex, partUnique} {
		err := x.walk(below(t.keys.base+part), false, func(e entry) (bool, error) {
			if ours(e, part) && wanted[e.key] == nil {
				stale = append(stale, e.key)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	for _, key := range stale {
		x.over.drop(key)
		x.regroup(key, row.ID)
	}
	for key, value := range wanted {
		x.over.put(key, value)
		x.regroup(key, row.ID)
	}
	return nil
}

// holds reports whether a record holds a place by what its row says.
func (x *txn) holds(id string, p taken) (bool, error) {
	key := x.t.keys.row(id)
	text, found, err := x.get(key)
	if err != nil || !found {
		return false, err
	}
	x.track(key)
	row := x.t.rowAsItIs(id, text)
	return slices.Contains(x.t.taken(&row), p), nil
}

// regroup notes that the members of a group change, where the key is of an index
// that shows groups.
func (x *txn) regroup(key, id string) {
	group, ok := strings.CutPrefix(key, x.t.keys.base+partIndex)
	if !ok {
		return
	}
	name, _, _ := strings.Cut(group, "\x00")
	for i := range x.t.schema.Indexes {
		if g := &x.t.schema.Indexes[i]; g.Name == name && len(g.Order) == 0 {
			x.over.put(x.t.keys.base+partGroup+strings.TrimSuffix(group, id), nil)
		}
	}
}

// Purge removes a finished record.
func (x *txn) Purge(w *driver.Write) (bool, error) {
	t, id := x.t, w.Prev.ID
	waiting := false
	err := x.walk(t.keys.outboxes(id), true, func(entry) (bool, error) {
		waiting = true
		return false, nil
	})
	if err != nil || waiting {
		return false, err
	}
	if err := x.Write(w); err != nil { // the mark; it makes the commit depend on the row
		return false, err
	}
	if err := x.unshelve(id); err != nil {
		return false, err
	}
	return true, x.hollow(id)
}

// unshelve removes a row with its indexes and places.
func (x *txn) unshelve(id string) error {
	t := x.t
	text, _, err := x.get(t.keys.row(id))
	if err != nil {
		return err
	}
	row, _, err := decodeRow(t.schema, id, text)
	if err != nil {
		return err
	}
	for _, e := range t.indexes(&row) {
		x.over.drop(e.key)
		t.regroup(x.over, e)
	}
	for _, p := range t.taken(&row) {
		holder, found, err := x.get(p.key)
		if err != nil {
			return err
		}
		if found && string(holder) == id {
			x.over.drop(p.key)
		}
	}
	x.over.drop(t.keys.row(id))
	return nil
}

// hollow removes the log of a record but for its mark, and for the events whose
// id or request must not be used again, which it empties. A long log goes in few
// operations: what lies between the kept keys is deleted as a whole.
func (x *txn) hollow(id string) error {
	t := x.t
	var events, requests, logs []string // events and requests: what is kept
	err := x.walk(t.keys.events(id), false, func(at entry) (bool, error) {
		e, since, err := decodeLogged(id, at.value)
		if err != nil {
			return false, err
		}
		switch {
		case isMark(&e):
		case e.RequestN >= 0 || e.Rev == 1 && e.N == 0:
			left := driver.Event{ID: id, Rev: e.Rev, N: e.N, Operation: opPurged, Name: opPurged, From: e.From, To: e.To, At: e.At,
				RequestID: e.RequestID, RequestN: e.RequestN, Fingerprint: e.Fingerprint, Version: e.Version}
			text, err := encodeEvent(&left, 0, since)
			if err != nil {
				return false, err
			}
			x.over.put(at.key, text)
		default:
			x.over.drop(at.key)
			logs = append(logs, t.keys.log(since, id, place(e.Rev, e.N)))
			return true, nil
		}
		events = append(events, at.key)
		if e.RequestID != "" {
			requests = append(requests, t.keys.request(id, e.RequestID))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.Sort(requests)
	all := below(t.keys.request(id, ""))
	err = x.walk(all, true, func(at entry) (bool, error) {
		if _, kept := slices.BinarySearch(requests, at.key); !kept {
			x.over.drop(at.key)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	x.gone = slices.Concat(x.gone, between(t.keys.events(id), events), between(all, requests))
	if len(logs) > maxOps/2 {
		x.left = append(x.left, logs...)
		return nil
	}
	for _, key := range logs {
		x.over.drop(key)
	}
	return nil
}

// between returns what of a span lies between the keys, which are sorted.
func between(sp span, kept []string) (list []span) {
	for _, key := range kept {
		if sp.from < key {
			list = append(list, span{sp.from, key})
		}
		sp.from = next(key)
	}
	return append(list, sp)
}

// Tombstones returns the marks of records that were purged before a time.
func (r reader) Tombstones(afterID string, before time.Time, limit int) ([]driver.Event, error) {
	if err := r.trackAll(); err != nil {
		return nil, err
	}
	prefix := r.t.keys.base + partEvent
	sp := below(prefix)
	if afterID != "" {
		sp.from = after(prefix + afterID + "\x00")
	}
	var marks []driver.Event
	var last entry // of the record that the walk is at
	look := func() error {
		id, _, _ := strings.Cut(strings.TrimPrefix(last.key, prefix), "\x00")
		mark, err := r.tombstone(id, last.value, before)
		if err == nil && mark != nil {
			marks = append(marks, *mark)
		}
		return err
	}
	full := func() bool { return limit > 0 && len(marks) == limit }
	err := r.walk(sp, false, func(e entry) (bool, error) {
		id, _, _ := strings.Cut(strings.TrimPrefix(e.key, prefix), "\x00")
		var err error
		if last.key != "" && !strings.HasPrefix(last.key, prefix+id+"\x00") {
			err = look()
		}
		last = e
		return !full(), err
	})
	if err == nil && last.key != "" && !full() {
		err = look()
	}
	return marks, err
}

// tombstone returns the mark that a log ends with, of a record that was purged before
// a time. text is the last event.
func (r reader) tombstone(id string, text []byte, before time.Time) (*driver.Event, error) {
	mark, err := decodeEvent(id, text)
	if err != nil || !isMark(&mark) || !mark.At.Before(before) {
		return nil, nil // what cannot be read is no mark; the audit tells of it
	}
	row := r.t.keys.row(id)
	if err := r.load(row); err != nil {
		return nil, err
	}
	r.track(row)
	if _, there, err := r.get(row); there || err != nil {
		return nil, err
	}
	return &mark, nil
}

// Forget removes what is left of a record that was purged before a time.
func (x *txn) Forget(id string, before time.Time) (bool, error) {
	if err := x.claim(partRow + id); err != nil {
		return false, err
	}
	t := x.t
	x.last = &driver.Write{Prev: driver.Ref{ID: id}, Event: driver.Event{ID: id}}
	var last []byte
	var names []string
	err := x.walk(t.keys.events(id), false, func(at entry) (bool, error) {
		e, since, err := decodeLogged(id, at.value)
		if err != nil {
			return false, err
		}
		last = at.value
		names = append(names, at.key, t.keys.log(since, id, place(e.Rev, e.N)))
		if e.RequestID != "" && e.RequestN >= 0 {
			names = append(names, t.keys.batch(e.RequestID, e.RequestN))
		}
		return true, nil
	})
	if err != nil || last == nil {
		return false, err
	}
	if mark, err := x.tombstone(id, last, before); mark == nil || err != nil {
		return false, err
	}
	requests := below(t.keys.request(id, ""))
	err = x.walk(requests, true, func(at entry) (bool, error) {
		names = append(names, at.key)
		return true, nil
	})
	if err != nil {
		return false, err
	}
	for _, key := range names {
		x.over.drop(key)
	}
	x.over.put(t.keys.written(), nil)
	x.gone = append(x.gone, t.keys.events(id), requests)
	return true, nil
}

// Redact puts events with other contents in their places, and makes a write. The
// row holds the chain of the event that led to it, which may be another one now.
func (x *txn) Redact(w *driver.Write, edited []driver.Event) (bool, error) {
	t, id := x.t, w.Prev.ID
	if err := x.claim(partRow + id); err != nil {
		return false, err
	}
	waiting := false
	err := x.walk(t.keys.outboxes(id), true, func(entry) (bool, error) {
		waiting = true
		return false, nil
	})
	if err != nil || waiting {
		return waiting, err
	}
	key := t.keys.row(id)
	text, found, err := x.get(key)
	if err != nil || !found {
		return false, errors.Join(err, driver.ErrMoved)
	}
	x.track(key)
	old, chain, err := decodeRow(t.schema, id, text)
	if err != nil {
		return false, err
	}
	for i := range edited {
		e := &edited[i]
		place := t.keys.event(id, e.Rev, e.N)
		logged, found, err := x.get(place)
		if err != nil || !found {
			return false, errors.Join(err, driver.ErrMoved)
		}
		_, since, err := decodeLogged(id, logged)
		if err != nil {
			return false, err
		}
		if logged, err = encodeEvent(e, e.Chain, since); err != nil {
			return false, err
		}
		x.over.put(place, logged)
		if e.Rev == old.Rev && !e.RecordOnly() {
			chain = e.Chain
		}
	}
	if text, err = encodeRow(t.schema, &old, chain); err != nil {
		return false, err
	}
	x.over.put(key, text)
	return false, x.Write(w)
}
