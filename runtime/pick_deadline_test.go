package fsm_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// A deadline that goes by between the decision and the commit is not committed: the
// call is told so, whichever way it is made. One that the caller gave as over stays.
func TestPickWhoseDeadlineGoesBy(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"in a round": 1, "in a transaction": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			var slow time.Duration // what the clock gains at each look at it
			clock := func() time.Time { now = now.Add(slow); return now }
			m := open(t, memstore.New(), storetest.Schema(), fsm.WithClock(clock))
			for _, id := range []string{"p1", "p2"} {
				must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
			}
			hold := func(until time.Time) error {
				_, err := m.Pick(t.Context(), n, storetest.Hold(w1, "a", until))
				return err
			}
			slow = time.Second
			err := hold(now.Add(2500 * time.Millisecond))
			var refused *fsm.Refusal
			if !errors.As(err, &refused) || refused.Code != fsm.ErrInvalidInput || refused.Name != "due" {
				t.Fatalf("got %v, want a refusal that names the deadline", err)
			}
			for p := range m.List(t.Context(), driver.Query{}) {
				if p.Rev != 1 {
					t.Errorf("%s was taken", p.ID)
				}
			}
			if err := hold(now.Add(-time.Hour)); err != nil {
				t.Errorf("a deadline that was over before: %v", err)
			}
		})
	}
}

// A deadline that the operation itself gives, shorter than the transaction takes, is
// decided a few times and then refused: the call ends, whatever its context allows.
func TestPickWhoseOwnDeadlineGoesBy(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"in a round": 1, "in a transaction": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			now, looks := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 0
			m := open(t, memstore.New(), storetest.Schema(), fsm.WithClock(func() time.Time {
				if looks++; looks > 1000 {
					cancel()
				}
				now = now.Add(2 * time.Second)
				return now
			}))
			for _, id := range []string{"p1", "p2"} {
				must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
			}
			looks = 0
			call := storetest.Hold(w1, "a", now)
			call.Decide = func(p *storetest.Parcel, id string, numbers []int64, now time.Time) (fsmimpl.Step, error) {
				return storetest.Hold(w1, "a", now.Add(time.Second)).Decide(p, id, numbers, now)
			}
			if _, err := m.Pick(ctx, n, call); !errors.Is(err, fsm.ErrBusy) || looks > 1000 {
				t.Errorf("after %d looks at the clock: %v, want ErrBusy", looks, err)
			}
		})
	}
}

// A worker gives a claim half of its lease, and does not begin on what it got with a
// lease that was over at the answer.
func TestWorkerWhoseClaimIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w hands
		began := 0
		w.start(t, memstore.New(), 1, func(ctx context.Context, h *handle) error {
			began++
			return w.send(ctx, h, "done")
		}, worker.Options{})
		claims, lost := 0, 0
		var limit time.Duration
		late, err := worker.New(w.m, "w1", worker.Funcs[storetest.Parcel]{
			Claim: func(ctx context.Context, n int, until time.Time) ([]outcome, error) {
				if claims++; claims > 1 {
					return nil, fsm.ErrNothingToDo
				}
				end, _ := ctx.Deadline()
				limit = time.Until(end)
				outs, err := w.m.Pick(ctx, n, storetest.Hold(w1, "a", until))
				time.Sleep(time.Minute)
				return outs, err
			},
			Beat:   func(context.Context, *handle, time.Time) error { return nil },
			Beats:  func(*storetest.Parcel) bool { return true },
			Work:   func(context.Context, *handle) error { began++; return nil },
			Failed: func(context.Context, *handle, error) error { return nil },
		}, worker.Options{Lease: time.Minute, Log: slog.New(slog.DiscardHandler), Observe: func(e worker.Event) {
			if e.Kind == worker.Lost && e.ID == "p1" && errors.Is(e.Err, worker.ErrLost) {
				lost++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		if err := late.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if began != 0 || lost != 1 || limit != 30*time.Second {
			t.Errorf("%d began, %d were lost, a claim has %v; want 0, 1 and half of the lease", began, lost, limit)
		}
	})
}

// written is a transaction whose writes are counted.
type written struct {
	fsm.Tx
	writes *int
}

func (c written) Write(w *driver.Write) error {
	*c.writes++
	return c.Tx.Write(w)
}

// The deadline of a pick in a round is looked at before the write, with which the store may commit.
func TestDeadlineIsLookedAtBeforeTheWrite(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var slow time.Duration // what the clock gains at each look at it
	store := &wrapped{Store: memstore.New()}
	m := open(t, store, storetest.Schema(), fsm.WithClock(func() time.Time { now = now.Add(slow); return now }))
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	before, writes := store.bulks.Load(), 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if store.bulks.Load() == before+1 && writes == 0 {
			return table.Update(ctx, func(tx fsm.Tx) error {
				err := f(written{tx, &writes})
				if err == nil || writes != 0 {
					t.Errorf("%v after %d writes, want that the deadline went by before any", err, writes)
				}
				writes = -1 // the round is over
				return err
			})
		}
		return table.Update(ctx, f)
	}
	slow = time.Second
	_, err := m.Pick(t.Context(), 1, storetest.Hold(w1, "a", now.Add(2500*time.Millisecond)))
	if !errors.Is(err, fsm.ErrInvalidInput) || writes != -1 {
		t.Errorf("got %v, %d", err, writes)
	}
}
