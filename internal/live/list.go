package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The bounds of a question.
const (
	AskTime    = 5 * time.Second // for all of it
	countTime  = AskTime / 8     // for finding out that the records are few
	sortMost   = 10_000          // records that the database sorts
	walkMost   = 100_000         // events that a list looks at
	pastMost   = 500             // events of one record
	walkAtOnce = 500
)

// ErrSlow says that a database did not answer a question in time.
var ErrSlow = fmt.Errorf("the database did not answer within %s; narrow what you ask for, or try again", AskTime)

// Filter says which records a list holds.
type Filter struct {
	States       []string // stored words; nil: all
	Where        []driver.Cond
	Actor        string    // of the last step
	Since, Until time.Time // of the last step: from Since on, and before Until; zero: no bound
	Limit        int
}

// List is a list of records, the one that moved last first.
type List struct {
	Rows   []driver.Row
	More   bool // there are more than the limit
	Looked int  // events that were looked at where the log was read, which was not to its beginning; 0: the list is whole
}

// List lists records by their last steps. The database sorts the records where they are few. Else the log is read from
// its end: an event whose record is still at its revision is the record's last one. No index is needed for either.
func (db *DB) List(ctx context.Context, f Filter) (l List, err error) {
	q := driver.Query{States: f.States, Where: slices.Clone(f.Where)}
	if !f.Since.IsZero() {
		q.Where = append(q.Where, driver.Cond{Column: "updated_at", Op: driver.OpGe, Value: driver.Time(f.Since)})
	}
	if !f.Until.IsZero() {
		q.Where = append(q.Where, driver.Cond{Column: "updated_at", Op: driver.OpLt, Value: driver.Time(f.Until)})
	}
	few := false
	if f.Actor == "" {
		if few, err = db.few(ctx, q); err != nil {
			return l, err
		}
	}
	err = db.ask(ctx, AskTime, func(r driver.Reader) error {
		if !few {
			return walk(r, &f, q, &l)
		}
		q.Order, q.Limit = []driver.Order{{Column: "updated_at", Descending: true}}, f.Limit+1
		for row, err := range r.Rows(q) {
			if err != nil {
				return err
			}
			l.Rows = append(l.Rows, row)
		}
		return nil
	})
	if l.More = len(l.Rows) > f.Limit; l.More {
		l.Rows = l.Rows[:f.Limit]
	}
	if errors.Is(err, ErrSlow) && l.Looked > 0 { // what was found by then is told
		return l, nil
	}
	return l, err
}

// few reports whether the database can sort the rows of a query: it finds out in a short time that they are few.
func (db *DB) few(ctx context.Context, q driver.Query) (bool, error) {
	var n int64
	q.Limit = sortMost + 1
	err := db.ask(ctx, countTime, func(r driver.Reader) (err error) {
		n, err = r.Count(q)
		return err
	})
	if errors.Is(err, ErrSlow) {
		return false, nil
	}
	return n <= sortMost, err
}

// walk reads the log from its end for the last steps of records that fit.
func walk(r driver.Reader, f *Filter, fits driver.Query, l *List) error {
	var cursor driver.Cursor
	for {
		entries, err := r.Newest(cursor, walkAtOnce)
		if err != nil {
			return err
		}
		byID := map[string]*driver.Row{}
		fits.IDs = []string{}
		for i := range entries {
			if e := &entries[i].Event; e.N == 0 && f.may(e) && byID[e.ID] == nil {
				byID[e.ID], fits.IDs = &driver.Row{}, append(fits.IDs, e.ID)
			}
		}
		if len(fits.IDs) > 0 {
			for row, err := range r.Rows(fits) {
				if err != nil {
					return err
				}
				byID[row.ID] = &row
			}
		}
		for i := range entries {
			e := &entries[i]
			cursor = e.Cursor
			l.Looked++
			if row := byID[e.ID]; row != nil && e.N == 0 && row.Rev == e.Rev && f.may(&e.Event) {
				if l.Rows = append(l.Rows, *row); len(l.Rows) > f.Limit {
					l.Looked = 0
					return nil
				}
			}
		}
		if len(entries) < walkAtOnce {
			l.Looked = 0
			return nil
		}
		if l.Looked >= walkMost {
			return nil
		}
	}
}

// may reports whether an event may be the last step of a record that is asked for.
func (f *Filter) may(e *driver.Event) bool {
	return (f.States == nil || slices.Contains(f.States, e.To)) && (f.Actor == "" || e.Actor == f.Actor) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || e.At.Before(f.Until))
}

// Past is a record as it is or was, with a part of its log.
type Past struct {
	Row     driver.Row
	Gone    bool        // there is a log and no row; Row is zero then, unless a revision was asked for
	Events  []fsm.Event // the newest ones up to the revision, the oldest first
	Earlier bool        // there are events before those
	Newer   bool        // and behind them
}

// Past reads a record and at most 500 events of its log: up to a revision, or for revision 0 as it is now. Where the
// record has neither a row nor a log, or not that revision, it is ErrNoRecord.
func (db *DB) Past(ctx context.Context, id string, rev int64) (p Past, err error) {
	var folds []driver.Event
	err = db.ask(ctx, AskTime, func(r driver.Reader) (err error) {
		p.Row, err = r.Row(id)
		if p.Gone = errors.Is(err, driver.ErrNotFound); p.Gone {
			err = nil
		}
		if err != nil {
			return err
		}
		last := rev
		if last == 0 {
			last = p.Row.Rev
		}
		from := max(1, (last-pastMost)/driver.ImageEvery*driver.ImageEvery)
		p.Earlier = from > 1
		for e, err := range r.Events(id, from) {
			var unreadable *driver.EventError
			if errors.As(err, &unreadable) {
				continue // an audit tells of it
			}
			if err != nil {
				return err
			}
			if rev > 0 && e.Rev > rev {
				p.Newer = true
				break
			}
			if !e.Image.IsZero() {
				folds = folds[:0]
			}
			if e.N == 0 {
				folds = append(folds, e)
			}
			if p.Events = append(p.Events, e); len(p.Events) >= 2*pastMost {
				p.Events, p.Earlier = slices.Delete(p.Events, 0, pastMost), true
			}
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	if n := len(p.Events) - pastMost; n > 0 {
		p.Events, p.Earlier = p.Events[n:], true
	}
	switch {
	case p.Gone && len(p.Events) == 0:
		return p, fmt.Errorf("%s holds no %s with the id %q: %w", db.Address.Shown, db.Spec.Entity, id, ErrNoRecord)
	case rev == 0:
		return p, nil
	case len(folds) == 0 || folds[len(folds)-1].Rev != rev:
		return p, fmt.Errorf("%s %q has no revision %d: %w", db.Spec.Entity, id, rev, ErrNoRecord)
	}
	p.Row, err = driver.FoldRow(db.Machine.Schema(), folds)
	return p, err
}

// ask asks the database within a time.
func (db *DB) ask(ctx context.Context, within time.Duration, of func(driver.Reader) error) error {
	inner, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := db.table.View(inner, of)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		return ErrSlow
	}
	return db.Address.Clean(err)
}
