package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Store is one kind of store that the durable form is tested over.
type Store struct {
	Name string                       // of one in a database: the SQL dialect, "sqlite" or "postgres"
	Open func(t *testing.T) fsm.Store // opens an empty store and closes it with the test
	// Shared does the same, and says how a caller begins a transaction of its own
	// in the store; nil where nobody can.
	Shared func(t *testing.T) (fsm.Store, Begin)
}

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
	e := seedEvent(r)
	var err error
	values := valuesOf(s, r)
	if e.Changes, err = fsm.MarshalValue(values); err != nil {
		return err
	}
	values["created_at"], values["updated_at"] = TimeText(r.CreatedAt), TimeText(r.UpdatedAt)
	if e.Image, err = fsm.MarshalValue(values); err != nil {
		return err
	}
	e.Inputs = fsm.MustJSON("{}") // of version 0: no specification knows how it came about
	e.Sum = driver.Checksum(&e)
	changed := make([]int, len(r.Values))
	for i := range changed {
		changed[i] = i
	}
	for _, u := range s.Uniques {
		column, ok := strings.CutPrefix(u.Name, "sequence_")
		if !ok {
			continue
		}
		i := s.Column(column)
		if i < 0 {
			continue
		}
		q := driver.PeerQuery{Name: column, Sequence: true, Except: r.ID}
		for _, c := range u.Columns {
			if c != column {
				q.Columns = append(q.Columns, c)
				q.Values = append(q.Values, r.Values[s.Column(c)])
			}
		}
		for n, want := int64(0), r.Values[i].(int64); n < want; {
			next, err := tx.NextNumber(q)
			if err != nil {
				return err
			}
			if next <= n {
				break // the store reads the numbers off the records
			}
			n = next
		}
	}
	return tx.Write(&driver.Write{Prev: fsm.Ref{ID: r.ID}, Row: &r, Changed: changed, Event: e})
}

func seedEvent(r driver.Row) fsm.Event {
	return fsm.Event{
		ID: r.ID, Rev: 1, Operation: "seed", Name: "seed", To: r.State, At: r.UpdatedAt,
		Actor: driver.SystemActor, RequestID: "seed:" + r.ID, RequestN: -1, Fingerprint: "seed",
	}
}

// TimeText writes an instant as events hold it.
func TimeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// valuesOf returns the values of a record as they stand in an event.
func valuesOf(s *driver.Schema, r driver.Row) map[string]any {
	fields := map[string]any{}
	for i, c := range s.Columns {
		switch v := r.Values[i].(type) {
		case time.Time:
			fields[c.Stored] = TimeText(v)
		case string:
			switch {
			case c.Kind == driver.KindJSON && v == "null":
				fields[c.Stored] = json.RawMessage(`{"$json":null}`)
			case c.Kind == driver.KindJSON || c.Kind == driver.KindSet:
				fields[c.Stored] = json.RawMessage(v)
			default:
				fields[c.Stored] = v
			}
		default:
			fields[c.Stored] = v
		}
	}
	return fields
}

// Tx is a transaction that a caller has begun by itself.
type Tx struct {
	Joined   fsm.Joined
	Commit   func() error
	Rollback func() error
}

// Begin begins a transaction of the caller's own in a store.
type Begin func(ctx context.Context) (Tx, error)

func sharedMemory(t *testing.T) (fsm.Store, Begin) {
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	return store, func(ctx context.Context) (Tx, error) {
		tx, err := store.Begin(ctx)
		if err != nil {
			return Tx{}, err
		}
		return Tx{
			Joined:   fsm.Join(store, tx),
			Commit:   func() error { return tx.Commit(ctx) },
			Rollback: func() error { tx.Rollback(); return nil },
		}, nil
	}
}
