package fsm_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// ending is a parcel whose dispatch gives up, with the step discard.
type ending struct {
	*machine
	t       *testing.T
	store   fsm.Store
	now     time.Time
	calls   atomic.Int64
	refuses bool  // discard is refused
	fails   error // of the effect
	told    []string
	run     func(context.Context) error // instead of fails
	asked   func()                      // when the step is called
}

func newEnding(t *testing.T, store fsm.Store, attempts int, opts ...fsm.Option) *ending {
	t.Helper()
	x := &ending{t: t, store: store, now: start, fails: errLost}
	open(t, store, storetest.Schema())
	discard := func(problem string) fsmimpl.Call[storetest.Parcel] {
		if x.asked != nil {
			x.asked()
		}
		c := storetest.Discard()
		c.Inputs = []driver.Input{{Name: "error", Value: problem, Kind: driver.KindString}}
		if !x.refuses {
			c.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
				x.told = append(x.told, problem)
				p.Rev++
				return fsmimpl.Step{From: p.State, To: p.State}, nil
			}
		}
		return c
	}
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"dispatch": func(op *fsmimpl.Operation[storetest.Parcel]) {
			e := *op.Asks[0]
			e.Attempts, e.Failed = attempts, "discard"
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{&e}
		},
		"discard": func(op *fsmimpl.Operation[storetest.Parcel]) { op.GaveUp = discard },
	})
	clock := fsm.WithClock(func() time.Time { return x.now })
	opts = append([]fsm.Option{clock, fsm.WithCallerTime(), fsm.WithDelivery(time.Minute, 1)}, opts...)
	perform := func(ctx context.Context, _ fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
		if x.calls.Add(1); x.run != nil {
			return x.run(ctx)
		}
		return x.fails
	}
	m, err := fsm.NewMachine(t.Context(), store, d, effects(perform), opts...)
	if err != nil {
		t.Fatal(err)
	}
	x.machine = m
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	call := storetest.Dispatch(meta(""))
	call.Operation = ops["dispatch"]
	must(t)(m.Apply(t.Context(), out, call))
	return x
}

// round delivers when every wait is over.
func (x *ending) round() error {
	x.now = x.now.Add(time.Hour)
	n, err := x.Deliver(x.t.Context())
	if n != 0 {
		x.t.Errorf("%d were delivered", n)
	}
	return err
}

// waits returns the delivery that waits, or none.
func (x *ending) waits() (d driver.Delivery) {
	x.t.Helper()
	table, err := x.store.Table(storetest.Schema())
	if err != nil {
		x.t.Fatal(err)
	}
	if err := table.View(x.t.Context(), func(r driver.Reader) error {
		box, err := r.Outbox(x.now.Add(24*time.Hour), 10)
		if len(box) > 0 {
			d = box[0]
		}
		return err
	}); err != nil {
		x.t.Fatal(err)
	}
	return d
}

// last is the last operation of the log.
func (x *ending) last() string {
	events := log(x.t, x.machine, "p1")
	return events[len(events)-1].Operation
}

// Where the step of `failed` is refused, the delivery stays with the error of its effect, health
// tells, and the step is called again without the effect.
func TestFailedIsRefused(t *testing.T) {
	t.Parallel()
	x := newEnding(t, newStore(), 2)
	x.refuses = true
	if err := x.round(); !errors.Is(err, errLost) || errors.As(err, new(*fsm.GiveUpError)) {
		t.Errorf("the first try: %v", err)
	}
	if h := audit.HealthOf(x.machine); len(h.Refused) != 0 {
		t.Errorf("health after one try: %+v", h)
	}
	for range 3 {
		err := x.round()
		told := errors.As(err, new(*fsm.GiveUpError)) && errors.Is(err, fsm.ErrWrongState) && errors.Is(err, fsm.ErrEffect)
		if !told || x.calls.Load() != 2 {
			t.Errorf("without a try left: %v after %d calls", err, x.calls.Load())
		}
		if d := x.waits(); d.LastError != errLost.Error() || x.last() != "dispatch" {
			t.Errorf("there waits %+v, and the last step is %s", d, x.last())
		}
		if h := audit.HealthOf(x.machine); !maps.Equal(h.Refused, map[string]int64{"carry": 1}) || h.Sound() {
			t.Errorf("health of a delivery that stays: %+v", h)
		}
	}
	x.refuses = false
	if err := x.round(); !errors.As(err, new(*fsm.GiveUpError)) || errors.Is(err, fsm.ErrWrongState) {
		t.Errorf("when the step is taken: %v", err)
	}
	if h := audit.HealthOf(x.machine); len(h.Refused) != 0 || !h.Sound() {
		t.Errorf("health afterwards: %+v", h)
	}
	if len(x.told) != 1 || x.told[0] != errLost.Error() || x.last() != "discard" || x.waits().ID != "" {
		t.Errorf("the step was told %q; last is %s, and there waits %+v", x.told, x.last(), x.waits())
	}
	if err := x.round(); err != nil || x.calls.Load() != 2 {
		t.Errorf("afterwards: %v, %d calls", err, x.calls.Load())
	}
}

// Health tells of a refusal when an observer is told, and goes on to while the step is called again.
func TestRefusedEndIsToldAtOnce(t *testing.T) {
	t.Parallel()
	var x *ending
	var observed, again []int64
	refused := func() int64 { return audit.HealthOf(x.machine).Refused["carry"] }
	x = newEnding(t, newStore(), 1, fsm.WithObserver(func(ctx context.Context, o fsm.Observed) (context.Context, func(fsm.Observation)) {
		return ctx, func(fsm.Observation) {
			if o.Operation == "discard" {
				observed = append(observed, refused())
			}
		}
	}))
	x.asked = func() { again = append(again, refused()) }
	for i := range 3 {
		x.now, x.refuses = x.now.Add(time.Minute), i < 2
		if _, err := x.Deliver(t.Context()); !errors.As(err, new(*fsm.GiveUpError)) {
			t.Errorf("round %d: %v", i, err)
		}
	}
	if want := []int64{1, 1, 0}; !slices.Equal(observed, want) {
		t.Errorf("when the observer is told, health counts %d, want %d", observed, want)
	}
	if want := []int64{0, 1, 1}; !slices.Equal(again, want) {
		t.Errorf("when the step is called, health counts %d, want %d", again, want)
	}
}

// What another process has settled is no matter of this one's health for long.
func TestRefusedEndIsForgotten(t *testing.T) {
	t.Parallel()
	x := newEnding(t, newStore(), 1)
	x.refuses = true
	_ = x.round()
	if h := audit.HealthOf(x.machine); len(h.Refused) != 1 {
		t.Errorf("health is %+v", h)
	}
	x.now = x.now.Add(time.Hour)
	if h := audit.HealthOf(x.machine); len(h.Refused) != 0 {
		t.Errorf("health much later is %+v", h)
	}
}

// The step gets the error of the effect also where the answer of its transaction is lost.
func TestEndWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	broken := false
	store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if broken {
			broken = false
			return &fsm.AmbiguousError{Err: errors.New("lost")}
		}
		return table.Update(ctx, f)
	}}
	x := newEnding(t, store, 1)
	x.run = func(context.Context) error { broken = true; return errLost }
	for range 3 {
		_ = x.round()
	}
	if x.calls.Load() != 1 || len(x.told) != 1 || x.told[0] != errLost.Error() || x.last() != "discard" {
		t.Errorf("after %d calls the step was told %q; last is %s", x.calls.Load(), x.told, x.last())
	}
}

// A try that was interrupted has been used up: nobody knows how it ended.
func TestInterruptedInTheLastTry(t *testing.T) {
	t.Parallel()
	x := newEnding(t, newStore(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	x.run = func(ctx context.Context) error { cancel(); return ctx.Err() }
	if n, err := x.Deliver(ctx); n != 0 || !errors.Is(err, context.Canceled) || x.last() != "dispatch" {
		t.Errorf("delivered %d, %v; last is %s", n, err, x.last())
	}
	if err := x.round(); !errors.As(err, new(*fsm.GiveUpError)) || x.calls.Load() != 1 {
		t.Errorf("afterwards: %v, %d calls", err, x.calls.Load())
	}
	if len(x.told) != 1 || !strings.Contains(x.told[0], "no try came to an end") {
		t.Errorf("the step was told %q", x.told)
	}
}

// A last try that runs on after its time has its lease first: the step does not follow beside it.
func TestLastTryRunsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newEnding(t, newStore(), 1, fsm.WithClock(time.Now))
		ends := make(chan struct{})
		x.run = func(context.Context) error { <-ends; return nil }
		if n, err := x.Deliver(t.Context()); n != 0 || !errors.Is(err, fsm.ErrTooSlow) || x.last() != "dispatch" {
			t.Errorf("delivered %d, %v; last is %s", n, err, x.last())
		}
		if n, err := x.Deliver(t.Context()); n != 0 || err != nil || x.last() != "dispatch" {
			t.Errorf("within the lease: delivered %d, %v; last is %s", n, err, x.last())
		}
		time.Sleep(time.Minute)
		n, err := x.Deliver(t.Context())
		if n != 0 || !errors.As(err, new(*fsm.GiveUpError)) || x.calls.Load() != 1 || x.last() != "discard" {
			t.Errorf("afterwards: delivered %d, %v after %d calls; last is %s", n, err, x.calls.Load(), x.last())
		}
		close(ends)
	})
}

// An effect without `failed` does not give up: its error is one like any other.
func TestGiveUpWithoutFailed(t *testing.T) {
	t.Parallel()
	calls := 0
	now := start
	m := senders(t, newStore(), 1, func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		if calls++; calls < 3 {
			return fsm.GiveUp(errLost)
		}
		return nil
	}, fsm.WithClock(func() time.Time { return now }))
	for want := range 3 {
		n, err := m.Deliver(t.Context())
		if want < 2 && (n != 0 || !errors.Is(err, errLost)) || want == 2 && (n != 1 || err != nil) {
			t.Errorf("round %d: delivered %d, %v", want, n, err)
		}
		now = now.Add(time.Hour)
	}
}

// A machine whose effect gives up with an operation that nobody can call does not open.
func TestFailedNeedsACall(t *testing.T) {
	t.Parallel()
	for _, failed := range []string{"hold", "nothing"} {
		store := newStore()
		open(t, store, storetest.Schema())
		d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
			"dispatch": func(op *fsmimpl.Operation[storetest.Parcel]) {
				e := *op.Asks[0]
				e.Failed = failed
				op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{&e}
			},
		})
		_, err := fsm.NewMachine(t.Context(), store, d, effects(nil))
		if err == nil || !strings.Contains(err.Error(), `gives up with "`+failed) {
			t.Errorf("%s: %v", failed, err)
		}
	}
}

// An effect that was performed in its last try is told when the store takes it again: no try is left
// to perform it once more, and it did not give up.
func TestLastTryIsToldLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := 0
		store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if busy > 0 {
				busy--
				return &fsm.Refusal{Code: fsm.ErrBusy, Machine: "parcel"}
			}
			return table.Update(ctx, f)
		}}
		x := newEnding(t, store, 1, fsm.WithClock(time.Now))
		x.run = func(context.Context) error { busy = 3; return nil }
		if n, err := x.Deliver(t.Context()); n != 1 || err != nil || x.calls.Load() != 1 || busy != 0 {
			t.Errorf("delivered %d, %v after %d calls", n, err, x.calls.Load())
		}
		if len(x.told) != 0 || x.waits().ID != "" {
			t.Errorf("the step was told %q; %+v waits", x.told, x.waits())
		}
	})
}

// What another machine says of its own effects gives up nothing here.
func TestAnotherMachineGaveUp(t *testing.T) {
	t.Parallel()
	x := newEnding(t, newStore(), 2)
	x.fails = errors.Join(&fsm.EffectError{Machine: "other", Effect: "bill", Err: fsm.GiveUp(errLost)})
	if err := x.round(); !errors.Is(err, errLost) || x.last() != "dispatch" || len(x.told) != 0 {
		t.Errorf("%v; last is %s, told %q", err, x.last(), x.told)
	}
	x.fails = errors.Join(errors.New("twice"), fsm.GiveUp(errLost))
	if err := x.round(); !errors.As(err, new(*fsm.GiveUpError)) || x.last() != "discard" {
		t.Errorf("%v; last is %s", err, x.last())
	}
}
