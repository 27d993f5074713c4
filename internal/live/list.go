package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/newest"
)

// The bounds of a question.
const (
	AskTime   = 5 * time.Second // for all of it
	countTime = AskTime / 8     // for finding out that the records are few
	sortMost  = 10_000          // records that the database sorts
	walkMost  = 100_000         // events that a list looks at
	pastMost  = 500             // events of one record
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
			of := newest.Filter{States: f.States, Where: f.Where, Actor: f.Actor}
			if !f.Since.IsZero() {
				of.Since = driver.Time(f.Since)
			}
			if !f.Until.IsZero() {
				of.Until = driver.Time(f.Until)
			}
			read, err := newest.Read(r, db.Machine.Schema(), &of, "", f.Limit+1, walkMost)
			if l.Rows = read.Rows; !read.Whole && len(read.Rows) <= f.Limit {
				l.Looked = read.Looked
			}
			return err
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

// Past is a record as it is or was, with a part of its log.
type Past struct {
	newest.Past
	Row  driver.Row
	Gone bool // there is a log and no row; Row is zero then, unless a revision was asked for
}

// Past reads a record and at most 500 events of its log: up to a revision, or for revision 0 as it is now. Where the
// record has neither a row nor a log, or not that revision, it is ErrNoRecord. An event that cannot be read stands in its place.
func (db *DB) Past(ctx context.Context, id string, rev int64) (p Past, err error) {
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
		p.Past, err = newest.PastOf(r, id, last, rev > 0, pastMost)
		return err
	})
	if err != nil {
		return p, err
	}
	switch {
	case p.Gone && len(p.Lines) == 0:
		return p, fmt.Errorf("%s holds no %s with the id %q: %w", db.Address.Shown, db.Spec.Entity, id, ErrNoRecord)
	case rev == 0:
		return p, nil
	}
	if err := p.Unfolded(rev); err != nil {
		return p, fmt.Errorf("%s %q at revision %d: %w", db.Spec.Entity, id, rev, err)
	}
	if len(p.Folds) == 0 || p.Folds[len(p.Folds)-1].Rev != rev {
		return p, fmt.Errorf("%s %q has no revision %d: %w", db.Spec.Entity, id, rev, ErrNoRecord)
	}
	p.Row, err = driver.FoldRow(db.Machine.Schema(), p.Folds)
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
