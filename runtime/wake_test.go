package fsm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	fsmworker "github.com/fsmgen/fsmgen/runtime/worker"
)

// of is must for anything.
func of[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// idle starts a worker that looks once an hour, waits until it has nothing to do, and
// returns the parcels that it is given from then on.
func idle(t *testing.T, w *hands, store fsm.Store) *[]string {
	t.Helper()
	var got []string
	worker := w.start(t, store, 0, func(ctx context.Context, h *handle) error {
		got = append(got, h.Ref().ID)
		return w.send(ctx, h, "done")
	}, fsmworker.Options{Poll: time.Hour})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
	return &got
}

// A worker that has nothing to do is woken by each way in which a record comes to where
// it picks from. No time passes.
func TestWorkerIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store, begun := &hands{}, newStore(), time.Now()
		got := idle(t, w, store)
		expect := func(what string, ids ...string) {
			t.Helper()
			synctest.Wait()
			if slices.Sort(*got); !slices.Equal(*got, ids) {
				t.Errorf("%s: the worker got %q, want %q", what, *got, ids)
			}
			*got = nil
		}
		must(t)(w.m.Create(t.Context(), storetest.Register(meta(""), in("a"))))
		expect("Create", "a")
		of[[]outcome](t)(w.m.CreateMany(t.Context(), []fsmimpl.Call[storetest.Parcel]{
			storetest.Register(meta(""), in("b")), storetest.Register(meta(""), in("c")),
		}))
		expect("CreateMany", "b", "c")
		of[[]outcome](t)(w.m.Batch(t.Context(), func(m *machine) error {
			_, err := m.Create(t.Context(), storetest.Register(meta(""), in("d")))
			return err
		}))
		expect("Batch", "d")
		if time.Since(begun) != 0 {
			t.Errorf("it took %v", time.Since(begun))
		}
		// What another worker has comes back when its lease is over, by a sweep.
		tx := of[*memstore.Tx](t)(store.Begin(t.Context()))
		in1 := of[*machine](t)(w.m.In(t.Context(), fsm.Join(store, tx)))
		must(t)(in1.Create(t.Context(), storetest.Register(meta(""), in("e"))))
		of[[]outcome](t)(in1.Pick(t.Context(), 1, storetest.Hold(storetest.Meta{Actor: "w2"}, "a", time.Now().Add(time.Minute))))
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		expect("nothing was told")
		of[int](t)(w.m.Sweep(t.Context()))
		expect("Sweep", "e")
	})
}

// In a transaction of the caller's own nobody is woken before the caller says that
// it is committed.
func TestWorkerIsWokenAfterTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store := &hands{}, newStore()
		got := idle(t, w, store)
		tx := of[*memstore.Tx](t)(store.Begin(t.Context()))
		in1 := of[*machine](t)(w.m.In(t.Context(), fsm.Join(store, tx)))
		mark := store.Bell().Mark(w.m.Schema().Table)
		must(t)(in1.Create(t.Context(), storetest.Register(meta(""), in("a"))))
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if now := store.Bell().Mark(w.m.Schema().Table); now != mark || *got != nil {
			t.Errorf("rung %d times, and the worker got %q, before Committed", now-mark, *got)
		}
		in1.Committed()
		synctest.Wait()
		if !slices.Equal(*got, []string{"a"}) {
			t.Errorf("the worker got %q after Committed, want a", *got)
		}
		in1.Committed()
		if now := store.Bell().Mark(w.m.Schema().Table); now != mark+1 {
			t.Errorf("rung %d times, want once", now-mark)
		}
	})
}

// Who holds a record is told of each call that takes it out of the state of the work, in
// whatever way the call is made, and of no other.
func TestHoldersAreTold(t *testing.T) {
	t.Parallel()
	type caller func(ctx context.Context, store *memstore.Store, m *machine) error
	apply := func(id string, c fsmimpl.Call[storetest.Parcel]) caller {
		return func(ctx context.Context, _ *memstore.Store, m *machine) error {
			_, err := m.Apply(ctx, fsm.Ref{ID: id}, c)
			return err
		}
	}
	shelve, expel := storetest.Shelve(meta(""), "s1", "t"), storetest.Expel(meta(""))
	for name, c := range map[string]struct {
		told bool
		call caller
	}{
		"Apply":   {true, apply("p1", shelve)},
		"a chain": {true, apply("p1", expel)},
		"ApplyMany": {true, func(ctx context.Context, _ *memstore.Store, m *machine) error {
			_, err := m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{{At: fsm.Ref{ID: "p2"}, Call: note("", "x")}, {At: fsm.Ref{ID: "p1"}, Call: shelve}})
			return err
		}},
		"Batch": {true, func(ctx context.Context, store *memstore.Store, m *machine) error {
			_, err := m.Batch(ctx, func(m *machine) error { return apply("p1", shelve)(ctx, store, m) })
			return err
		}},
		"Sweep": {true, func(ctx context.Context, _ *memstore.Store, m *machine) error {
			_, err := m.Sweep(ctx)
			return err
		}},
		"Committed":      {true, inTransaction(apply("p1", shelve), true)},
		"a joined call":  {false, inTransaction(apply("p1", shelve), false)},
		"another record": {false, apply("p2", expel)},
		"in its state":   {false, apply("p1", note("", "x"))},
		"what is refused": {false, func(ctx context.Context, store *memstore.Store, m *machine) error {
			if err := apply("p1", storetest.Send(meta("")))(ctx, store, m); err == nil {
				return errors.New("it is not refused")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore()
			m := open(t, store, storetest.Schema())
			for _, id := range []string{"p1", "p2"} {
				must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
				of[[]outcome](t)(m.Pick(t.Context(), 1, storetest.Hold(w1, "a", start)))
			}
			told := 0
			defer store.Bell().Hold(m.Schema().Table, "p1", func() { told++ })()
			if err := c.call(t.Context(), store, m); err != nil {
				t.Fatal(err)
			}
			if (told > 0) != c.told || told > 1 {
				t.Errorf("told %d times, want told: %v", told, c.told)
			}
		})
	}
}

// inTransaction makes a call in a transaction of the caller's own, commits it, and perhaps
// says so.
func inTransaction(call func(context.Context, *memstore.Store, *machine) error, says bool) func(context.Context, *memstore.Store, *machine) error {
	return func(ctx context.Context, store *memstore.Store, m *machine) error {
		tx, err := store.Begin(ctx)
		if err != nil {
			return err
		}
		in, err := m.In(ctx, fsm.Join(store, tx))
		if err == nil {
			err = call(ctx, store, in)
		}
		if err == nil {
			err = tx.Commit(ctx)
		}
		if err == nil && says {
			in.Committed()
		}
		return err
	}
}
