package fsm_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A call that names no time has that of its decision, however long it waited for
// its transaction; one that names a time has that.
func TestCallIsMadeWhenItIsDecided(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(m *machine, at storetest.Meta) (outcome, error){
		"a creation": func(m *machine, at storetest.Meta) (outcome, error) {
			c := storetest.Register(at, in("new"))
			c.Peers = func(*storetest.Parcel, string) []driver.PeerQuery { return nil }
			return m.Create(t.Context(), c)
		},
		"a record by its name": func(m *machine, at storetest.Meta) (outcome, error) {
			return m.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Hold(at, "a", start))
		},
		"a pick": func(m *machine, at storetest.Meta) (outcome, error) {
			return first(m.Pick(t.Context(), 1, storetest.Hold(at, "a", start)))
		},
		"a pick by itself": func(m *machine, at storetest.Meta) (outcome, error) {
			c := storetest.Hold(at, "a", start)
			c.Peers = func(*storetest.Parcel, string) []driver.PeerQuery { return nil }
			return first(m.Pick(t.Context(), 1, c))
		},
	} {
		for _, at := range []time.Time{{}, start.Add(time.Second)} {
			now := start
			store := &wrapped{Store: newStore()}
			m := open(t, store, storetest.Schema(), fsm.WithCallerTime(), fsm.WithClock(func() time.Time { return now }))
			waiting(t, m, "p1")
			store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
				now = start.Add(time.Minute)
				return table.Update(ctx, f)
			}
			store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
				now = start.Add(time.Minute)
				return table.View(ctx, f)
			}
			with := meta("r")
			with.At = at
			want := at
			if at.IsZero() {
				want = start.Add(time.Minute)
			}
			if out := must(t)(call(m, with)); !out.Events[0].At.Equal(want) || !out.Record.UpdatedAt.Equal(want) {
				t.Errorf("%s at %v: the event is of %v and the record of %v, want %v", name, at, out.Events[0].At, out.Record.UpdatedAt, want)
			}
		}
	}
}

// first passes on the only outcome of a pick.
func first(outs []outcome, err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	return outs[0], nil
}

// A pick that waits for a round may get a record that was made meanwhile, and
// then is no older than it.
func TestPickIsNotBeforeItsRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, m, hold, _ := rounds(t, fsm.WithClock(time.Now))
		waiting(t, m, "p1")
		var all sync.WaitGroup
		var out outcome
		for _, rid := range []string{"r1", "r2"} {
			all.Go(func() {
				got, err := first(m.Pick(t.Context(), 1, storetest.Hold(meta(rid), "a", start)))
				if err != nil {
					t.Errorf("%s: %v", rid, err)
				}
				if rid == "r2" {
					out = got
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		waiting(t, m, "p2")
		close(hold)
		all.Wait()
		if out.Record.ID != "p2" || out.Events[0].At.Before(out.Record.CreatedAt) {
			t.Errorf("%s was made at %v and held at %v", out.Record.ID, out.Record.CreatedAt, out.Events[0].At)
		}
		if n := store.bulks.Load(); n != 2 {
			t.Errorf("%d rounds, want 2", n)
		}
	})
}

// A sweep takes its time, and each of its steps is made when it is made.
func TestSweepIsNotOneInstant(t *testing.T) {
	t.Parallel()
	now := start
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fsm.WithClock(func() time.Time { return now }))
	for _, id := range []string{"p1", "p2"} {
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
		must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	}
	store.commit = func(table driver.Table, ctx context.Context, w *driver.Write) error {
		now = now.Add(time.Minute)
		return table.Commit(ctx, w)
	}
	if n, err := m.Sweep(t.Context()); n != 2 || err != nil {
		t.Fatalf("swept %d, %v", n, err)
	}
	for i, id := range []string{"p1", "p2"} {
		if e := log(t, m, id)[2]; !e.At.Equal(start.Add(time.Duration(i) * time.Minute)) {
			t.Errorf("%s: %s at %v", id, e.Operation, e.At)
		}
	}
}
