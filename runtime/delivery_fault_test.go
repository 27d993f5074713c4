package fsm_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// A delivery that cannot be understood is told, performed by nobody and tried
// again later.
func TestDeliveryAgainstTheLog(t *testing.T) {
	t.Parallel()
	sent := func(e *fsm.Event) bool { return e.Operation == "send" }
	for _, tt := range []struct {
		name  string
		event func(*fsm.Event) bool
	}{
		{"no event at its revision", func(e *fsm.Event) bool { return !sent(e) }},
		{"the event of another revision", func(e *fsm.Event) bool {
			if sent(e) {
				e.Rev++
			}
			return true
		}},
		{"an operation that is gone", func(e *fsm.Event) bool {
			if sent(e) {
				e.Operation = "gone"
			}
			return true
		}},
		{"an operation without an effect", func(e *fsm.Event) bool {
			if sent(e) {
				e.Operation = "annotate"
			}
			return true
		}},
		{"an operation with another effect", func(e *fsm.Event) bool {
			if sent(e) {
				e.Operation = "dispatch"
			}
			return true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now, broken := start, false
			store := &wrapped{Store: newStore(), view: func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
				return table.View(ctx, func(r driver.Reader) error {
					if broken {
						r = &tampered{Reader: r, event: tt.event}
					}
					return f(r)
				})
			}}
			calls := 0
			m := senders(t, store, 1, func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
				calls++
				return nil
			}, fsm.WithClock(func() time.Time { return now }))
			broken = true
			if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, fsm.ErrEffect) || calls != 0 {
				t.Errorf("delivered %d (%v) with %d effects, want none and why", n, err, calls)
			}
			broken, now = false, now.Add(time.Hour)
			if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls != 1 {
				t.Errorf("delivered %d (%v) with %d effects, want it later", n, err, calls)
			}
		})
	}
}

// gone is a reader without records.
type gone struct{ driver.Reader }

func (g gone) Row(string) (driver.Row, error) { return driver.Row{}, driver.ErrNotFound }

// The delivery of a record that is not there any more is dropped.
func TestDeliveryOfARecordThatIsGone(t *testing.T) {
	t.Parallel()
	broken := false
	store := &wrapped{Store: newStore(), view: func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error {
			if broken {
				r = gone{r}
			}
			return f(r)
		})
	}}
	calls := 0
	m := senders(t, store, 1, func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		calls++
		return nil
	}, fixed())
	for _, broken = range []bool{true, false} {
		if n, err := m.Deliver(t.Context()); n != 0 || err != nil || calls != 0 {
			t.Errorf("delivered %d (%v) with %d effects, want nothing", n, err, calls)
		}
	}
}

// An effect whose record cannot be read as of its revision is not performed.
func TestDeliveryWithoutItsRecord(t *testing.T) {
	t.Parallel()
	now, broken := start, false
	store := &wrapped{Store: newStore(), view: func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error {
			if broken {
				r = &tampered{Reader: r, event: func(e *fsm.Event) bool { return e.Rev != 2 }}
			}
			return f(r)
		})
	}}
	open(t, store, storetest.Schema())
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"dispatch": noFollower,
	})
	calls := 0
	m, err := fsm.NewMachine(t.Context(), store, d, effects(func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		calls++
		return nil
	}), fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	dispatched(t, m, ops["dispatch"])
	broken = true
	if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, fsm.ErrEffect) || calls != 0 {
		t.Errorf("delivered %d (%v) with %d effects, want none and why", n, err, calls)
	}
	broken, now = false, now.Add(time.Hour)
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls != 1 {
		t.Errorf("delivered %d (%v) with %d effects, want it later", n, err, calls)
	}
}

// A store that is busy when the delivery is to be removed has not refused what
// follows: the delivery stays due.
func TestBusyAfterTheEffect(t *testing.T) {
	t.Parallel()
	busy := false
	store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if busy {
			busy = false
			return &fsm.Refusal{Code: fsm.ErrBusy, Machine: "parcel"}
		}
		return table.Update(ctx, f)
	}}
	calls := 0
	m := senders(t, store, 1, func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		calls++
		busy = calls == 1
		return nil
	}, fixed())
	if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, fsm.ErrBusy) || errors.Is(err, fsm.ErrEffect) {
		t.Errorf("delivered %d (%v), want that the store is busy", n, err)
	}
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls != 2 {
		t.Errorf("delivered %d (%v) with %d effects, want it at once", n, err, calls)
	}
}

// What follows a delivery may be refused, or fail in its own effect: then the
// delivery waits like one whose effect failed, and is not repeated at once.
func TestWhatFollowsADeliveryFails(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for _, tt := range []struct {
		name   string
		arrive func(op *fsmimpl.Operation[storetest.Parcel], works *bool)
		want   error
	}{
		{"it is refused", func(op *fsmimpl.Operation[storetest.Parcel], works *bool) {
			op.System = func(*storetest.Parcel, time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				c := storetest.Arrive()
				decide := c.Decide
				c.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
					if !*works {
						return fsmimpl.Step{}, &fsm.Refusal{Code: fsm.ErrGuard, Machine: "parcel", Guard: "open", Cause: no}
					}
					return decide(p, id, peers, now)
				}
				return c, nil
			}
		}, fsm.ErrGuard},
		{"its atomic effect fails", func(op *fsmimpl.Operation[storetest.Parcel], _ *bool) {
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{{Name: "charge", Atomic: true}}
		}, no},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now, works, calls := start, false, 0
			store := newStore()
			open(t, store, storetest.Schema())
			d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
				"arrive": func(op *fsmimpl.Operation[storetest.Parcel]) { tt.arrive(op, &works) },
			})
			all := effects(nil)
			all["carry"] = func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
				if calls++; calls > 3 {
					works = true // or the round would have no end
				}
				return nil
			}
			all["charge"] = func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
				if !works {
					return no
				}
				return nil
			}
			m, err := fsm.NewMachine(t.Context(), store, d, all, fsm.WithClock(func() time.Time { return now }))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Startup(t.Context()); err != nil {
				t.Fatal(err)
			}
			out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
			out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
			out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
			must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
			n, err := m.Deliver(t.Context())
			if n != 0 || !errors.Is(err, fsm.ErrEffect) || !errors.Is(err, tt.want) || calls != 1 {
				t.Errorf("delivered %d (%v) with %d effects; want one effect, and why nothing followed", n, err, calls)
			}
			works, now = true, now.Add(time.Hour)
			if n, err := m.Deliver(t.Context()); n != 1 || err != nil || calls != 2 {
				t.Errorf("delivered %d (%v) with %d effects, want it later", n, err, calls)
			}
		})
	}
}

// hollow is a transaction without records.
type hollow struct{ fsm.Tx }

func (h hollow) Row(string) (driver.Row, error) { return driver.Row{}, driver.ErrNotFound }

// Between the effect and what follows, the record may go and an answer may get
// lost; what follows may be followed itself.
func TestAfterTheEffect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		update func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error
		log    []string
	}{
		{"as always", nil, []string{"dispatch", "arrive", "discard"}},
		{"the record is gone", func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			return table.Update(ctx, func(tx fsm.Tx) error { return f(hollow{tx}) })
		}, []string{"dispatch"}},
		{"nothing was written, and no answer came", func(driver.Table, context.Context, func(fsm.Tx) error) error {
			return &fsm.AmbiguousError{Err: errors.New("lost")}
		}, []string{"dispatch", "arrive", "discard"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			broken, calls := false, 0
			store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
				if broken && tt.update != nil {
					broken = false
					return tt.update(table, ctx, f)
				}
				return table.Update(ctx, f)
			}}
			open(t, store, storetest.Schema())
			d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
				"arrive": func(op *fsmimpl.Operation[storetest.Parcel]) { op.Then = "discard" },
				"discard": func(op *fsmimpl.Operation[storetest.Parcel]) {
					op.System = func(*storetest.Parcel, time.Time) (fsmimpl.Call[storetest.Parcel], error) {
						c := storetest.Discard()
						c.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
							p.Rev++
							return fsmimpl.Step{From: p.State, To: p.State}, nil
						}
						return c, nil
					}
				},
			})
			m, err := fsm.NewMachine(t.Context(), store, d, effects(func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
				calls++
				broken = calls == 1
				return nil
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
			must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
			for range 2 { // the second round finds what the first one could not do
				if _, err := m.Deliver(t.Context()); err != nil {
					t.Log(err)
				}
			}
			var got []string
			for _, e := range log(t, m, "p1")[3:] {
				got = append(got, e.Operation)
			}
			if diff := cmp.Diff(tt.log, got); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
			if n, err := m.Deliver(t.Context()); n != 0 || err != nil {
				t.Errorf("a third round delivers %d (%v), want nothing left", n, err)
			}
		})
	}
}

// An effect that runs on after its caller was interrupted keeps its lease: nobody
// performs it a second time beside it.
func TestInterruptedEffectKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		m := senders(t, memstore.New(), 1, func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
			count(1)
			defer count(-1)
			time.Sleep(30 * time.Second) // a call that heeds no context
			return nil
		}, fsm.WithDelivery(time.Minute, 1))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if n, err := m.Deliver(ctx); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the interrupted one: %d, %v", n, err)
		}
		if n, err := m.Deliver(t.Context()); n != 0 || err != nil {
			t.Errorf("beside it: %d, %v", n, err)
		}
		time.Sleep(time.Minute)
		if n, err := m.Deliver(t.Context()); n != 1 || err != nil {
			t.Errorf("after its lease: %d, %v", n, err)
		}
		if most != 1 {
			t.Errorf("%d ran at once", most)
		}
	})
}

// A record that moves on while its effect runs takes the delivery along; that is no
// failure of the effect.
func TestRecordMovesDuringItsEffect(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	open(t, store, storetest.Schema())
	var m *machine
	ran := 0
	move := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		ran++
		_, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", "changed"))
		return err
	}
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"send": func(op *fsmimpl.Operation[storetest.Parcel]) { op.Asks = nil }, // a move takes the deliveries of others along
	})
	m, err := fsm.NewMachine(t.Context(), store, d, map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": move, "carry": move})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	for i, want := range []error{fsm.ErrMovedOn, nil, nil} {
		if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, want) {
			t.Errorf("round %d: %d, %v, want %v", i, n, err, want)
		}
	}
	if ran != 1 {
		t.Errorf("the effect ran %d times", ran)
	}
}
