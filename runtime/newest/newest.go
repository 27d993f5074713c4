// Package newest lists the records that moved last, and what happened to one, for tools that show them to people.
//
// It reads logs from their ends, within bounds, and needs no index: an event whose record is still at its revision is the
// record's last one. It guarantees that an event that cannot be read hides nothing else: it stands in its place, with
// its position and what is wrong with it. What it does not do: it changes nothing, and keeps no time; the context of the
// reader ends what takes too long.
package newest

import (
	"errors"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

const batch = 500 // events that are read at once

// Filter says which records a list holds.
type Filter struct {
	States       []string      // stored words; nil: all
	Where        []driver.Cond // all must hold
	Actor        string        // of the last step; empty: any
	Label        string        // "name=value", of the last step; empty: any
	Since, Until time.Time     // of the last step: from Since on, and before Until; zero: no bound
}

// List is what a log was read for.
type List struct {
	Rows   []driver.Row  // the one that moved last first
	Looked int           // events
	Cursor driver.Cursor // before which the log was not looked at
	Whole  bool          // the log was read to its beginning
}

// Read reads the log backwards from a cursor, at first an empty one, until so many records are found that fit, or so many
// events were looked at. With an error the list holds what was found by then.
func Read(r driver.Reader, s *driver.Schema, f *Filter, before driver.Cursor, records, events int) (l List, err error) {
	l.Cursor = before
	rule := driver.Query{States: f.States, Where: f.Where}
	for {
		entries, byID, err := f.steps(r, l.Cursor)
		if err != nil {
			return l, err
		}
		for i := range entries {
			e := &entries[i]
			l.Cursor = e.Cursor
			l.Looked++
			row := byID[e.ID]
			if row == nil || row.Rev != e.Rev || !f.last(e, row) || !rows.Fit(s, row, &rule) {
				continue
			}
			if l.Rows = append(l.Rows, *row); len(l.Rows) == records {
				return l, nil
			}
		}
		if l.Whole = len(entries) < batch; l.Whole || l.Looked >= events {
			return l, nil
		}
	}
}

// steps reads a part of the log, and the records of which it has a step that fits.
func (f *Filter) steps(r driver.Reader, before driver.Cursor) ([]driver.Entry, map[string]*driver.Row, error) {
	entries, err := r.Newest(before, batch)
	if err != nil {
		return nil, nil, err
	}
	some, byID := driver.Query{IDs: []string{}}, map[string]*driver.Row{}
	for i := range entries {
		if e := &entries[i]; byID[e.ID] == nil && (e.Unreadable != nil && e.N == 0 || f.last(e, nil)) {
			byID[e.ID], some.IDs = &driver.Row{}, append(some.IDs, e.ID)
		}
	}
	if len(some.IDs) > 0 {
		for row, err := range r.Rows(some) {
			if err != nil {
				return nil, nil, err
			}
			byID[row.ID] = &row
		}
	}
	return entries, byID, nil
}

// last reports whether an event may be the last step of a record that is asked for. What cannot be read of it, the row
// tells that it has led to.
func (f *Filter) last(e *driver.Entry, row *driver.Row) bool {
	to, at := e.To, e.At
	if e.Unreadable != nil && row != nil {
		to, at = row.State, row.UpdatedAt
	}
	return e.N == 0 && (f.States == nil || slices.Contains(f.States, to)) &&
		(f.Actor == "" || e.Actor == f.Actor) && (f.Label == "" || labelled(e.Labels, f.Label)) &&
		(f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || at.Before(f.Until))
}

// labelled reports whether labels hold one, written as name=value. A name may hold a = itself.
func labelled(labels map[string]string, want string) bool {
	for name, value := range labels {
		if name+"="+value == want {
			return true
		}
	}
	return false
}

// Line is an event in a record's log, or the place of one that cannot be read.
type Line struct {
	driver.Event
	Unreadable *driver.EventError // nil: it was read
}

// Past is a part of a record's log.
type Past struct {
	Lines   []Line         // the newest of the part, the oldest first
	Folds   []driver.Event // from an event with the whole record on
	Earlier bool           // there are events before these
	Newer   bool           // and behind them
}

// Unfolded returns why the record cannot be told as it was at a revision up to which its log was read: an event that the fold
// takes cannot be read. Nil: it can, or there is no such revision.
func (p *Past) Unfolded(rev int64) error {
	for i := len(p.Lines) - 1; i >= 0; i-- {
		l := &p.Lines[i]
		switch {
		case l.N > 0 || l.Rev > rev:
		case l.Unreadable != nil:
			return l.Unreadable
		case !l.Image.IsZero():
			return nil
		}
	}
	return nil
}

// PastOf reads at most so many events of the log of a record, up to a revision, or, where that is its last one, to its end.
// It begins early enough for as many steps, at an event that has the whole record.
func PastOf(r driver.Reader, id string, last int64, until bool, most int) (p Past, err error) {
	from := max(1, (last-int64(most))/driver.ImageEvery*driver.ImageEvery)
	p.Earlier = from > 1
	for e, err := range r.Events(id, from) {
		line := Line{Event: e}
		if err != nil && !errors.As(err, &line.Unreadable) {
			return p, err
		}
		if until && e.Rev > last {
			p.Newer = true
			break
		}
		switch {
		case e.N > 0:
		case line.Unreadable != nil:
			p.Folds = p.Folds[:0] // nothing is known until an event has the whole record
		case !e.Image.IsZero():
			p.Folds = append(p.Folds[:0], e)
		case len(p.Folds) > 0:
			p.Folds = append(p.Folds, e)
		}
		if p.Lines = append(p.Lines, line); len(p.Lines) >= 2*most {
			p.Lines, p.Earlier = slices.Delete(p.Lines, 0, most), true
		}
	}
	if n := len(p.Lines) - most; n > 0 {
		p.Lines, p.Earlier = p.Lines[n:], true
	}
	return p, nil
}
