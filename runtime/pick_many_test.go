package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// rounds is a store that counts transactions and can hold the next one up.
func rounds(t *testing.T, opts ...fsm.Option) (store *wrapped, m *machine, hold chan struct{}, counted func() int) {
	var mu sync.Mutex
	n := 0
	store = &wrapped{Store: newStore()}
	m = open(t, store, storetest.Schema(), append([]fsm.Option{fixed()}, opts...)...)
	hold = make(chan struct{})
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		mu.Lock()
		n++
		first := n == 1
		mu.Unlock()
		if first {
			<-hold
		}
		return table.Update(ctx, f)
	}
	return store, m, hold, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

// Who comes while one pick is at work is served together with the others that
// came, in the order of coming, by one transaction.
func TestPicksAreTakenAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, m, hold, counted := rounds(t)
		waiting(t, m, "p1", "p2", "p3", "p4", "p5", "p6")
		got := make([]string, 6)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				outs, err := m.Pick(t.Context(), 1+i%2, storetest.Hold(meta(fmt.Sprint("r", i)), "a", start))
				for _, out := range outs {
					got[i] += out.Record.ID + " "
				}
				if err != nil {
					got[i] = strings.Fields(err.Error())[0] + " " + fmt.Sprint(errors.Is(err, fsm.ErrNothingToDo))
				}
			})
			synctest.Wait() // they come one after the other
		}
		close(hold)
		all.Wait()
		// The first works alone; 2 to 5 get what there is; the last finds that others
		// may stand behind what was looked at only when as many were found as wanted.
		want := []string{"p1 ", "p2 p3 ", "p4 ", "p5 p6 ", "parcel: true", "parcel: true"}
		if !slices.Equal(got, want) || counted() != 2 {
			t.Errorf("got %q in %d transactions, want %q in 2", got, counted(), want)
		}
		if list := findings(t, m); list != nil {
			t.Errorf("audit: %v", list)
		}
	})
}

// Picks of other records are another round, and so is one that would make it too large.
func TestPicksThatDoNotFitTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, m, hold, counted := rounds(t)
		waiting(t, m, "p1", "p2")
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: "q", Lane: "b"})))
		var all sync.WaitGroup
		ask := func(n int, lane, want string) {
			all.Go(func() {
				outs, err := m.Pick(t.Context(), n, storetest.Hold(meta(""), lane, start))
				if err != nil || len(outs) != 1 || outs[0].Record.ID != want {
					t.Errorf("lane %s: got %v, %v, want %s", lane, outs, err, want)
				}
			})
			synctest.Wait()
		}
		ask(1, "a", "p1")
		ask(1, "b", "q")
		ask(512, "a", "p2")
		close(hold)
		all.Wait()
		if counted() != 3 {
			t.Errorf("%d transactions, want 3", counted())
		}
	})
}

// A round that is held up holds up nobody who asks for other records, who are
// taken along together as well.
func TestPicksOfOtherRecordsDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, m, hold, counted := rounds(t)
		waiting(t, m, "p1")
		for _, id := range []string{"q1", "q2", "q3"} {
			must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: id, Lane: "b"})))
		}
		base, other := store.update, make(chan struct{})
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if counted() == 1 {
				<-other
			}
			return base(table, ctx, f)
		}
		var held, free sync.WaitGroup
		ask := func(all *sync.WaitGroup, lane string) {
			all.Go(func() {
				if outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(""), lane, start)); err != nil || len(outs) != 1 {
					t.Errorf("lane %s: got %v, %v", lane, outs, err)
				}
			})
			synctest.Wait()
		}
		ask(&held, "a")
		for range 3 {
			ask(&free, "b")
		}
		close(other)
		free.Wait()
		if n := counted(); n != 3 { // that of lane a, which is still held up, and two of lane b
			t.Errorf("%d transactions, want 3", n)
		}
		close(hold)
		held.Wait()
	})
}

// A round that cannot be written leaves each of its picks to itself: one whose
// request is known gets its first answer, the others get records.
func TestRoundThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, m, hold, _ := rounds(t)
		waiting(t, m, "p1", "p2", "p3", "p4")
		update := store.update
		store.update = nil
		first, err := m.Pick(t.Context(), 1, storetest.Hold(meta("known"), "a", start))
		if err != nil {
			t.Fatal(err)
		}
		store.update = update
		var all sync.WaitGroup
		var mu sync.Mutex
		holders := map[string]string{}
		for _, rid := range []string{"r1", "r2", "known", "r3"} {
			all.Go(func() {
				outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(rid), "a", start))
				if err != nil || len(outs) != 1 || outs[0].Replayed != (rid == "known") {
					t.Errorf("%s: got %v, %v", rid, outs, err)
					return
				}
				mu.Lock()
				holders[outs[0].Record.ID] = rid
				mu.Unlock()
			})
			synctest.Wait()
		}
		close(hold)
		all.Wait()
		if len(holders) != 4 || holders[first[0].Record.ID] != "known" {
			t.Errorf("got %v, want each its own record", holders)
		}
	})
}

// The same call twice at the same time, for the last record there is: both get it.
func TestOnePickTwiceInARound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, m, hold, _ := rounds(t)
		waiting(t, m, "p1", "p2")
		var all sync.WaitGroup
		for i, rid := range []string{"r1", "r2", "r2", "r3"} {
			all.Go(func() {
				outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(rid), "a", start))
				switch {
				case rid == "r3":
					if !errors.Is(err, fsm.ErrNothingToDo) {
						t.Errorf("%s: got %v, %v, want nothing to do", rid, outs, err)
					}
				case err != nil || len(outs) != 1 || outs[0].Record.ID != "p"+rid[1:] || outs[0].Replayed != (i == 2):
					t.Errorf("call %d of %s: got %v, %v", i, rid, outs, err)
				}
			})
			synctest.Wait()
		}
		close(hold)
		all.Wait()
	})
}

// Whose context ends while it waits is not served; whose ends in a round is. The
// others of a round do not hear of it.
func TestContextsOfPicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, m, hold, _ := rounds(t)
		waiting(t, m, "p1", "p2", "p3", "p4")
		base := store.update
		leaves, leave := context.WithCancel(t.Context())
		late, end := context.WithCancel(t.Context())
		n := 0
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if n++; n == 2 {
				end()
			}
			return base(table, ctx, f)
		}
		var all sync.WaitGroup
		ask := func(ctx context.Context, rid, want string) {
			all.Go(func() {
				outs, err := m.Pick(ctx, 1, storetest.Hold(meta(rid), "a", start))
				if want == "" {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%s: got %v, %v, want the context's error", rid, outs, err)
					}
				} else if err != nil || len(outs) != 1 || outs[0].Record.ID != want {
					t.Errorf("%s: got %v, %v, want %s", rid, outs, err, want)
				}
			})
			synctest.Wait()
		}
		ask(t.Context(), "r1", "p1")
		ask(late, "r2", "p2")
		ask(leaves, "r3", "")
		ask(t.Context(), "r4", "p3")
		leave()
		synctest.Wait()
		close(hold)
		all.Wait()
	})
}

// When the answer to a round is lost, each of its picks finds out for itself.
func TestAnswerToARoundIsLost(t *testing.T) {
	t.Parallel()
	for _, lands := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store, m, hold, counted := rounds(t)
			waiting(t, m, "p1", "p2", "p3")
			base := store.update
			store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
				if counted() != 1 {
					return base(table, ctx, f)
				}
				failed := base(table, ctx, func(tx fsm.Tx) error {
					if err := f(tx); err != nil || lands {
						return err
					}
					return errLost
				})
				if failed == nil || errors.Is(failed, errLost) {
					return &fsm.AmbiguousError{Err: errLost}
				}
				return failed
			}
			var all sync.WaitGroup
			for i, rid := range []string{"r1", "r2", "r3"} {
				all.Go(func() {
					outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(rid), "a", start))
					if err != nil || len(outs) != 1 || outs[0].Replayed != (lands && i > 0) {
						t.Errorf("%s: got %v, %v", rid, outs, err)
					}
				})
				synctest.Wait()
			}
			close(hold)
			all.Wait()
			for _, id := range []string{"p1", "p2", "p3"} {
				if n := len(log(t, m, id)); n != 2 {
					t.Errorf("lands %t: %s has %d events, want two", lands, id, n)
				}
			}
		})
	}
}

// A round that panics is no end of the program: each of its picks looks for what
// became of it, and is made again.
func TestRoundThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, m, hold, counted := rounds(t)
		waiting(t, m, "p1", "p2", "p3")
		base := store.update
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if counted() == 1 {
				_ = base(table, ctx, func(fsm.Tx) error { return errLost })
				panic("planted")
			}
			return base(table, ctx, f)
		}
		var all sync.WaitGroup
		for _, rid := range []string{"r1", "r2", "r3"} {
			all.Go(func() {
				if outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(rid), "a", start)); err != nil || len(outs) != 1 {
					t.Errorf("%s: got %v, %v", rid, outs, err)
				}
			})
			synctest.Wait()
		}
		close(hold)
		all.Wait()
	})
}
