package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// senders opens the suite's machine over store and sends n parcels, p01 and so on.
func senders(t *testing.T, store fsm.Store, n int, effect fsm.EffectFunc[storetest.Parcel], opts ...fsm.Option) *machine {
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
	seen := map[string]int{}
	m := senders(t, newStore(), 40, func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
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
	store := &wrapped{Store: newStore(), update: func(table fsm.Table, ctx context.Context, f func(fsm.Tx) error) error {
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
	}, fixed())
	n, err := m.Deliver(t.Context())
	if n != 1 || !errors.Is(err, failed) || len(seen) != 2 {
		t.Errorf("delivered %d (%v), effects %v; want one, then the store's error after the second", n, err, seen)
	}
	n, err = m.Deliver(t.Context())
	if n != 2 || err != nil || len(seen) != 4 {
		t.Errorf("delivered %d (%v), effects %v; want the other two", n, err, seen)
	}
}

// What one round has in hand no other round of the process takes, until it is
// settled or has failed.
func TestRoundsDoNotMeet(t *testing.T) {
	t.Parallel()
	now := start
	var m *machine
	inner, calls := 0, 0
	m = senders(t, newStore(), 3, func(ctx context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		if calls++; calls > 6 {
			return nil
		}
		n, err := m.Deliver(ctx)
		inner += n
		if err != nil {
			t.Errorf("a round within a round: %v", err)
		}
		if p.ID == "p01" && calls == 1 {
			return errors.New("later")
		}
		return nil
	}, fsm.WithClock(func() time.Time { return now }))
	if n, err := m.Deliver(t.Context()); n != 2 || !errors.Is(err, fsm.ErrEffect) || inner != 0 || calls != 3 {
		t.Errorf("delivered %d (%v), %d effects, %d by rounds within; want 2 of 3 and none within", n, err, calls, inner)
	}
	now = now.Add(time.Hour)
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls != 4 {
		t.Errorf("delivered %d (%v), %d effects in all; want the one that failed", n, err, calls)
	}
}
