package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The sweeper takes a record at its deadline and not before, by the clock of the
// bubble; of three that run at once one takes each step.
func TestRunSweeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		m := open(t, store, storetest.Schema())
		for i := range 20 {
			out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(fmt.Sprintf("p%02d", i)))))
			must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", time.Now().Add(time.Minute))))
		}
		due := time.Now().Add(time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var mu sync.Mutex
		steps, sweeps := 0, 0
		var waits []time.Duration
		for range 3 {
			sweeper := open(t, store, storetest.Schema())
			last := time.Now()
			wg.Go(func() {
				err := sweeper.RunSweeper(ctx, 10*time.Second, func(n int, err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil || n > 0 && time.Now().Before(due) {
						t.Errorf("%d steps, %v before the deadline: %v", n, time.Until(due), err)
					}
					waits = append(waits, time.Since(last))
					last = time.Now()
					steps += n
					sweeps++
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("RunSweeper: %v", err)
				}
			})
		}
		time.Sleep(5 * time.Minute)
		stop()
		wg.Wait()
		if steps != 20 || sweeps < 70 || sweeps > 120 {
			t.Errorf("%d steps in %d sweeps, want 20 in about 90", steps, sweeps)
		}
		same := 0
		for _, w := range waits {
			if w < 8*time.Second || w > 12*time.Second+time.Millisecond {
				t.Errorf("a wait of %v", w)
			}
			if w == waits[0] {
				same++
			}
		}
		if same > len(waits)/2 {
			t.Errorf("%d of %d waits are the same: there is no jitter", same, len(waits))
		}
		if got := findings(t, m); got != nil {
			t.Error(got)
		}
	})
}

func TestSweeperRefusesNoInterval(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	if err := m.RunSweeper(t.Context(), 0, nil); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The boundary: one microsecond before the deadline nothing is due, at it it is.
func TestSweepAtTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(), storetest.Schema())
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
		due := driver.Time(time.Now().Add(time.Second))
		must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", due)))
		time.Sleep(time.Until(due) - time.Microsecond)
		if n, err := m.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("just before: %d, %v", n, err)
		}
		time.Sleep(time.Microsecond)
		if n, err := m.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("at the deadline: %d, %v", n, err)
		}
	})
}

// Two workers whose clocks differ by ten minutes: the fast one takes a lease
// early; what the slow one decided on before is refused, and every revision has
// one winner.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	store := newStore()
	skew := 10 * time.Minute
	slow := open(t, store, storetest.Schema(), fixed())
	fast := open(t, store, storetest.Schema(), fsm.WithClock(func() time.Time { return start.Add(skew) }))
	out := must(t)(slow.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	held := must(t)(slow.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start.Add(5*time.Minute))))
	// It may go wrong: by the fast clock the lease is over, five minutes early.
	if n, err := slow.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("the slow one swept %d, %v", n, err)
	}
	if n, err := fast.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("the fast one swept %d, %v", n, err)
	}
	taken := must(t)(fast.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Hold(storetest.Meta{Actor: "bob"}, "a", start.Add(skew+5*time.Minute))))
	// It cannot go wrong: the first holder writes nothing any more.
	if _, err := slow.Apply(t.Context(), held, storetest.Touch(meta(""), start.Add(time.Hour))); !errors.Is(err, fsm.ErrStale) {
		t.Errorf("the first holder: %v, want ErrStale", err)
	}
	// By the slow clock the fast one's lease lasts fifteen minutes: late, not lost.
	if n, err := slow.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("the slow one swept %d, %v", n, err)
	}
	// Both at one revision: one wins, and updated_at never falls.
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, m := range []*fsm.Machine[storetest.Parcel]{slow, fast} {
		wg.Go(func() {
			_, errs[i] = m.Apply(t.Context(), taken, storetest.Shelve(storetest.Meta{Actor: "bob"}, fmt.Sprintf("s%d", i), "t"))
		})
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), fsm.ErrStale) {
		t.Errorf("at one revision: %v and %v, want one winner and ErrStale", errs[0], errs[1])
	}
	p, err := slow.Record(t.Context(), "p1")
	if err != nil || p.Rev != 5 || p.UpdatedAt.Before(start.Add(skew)) {
		t.Errorf("the record: %+v, %v", p, err)
	}
	if got := findings(t, slow); got != nil {
		t.Error(got)
	}
}
