package etcdstore_test

import (
	"context"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A specification with other indexes builds them from the rows; whoever has the
// old one cannot write any more.
func TestMigrate(t *testing.T) {
	t.Parallel()
	d := newData()
	store := open(t, serve(t, d))
	m := openMachine(t, store)
	if _, err := m.CreateMany(t.Context(), many(300, "p")); err != nil {
		t.Fatal(err)
	}
	asks := creation("asks")
	asks.Outbox = []driver.Delivery{{ID: "asks", Rev: 1, Effect: "notify", Key: "k", Due: asks.Event.At}}
	if err := table(t, store).Commit(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	next := storetest.Schema()
	next.Hash = "next" // of the same version: a later one would retire the old one
	next.Columns = append(next.Columns, driver.Column{Name: "extra", Stored: "extra", Kind: driver.KindCounter})
	next.Indexes = append(next.Indexes, driver.Index{Name: "by_creation", Order: []driver.Order{{Column: "created_at"}}, States: []string{"waiting"}})
	tab, err := store.Table(next)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, tab.Check(t.Context()), fsm.ErrSchemaMismatch)
	if err := tab.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tab.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := d.holding("/x/by_creation"); n != 301 {
		t.Errorf("the new index has %d rows, want 301", n)
	}
	err = tab.View(t.Context(), func(r driver.Reader) error {
		names, err := r.Effects(asks.Event.At)
		if len(names) != 1 || d.holding("/d/") != 1 {
			t.Errorf("effects %q are due by %d keys, want one by one", names, d.holding("/d/"))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	_, err = m.Create(t.Context(), register("old"))
	wantCode(t, err, fsm.ErrSchemaMismatch)
	_, err = m.Apply(t.Context(), driver.Ref{ID: "p0000"}, storetest.Bill(storetest.Meta{}))
	wantCode(t, err, fsm.ErrSchemaMismatch)
	err = tab.View(t.Context(), func(r driver.Reader) error {
		row, err := r.Row("p0007")
		if err == nil && row.Values[len(row.Values)-1] != int64(0) {
			t.Errorf("the new column is %v, want 0", row.Values[len(row.Values)-1])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	back := table(t, store) // the old one migrates back
	if n := d.holding("/x/by_creation"); n != 0 {
		t.Errorf("%d keys of the dropped index are left", n)
	}
	if err := back.Commit(t.Context(), creation("new")); err != nil {
		t.Error(err)
	}
}

// Rows that do not fit keep everything as it is.
func TestMigrateRefused(t *testing.T) {
	t.Parallel()
	d := newData()
	store := open(t, serve(t, d))
	m := openMachine(t, store)
	if _, err := m.CreateMany(t.Context(), many(2, "p")); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*driver.Schema){
		"a unique rule": func(s *driver.Schema) {
			s.Uniques = append(s.Uniques, driver.UniqueRule{Name: "one_per_lane", Columns: []string{"lane"}})
		},
		"a state": func(s *driver.Schema) { s.States = s.States[1:] },
		"a kind":  func(s *driver.Schema) { s.Columns[1].Kind = driver.KindInt },
	} {
		next := storetest.Schema()
		next.Hash = name
		change(next)
		tab, err := store.Table(next)
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, tab.Migrate(t.Context()), fsm.ErrSchemaMismatch)
		if _, err := m.Create(t.Context(), register("after "+name)); err != nil {
			t.Errorf("%s: the old specification cannot go on: %v", name, err)
		}
	}
}

// A migration that broke off keeps writers out until it is done again.
func TestMigrateBrokenOff(t *testing.T) {
	t.Parallel()
	member := serve(t, newData())
	store := open(t, member)
	m := openMachine(t, store)
	if _, err := m.CreateMany(t.Context(), many(300, "p")); err != nil {
		t.Fatal(err)
	}
	next := storetest.Schema()
	next.Hash = "next"
	next.Indexes = next.Indexes[1:]
	tab, err := store.Table(next)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	member.fault(func() error {
		if calls++; calls == 8 {
			cancel()
		}
		return nil
	}, nil)
	if err := tab.Migrate(ctx); err == nil {
		t.Fatal("it was not broken off")
	}
	member.fault(nil, nil)
	_, err = m.Create(t.Context(), register("q"))
	wantCode(t, err, fsm.ErrSchemaMismatch)
	wantCode(t, tab.Check(t.Context()), fsm.ErrSchemaMismatch)
	if err := tab.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tab.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
