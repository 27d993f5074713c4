package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// senders opens the suite's machine over store and sends n parcels, p01 and so on.
func senders(t *testing.T, store fsm.Store, n int, effect fsmimpl.EffectFunc[storetest.Parcel], opts ...fsm.Option) *machine {
	t.Helper()
	open(t, store, storetest.Schema())
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(effect), opts...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		id := fmt.Sprintf("p%02d", i+1)
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: id, Lane: id})))
		out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), id, start)))
		out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), id, "t")))
		must(t)(m.Apply(t.Context(), out, storetest.Send(meta(""))))
	}
	return m
}

// One round takes many batches, and a failed effect ends none of them.
func TestFailedEffectHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	m := senders(t, newStore(), 40, func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		mu.Lock()
		defer mu.Unlock()
		seen[p.ID]++
		if p.ID == "p03" {
			return errors.New("no")
		}
		return nil
	}, fixed())
	n, err := m.Deliver(t.Context())
	if n != 39 || !errors.Is(err, fsm.ErrEffect) || len(seen) != 40 || seen["p03"] != 1 {
		t.Errorf("delivered %d (%v) with %d effects, p03 %d times; want 39 of 40, each once", n, err, len(seen), seen["p03"])
	}
}

// A store that fails ends the round at once, with what was performed, and keeps
// no delivery taken.
func TestStoreErrorEndsTheRound(t *testing.T) {
	t.Parallel()
	failed := errors.New("the store fails")
	fail := false
	store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if fail {
			fail = false
			return failed
		}
		return table.Update(ctx, f)
	}}
	var seen []string
	m := senders(t, store, 3, func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		seen = append(seen, p.ID)
		fail = len(seen) == 2
		return nil
	}, fixed(), fsm.WithDelivery(time.Minute, 1))
	n, err := m.Deliver(t.Context())
	if n != 1 || !errors.Is(err, failed) || len(seen) != 2 {
		t.Errorf("delivered %d (%v), effects %v; want one, then the store's error after the second", n, err, seen)
	}
	n, err = m.Deliver(t.Context())
	if n != 2 || err != nil || len(seen) != 4 {
		t.Errorf("delivered %d (%v), effects %v; want the other two", n, err, seen)
	}
}

// What one round has claimed no other round takes, until it is settled or has
// failed.
func TestRoundsDoNotMeet(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := start
	var m *machine
	inner, calls := 0, map[string]int{}
	m = senders(t, newStore(), 3, func(ctx context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		n, err := m.Deliver(ctx)
		if err != nil {
			t.Errorf("a round within a round: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		inner += n
		if calls[p.ID]++; p.ID == "p01" && calls[p.ID] == 1 {
			return errors.New("later")
		}
		return nil
	}, fsm.WithClock(func() time.Time { return now }))
	if n, err := m.Deliver(t.Context()); n != 2 || !errors.Is(err, fsm.ErrEffect) || inner != 0 || len(calls) != 3 {
		t.Errorf("delivered %d (%v), %v, %d effects by rounds within; want 2 of 3 and none within", n, err, calls, inner)
	}
	now = now.Add(time.Hour)
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls["p01"] != 2 || calls["p02"] != 1 {
		t.Errorf("delivered %d (%v), %v; want the one that failed", n, err, calls)
	}
}

// Effects that hang, whether they heed their contexts or not, hold up no other: a
// round performs everything else meanwhile, gives them up when their time is over,
// and they are due again.
func TestHangingEffects(t *testing.T) {
	t.Parallel()
	for name, lanes := range map[string]int{"a lane is free": 4, "all lanes hang": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, heeds := range []bool{true, false} {
				end := make(chan struct{})
				var mu sync.Mutex
				done := map[string]bool{}
				store := newStore()
				m := senders(t, store, 20, func(ctx context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
					if p.ID <= "p03" && heeds {
						<-ctx.Done()
						return ctx.Err()
					}
					if p.ID <= "p03" {
						<-end
					}
					mu.Lock()
					defer mu.Unlock()
					done[p.ID] = true
					return nil
				}, fsm.WithDelivery(400*time.Millisecond, lanes), fsm.WithBackoff(time.Hour, time.Hour))
				n, err := m.Deliver(t.Context())
				mu.Lock()
				if n != 17 || len(done) != 17 || !errors.Is(err, fsm.ErrEffect) || !heeds && !errors.Is(err, fsm.ErrTooSlow) {
					t.Errorf("heeds %v: delivered %d (%v), done %v; want all but the three that hang", heeds, n, err, done)
				}
				mu.Unlock()
				close(end)
				table, err := store.Table(m.Schema())
				if err != nil {
					t.Fatal(err)
				}
				if err := table.View(t.Context(), func(r driver.Reader) error {
					box, err := r.Outbox(time.Now().AddDate(1, 0, 0), 0)
					if len(box) != 3 || box[0].Attempts != 1 || box[0].LastError == "" {
						t.Errorf("the outbox holds %+v, want the three, each tried once", box)
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
