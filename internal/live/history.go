package live

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// pageSize is how many events are read in one snapshot.
const pageSize = 256

// Place is a place in the log of one record: behind the event of that revision
// and number. The zero Place is the beginning.
type Place struct{ Rev, N int64 }

// Events returns the events of a record behind a place, by revision and number,
// and ends where its log ends now. A record that is unknown has none. Nothing is
// kept in memory but a page, and no transaction stays open while the caller looks
// at it.
func (db *DB) Events(ctx context.Context, id string, after Place) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		for {
			var page []fsm.Event
			err := db.table.View(ctx, func(r driver.Reader) error {
				page = nil
				for e, err := range r.Events(id, max(after.Rev, 1)) {
					if err != nil {
						return err
					}
					if e.Rev == after.Rev && e.N <= after.N && after != (Place{}) {
						continue
					}
					if page = append(page, e); len(page) == pageSize {
						break
					}
				}
				return nil
			})
			if err != nil {
				yield(fsm.Event{}, db.Address.Clean(err))
				return
			}
			for _, e := range page {
				after = Place{e.Rev, e.N}
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// Follow is Events, but at the end it goes on waiting for what comes, until ctx
// ends; its error is then the last thing that is yielded. It looks each time poll
// has passed.
func (db *DB) Follow(ctx context.Context, id string, after Place, poll time.Duration) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		t := time.NewTicker(poll)
		defer t.Stop()
		for {
			for e, err := range db.Events(ctx, id, after) {
				after = Place{e.Rev, e.N}
				if !yield(e, err) || err != nil {
					return
				}
			}
			select {
			case <-ctx.Done():
				yield(fsm.Event{}, ctx.Err())
				return
			case <-t.C:
			}
		}
	}
}

// ErrNoRecord says that a database has neither a record of that id nor a log of one.
var ErrNoRecord = errors.New("there is no such record")

// Row returns the row of a record as it is stored. A record that has a log and no
// row is ErrNoRecord too: see Events.
func (db *DB) Row(ctx context.Context, id string) (driver.Row, error) {
	var row driver.Row
	err := db.table.View(ctx, func(r driver.Reader) (err error) {
		row, err = r.Row(id)
		return err
	})
	if errors.Is(err, driver.ErrNotFound) {
		return row, fmt.Errorf("%s holds no %s with the id %q: %w", db.Address.Shown, db.Spec.Entity, id, ErrNoRecord)
	}
	return row, db.Address.Clean(err)
}
