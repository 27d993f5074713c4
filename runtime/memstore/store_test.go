package memstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(tb testing.TB) driver.Store {
		s := memstore.New()
		tb.Cleanup(func() { s.Close() })
		return s
	})
}

var errFault = errors.New("fault")

// open migrates the suite's table in s.
func open(t *testing.T, s *memstore.Store, schema *driver.Schema) driver.Table {
	t.Helper()
	table, err := s.Table(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return table
}

// creation is a write that makes a parcel with this label.
func creation(id, label string) *driver.Write {
	p := storetest.Parcel{ID: id, State: "waiting", Rev: 1, Lane: "a", Label: fsm.Some(label)}
	row := storetest.Encode(&p)
	return &driver.Write{Prev: driver.Ref{ID: id}, Row: &row, Event: driver.Event{ID: id, Rev: 1, To: "waiting", RequestN: -1}}
}

func count(t *testing.T, table driver.Table) (n int64) {
	t.Helper()
	err := table.View(t.Context(), func(r driver.Reader) (err error) {
		n, err = r.Count(driver.Query{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	table := open(t, s, storetest.Schema())
	at := func(point memstore.Point) {
		s.Inject(func(p memstore.Point) error {
			if p == point {
				return errFault
			}
			return nil
		})
	}
	at(memstore.BeforeCommit)
	var ambiguous *fsm.AmbiguousError
	if err := table.Commit(t.Context(), creation("p1", "l1")); !errors.Is(err, errFault) || errors.As(err, &ambiguous) {
		t.Errorf("before: got %v, want the fault alone", err)
	}
	if n := count(t, table); n != 0 {
		t.Errorf("before: %d records, want none", n)
	}
	at(memstore.AfterCommit)
	if err := table.Commit(t.Context(), creation("p1", "l1")); !errors.Is(err, errFault) || !errors.As(err, &ambiguous) {
		t.Errorf("after: got %v, want an *AmbiguousError around the fault", err)
	}
	s.Inject(nil)
	if n := count(t, table); n != 1 {
		t.Errorf("after: %d records, want 1", n)
	}
	if err := table.Commit(t.Context(), creation("p2", "l2")); err != nil {
		t.Error(err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	table := open(t, s, storetest.Schema())
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := table.Commit(ctx, creation("p1", "l")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	tx.Rollback()
	if n := count(t, table); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

func TestTransactionEnds(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	open(t, s, storetest.Schema())
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.Put("k", 1)
	tx.Put("k", 2)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx.Rollback() // after Commit it does nothing
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("a transaction was committed twice")
	}
	if _, err := s.Adopt(t.Context(), storetest.Schema(), tx); err == nil {
		t.Error("a transaction was adopted after its end")
	}
	if v := s.Value("k"); v != 2 {
		t.Errorf("got %v, want 2", v)
	}
	tx, err = s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.Put("k", nil)
	tx.Put("new", 1)
	tx.Rollback()
	if s.Value("k") != 2 || s.Value("new") != nil {
		t.Errorf("got %v and %v, want 2 and nothing", s.Value("k"), s.Value("new"))
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	table := open(t, s, storetest.Schema())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(t.Context(), creation("p1", "l")); err == nil {
		t.Error("a closed store took a write")
	}
}

// A new specification finds the old rows in its own columns.
func TestMigrateToAnotherSpecification(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	table := open(t, s, storetest.Schema())
	if err := table.Commit(t.Context(), creation("p1", "l1")); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(t.Context(), creation("p2", "l2")); err != nil {
		t.Fatal(err)
	}
	next := storetest.Schema()
	next.Hash = "next"
	next.Columns = append([]driver.Column{{Name: "more", Stored: "more", Kind: driver.KindSet}, {Name: "n", Stored: "n", Kind: driver.KindCounter}}, next.Columns...)
	moved := open(t, s, next)
	err := moved.View(t.Context(), func(r driver.Reader) error {
		row, err := r.Row("p1")
		if err != nil {
			return err
		}
		if row.Values[0] != "[]" || row.Values[1] != int64(0) || row.Values[2] != "l1" || row.Values[3] != "a" {
			t.Errorf("got %v", row.Values)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Check(t.Context()); !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Errorf("the old specification still opens: %v", err)
	}
	strict := storetest.Schema()
	strict.Hash = "strict"
	strict.Uniques = append(strict.Uniques, driver.UniqueRule{Name: "one_per_lane", Columns: []string{"lane"}})
	broken, err := s.Table(strict)
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Migrate(t.Context()); !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Errorf("rows that break a new rule were taken: %v", err)
	}
	other := storetest.Schema()
	other.Machine = "letter"
	foreign, err := s.Table(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := foreign.Migrate(t.Context()); !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Errorf("another machine's table was taken: %v", err)
	}
}

// A sequence goes on behind a number that its group's records have; what it gave
// while such a record was there stays given when the record has left again.
func TestNumbersFollowThoseThatMoveIn(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	schema.Columns[schema.Column("weight")].Kind = driver.KindSequence
	schema.Uniques = append(schema.Uniques, driver.UniqueRule{Name: "sequence_weight", Columns: []string{"lane", "weight"}})
	s := memstore.New()
	table := open(t, s, schema)
	number := func(lane string) (n int64) {
		err := table.Update(t.Context(), func(tx driver.Tx) (err error) {
			n, err = tx.NextNumber(driver.PeerQuery{Name: "weight", Sequence: true, Columns: []string{"lane"}, Values: []any{lane}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	p := storetest.Parcel{ID: "p1", State: "waiting", Rev: 1, Lane: "a", Weight: fsm.Some(int64(7))}
	write := func(prev driver.Ref, before string) {
		row := storetest.Encode(&p)
		w := &driver.Write{Prev: prev, PrevState: before, Row: &row, Event: driver.Event{ID: p.ID, Rev: p.Rev, To: "waiting", RequestN: -1}}
		if err := table.Commit(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	write(driver.Ref{ID: "p1"}, "")
	got := []int64{number("a"), number("b")}
	p.Rev, p.Lane = 2, "b"
	write(driver.Ref{ID: "p1", Rev: 1}, "waiting")
	got = append(got, number("b"), number("a"))
	if diff := cmp.Diff([]int64{8, 1, 8, 9}, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func TestJoined(t *testing.T) {
	t.Parallel()
	storetest.RunJoined(t, func(testing.TB) driver.Store { return memstore.New() },
		func(ctx context.Context, store driver.Store) (storetest.CallersTx, error) {
			s := store.(*memstore.Store)
			tx, err := s.Begin(ctx)
			if err != nil {
				return storetest.CallersTx{}, err
			}
			return storetest.CallersTx{
				Joined: fsm.Join(s, tx), Commit: func() error { return tx.Commit(ctx) },
				Rollback: func() error { tx.Rollback(); return nil },
			}, nil
		})
}
