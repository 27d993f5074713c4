package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// changed returns the suite's descriptor with other operations, by name.
func changed(change map[string]func(*fsmimpl.Operation[storetest.Parcel])) (*fsmimpl.Descriptor[storetest.Parcel], map[string]*fsmimpl.Operation[storetest.Parcel]) {
	d := storetest.Descriptor(storetest.Schema())
	ops := map[string]*fsmimpl.Operation[storetest.Parcel]{}
	for i, op := range d.Operations {
		if f := change[op.Name]; f != nil {
			other := *op
			f(&other)
			d.Operations[i], ops[op.Name] = &other, &other
		}
	}
	return d, ops
}

// dispatched makes a parcel that was dispatched at revision 4 and annotated since.
func dispatched(t *testing.T, m *machine, dispatch *fsmimpl.Operation[storetest.Parcel]) {
	t.Helper()
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	call := storetest.Dispatch(meta(""))
	if dispatch != nil {
		call.Operation = dispatch
	}
	out = must(t)(m.Apply(t.Context(), out, call))
	must(t)(m.Apply(t.Context(), out, note("", "x")))
}

// An effect that nothing waits for is delivered although the record has moved
// on, with the record as it was.
func TestEffectOutlivesItsRevision(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"dispatch": noFollower,
	})
	var seen []storetest.Parcel
	m, err := fsm.NewMachine(t.Context(), store, d, effects(
		func(_ context.Context, _ fsm.Tx, p storetest.Parcel, key string, e fsm.Event) error {
			seen = append(seen, p)
			if key != "parcel/p1/4/carry" || e.Operation != "dispatch" {
				t.Errorf("key %q, event %+v", key, e)
			}
			return nil
		}), fixed())
	if err != nil {
		t.Fatal(err)
	}
	dispatched(t, m, ops["dispatch"])
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil {
		t.Errorf("delivered %d, %v, want 1", n, err)
	}
	if len(seen) != 1 || seen[0].Rev != 4 || seen[0].Size.Present() || seen[0].Slot.Or("") != "s" {
		t.Errorf("the effect saw %+v, want the parcel at revision 4", seen)
	}
}

// Where every effect has its `then`, leaving the revision removes the delivery
// with the step itself.
func TestLeavingRemovesTheDelivery(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"send": func(op *fsmimpl.Operation[storetest.Parcel]) { op.Asks = nil },
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	dispatched(t, m, nil)
	table, err := store.Table(d.Schema)
	if err != nil {
		t.Fatal(err)
	}
	err = table.View(t.Context(), func(r driver.Reader) error {
		box, err := r.Outbox(start.Add(time.Hour), 10)
		if len(box) != 0 {
			t.Errorf("the outbox holds %+v", box)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An effect that is interrupted has not failed: it stays due as it was.
func TestInterruptedDelivery(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	ctx, cancel := context.WithCancel(t.Context())
	var interrupt bool
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(ctx context.Context, _ fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
			if interrupt {
				cancel()
			}
			return ctx.Err()
		}), fixed())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Send(meta(""))))
	interrupt = true
	if n, err := m.Deliver(ctx); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("delivered %d, %v, want the context's error", n, err)
	}
	interrupt = false
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil {
		t.Errorf("delivered %d, %v, want 1 at once", n, err)
	}
}

// An effect that panics has failed: it is told, counts as an attempt, and waits
// behind the others.
func TestPanickingEffect(t *testing.T) {
	t.Parallel()
	now := start
	calls := map[string]int{}
	m := senders(t, newStore(), 3, func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		if calls[p.ID]++; p.ID == "p01" && calls["p01"] == 1 {
			panic("stop")
		}
		return nil
	}, fsm.WithClock(func() time.Time { return now }), fsm.WithDelivery(time.Minute, 1))
	n, err := m.Deliver(t.Context())
	var panicked *fsm.PanicError
	if n != 2 || !errors.Is(err, fsm.ErrEffect) || !errors.As(err, &panicked) || panicked.Value != "stop" || len(panicked.Stack) == 0 {
		t.Errorf("delivered %d, %v, want the other two, and what the panic was of", n, err)
	}
	if n, err := m.Deliver(t.Context()); n != 0 || err != nil || calls["p01"] != 1 {
		t.Errorf("delivered %d, %v, want that it waits", n, err)
	}
	now = now.Add(time.Second)
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls["p01"] != 2 {
		t.Errorf("delivered %d, %v, want the one that panicked", n, err)
	}
}

// The text of a failure is stored so that every store takes it.
func TestFailureText(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	text := "a\x00b\xffc" + strings.Repeat("ü", 600)
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return errors.New(text) }), fixed())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Send(meta(""))))
	if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, fsm.ErrEffect) {
		t.Errorf("delivered %d, %v, want the effect's failure", n, err)
	}
	table, err := store.Table(m.Schema())
	if err != nil {
		t.Fatal(err)
	}
	err = table.View(t.Context(), func(r driver.Reader) error {
		box, err := r.Outbox(start.Add(time.Hour), 10)
		if len(box) != 1 || driver.CheckText(box[0].LastError) != nil || len(box[0].LastError) > 1000 || len(box[0].LastError) < 990 {
			t.Errorf("the outbox holds %+v", box)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An effect that was told when to come again is not performed before then, and
// not before its own wait is over either.
func TestLaterDelivery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails error
		due   time.Duration
	}{
		"told nothing":              {errLost, time.Second},
		"later than its wait":       {&fsm.LaterError{Until: start.Add(time.Minute), Err: errLost}, time.Minute},
		"sooner than its wait":      {&fsm.LaterError{Until: start.Add(time.Millisecond), Err: errLost}, time.Second},
		"between two microseconds":  {&fsm.LaterError{Until: start.Add(time.Minute + 999), Err: errLost}, time.Minute},
		"within what else is wrong": {fmt.Errorf("the shop: %w", &fsm.LaterError{Until: start.Add(time.Hour), Err: errLost}), time.Hour},
	} {
		store := newStore()
		open(t, store, storetest.Schema())
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
			func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return c.fails }), fixed())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Startup(t.Context()); err != nil {
			t.Fatal(err)
		}
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
		out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
		out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
		must(t)(m.Apply(t.Context(), out, storetest.Send(meta(""))))
		if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, errLost) {
			t.Errorf("%s: delivered %d, %v, want the error of the effect", name, n, err)
		}
		table, err := store.Table(storetest.Schema())
		if err != nil {
			t.Fatal(err)
		}
		if err := table.View(t.Context(), func(r driver.Reader) error {
			box, err := r.Outbox(start.Add(24*time.Hour), 10)
			if len(box) != 1 || !box[0].Due.Equal(start.Add(c.due)) || box[0].Attempts != 1 {
				t.Errorf("%s: the outbox holds %+v, want one delivery that is due after %v", name, box, c.due)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

// noFollower takes away the step that follows the delivery of an effect.
func noFollower(op *fsmimpl.Operation[storetest.Parcel]) {
	e := *op.Asks[0]
	e.Then = ""
	op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{&e}
}
