package fsmtest

import (
	"context"
	"fmt"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Seed writes made-up records into a store, as if each had just been created
// in its state: every record gets a log of one event with a full image, and
// sequences go on behind the numbers of the records. The records have
// revision 1; an audit finds nothing wrong with one whose created_at is its
// updated_at. The store's schema must allow records to begin in their states:
// level `checks`, not `full`.
func Seed(ctx context.Context, store fsm.Store, s *driver.Schema, rows ...driver.Row) error {
	table, err := store.Table(s)
	if err != nil {
		return err
	}
	return table.Update(ctx, func(tx fsm.Tx) error {
		for _, r := range rows {
			if err := seedRow(tx, s, r); err != nil {
				return fmt.Errorf("seed %q in %s: %w", r.ID, r.State, err)
			}
		}
		return nil
	})
}

func seedRow(tx fsm.Tx, s *driver.Schema, r driver.Row) error {
	r.Rev = 1
	e := SeedEvent(r)
	blank := make([]any, len(s.Columns))
	for i, c := range s.Columns {
		if c.Kind == driver.KindSet {
			blank[i] = "[]"
		}
	}
	changed, changes, err := s.Changes(blank, r.Values)
	if err != nil {
		return err
	}
	if e.Image, err = s.Image(&r); err != nil {
		return err
	}
	e.Changes, e.Inputs = changes, fsm.MustJSON("{}") // of version 0: no specification knows how it came about
	e.Sum = driver.Checksum(&e)
	for _, u := range s.Uniques {
		if column, ok := strings.CutPrefix(u.Name, "sequence_"); ok {
			if err := countUp(tx, s, u, column, r); err != nil {
				return err
			}
		}
	}
	return tx.Write(&driver.Write{Prev: fsm.Ref{ID: r.ID}, Row: &r, Changed: changed, Event: e})
}

// countUp lets a sequence go on behind the number of a record.
func countUp(tx fsm.Tx, s *driver.Schema, u driver.UniqueRule, column string, r driver.Row) error {
	q := driver.PeerQuery{Name: column, Sequence: true, Except: r.ID}
	for _, c := range u.Columns {
		if c != column {
			q.Columns, q.Values = append(q.Columns, c), append(q.Values, r.Values[s.Column(c)])
		}
	}
	for n, want := int64(0), r.Values[s.Column(column)].(int64); n < want; {
		next, err := tx.NextNumber(q)
		if err != nil || next <= n { // the store reads the numbers off the records
			return err
		}
		n = next
	}
	return nil
}

// SeedEvent is the event that a made-up record begins with, without what it holds.
func SeedEvent(r driver.Row) fsm.Event {
	return fsm.Event{
		ID: r.ID, Rev: 1, Operation: "seed", Name: "seed", To: r.State, At: r.UpdatedAt,
		Actor: driver.SystemActor, RequestID: "seed:" + r.ID, RequestN: -1, Fingerprint: "seed",
	}
}
