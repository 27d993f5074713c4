package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A round takes whoever asks for the same records, up to a number of them.
func TestWhoSharesARound(t *testing.T) {
	t.Parallel()
	type ask struct {
		n    int
		lane string
	}
	for _, c := range []struct {
		asks   []ask
		rounds int
	}{
		{[]ask{{256, "a"}, {256, "a"}}, 1},
		{[]ask{{256, "a"}, {257, "a"}}, 2},
		{[]ask{{1000, "a"}, {1, "a"}}, 2},
		{[]ask{{1, "a"}, {1, "b"}, {1, "a"}}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, m, hold, counted := rounds(t)
			waiting(t, m, "p1", "p2", "p3")
			for _, id := range []string{"q1", "q2"} {
				must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: id, Lane: "b"})))
			}
			var all sync.WaitGroup
			var got atomic.Int64
			for _, a := range append([]ask{{1, "a"}}, c.asks...) { // the first keeps the others waiting
				all.Go(func() {
					outs, err := m.Pick(t.Context(), a.n, storetest.Hold(meta(""), a.lane, start))
					if err != nil && !errors.Is(err, fsm.ErrNothingToDo) {
						t.Error(err)
					}
					for _, out := range outs {
						if got.Add(1); out.Record.Lane != a.lane {
							t.Errorf("lane %s got %s", a.lane, out.Record.ID)
						}
					}
				})
				synctest.Wait()
			}
			close(hold)
			all.Wait()
			want := map[string]int64{"a": 3}
			if len(c.asks) == 3 {
				want["b"] = 1
			}
			if counted() != 1+c.rounds || got.Load() != want["a"]+want["b"] {
				t.Errorf("%v: %d transactions and %d records, want %d and %d", c.asks, counted(), got.Load(), 1+c.rounds, want["a"]+want["b"])
			}
		})
	}
}

// The same records are meant when every condition is the same one, and in no
// other case.
func TestWhoAsksForTheSameRecords(t *testing.T) {
	t.Parallel()
	where := func(column string, op driver.Op, v any) []driver.Cond {
		return []driver.Cond{{Column: column, Op: op, Value: v}}
	}
	now := func(column string, op driver.Op) []driver.Cond {
		return []driver.Cond{{Column: column, Op: op, Now: true}}
	}
	for _, c := range []struct {
		a, b   []driver.Cond
		rounds int
	}{
		{where("lane", driver.OpEq, "a"), where("lane", driver.OpEq, "a"), 1},
		{where("due", driver.OpLt, start), where("due", driver.OpLt, start.Local()), 1},
		{where("lane", driver.OpEq, "a"), where("lane", driver.OpEq, "b"), 2},
		{where("lane", driver.OpEq, "a"), where("label", driver.OpEq, "a"), 2},
		{where("slot", driver.OpPresent, nil), where("slot", driver.OpAbsent, nil), 2},
		{now("due", driver.OpLt), now("due", driver.OpLt), 1},
		{now("due", driver.OpLt), now("due", driver.OpLe), 2},
		{now("due", driver.OpLt), where("due", driver.OpLt, nil), 2},
		{where("lane", driver.OpEq, "a"), append(where("lane", driver.OpEq, "a"), where("slot", driver.OpAbsent, nil)...), 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, m, hold, counted := rounds(t)
			waiting(t, m, "p1")
			var all sync.WaitGroup
			for _, w := range [][]driver.Cond{c.a, c.a, c.b} { // the first keeps the others waiting
				call := storetest.Hold(meta(""), "a", start)
				call.Where = w
				all.Go(func() {
					if _, err := m.Pick(t.Context(), 1, call); err != nil && !errors.Is(err, fsm.ErrNothingToDo) {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			close(hold)
			all.Wait()
			if counted() != 1+c.rounds {
				t.Errorf("%v and %v: %d rounds, want %d", c.a, c.b, counted()-1, c.rounds)
			}
		})
	}
}

// A record that refuses is passed over within the round, and is left to nobody.
func TestRoundPassesOver(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	waiting(t, m, "p1", "p2", "p3")
	tries := 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		tries++
		return table.Update(ctx, f)
	}
	call := storetest.Hold(meta("r"), "a", start)
	decide := call.Decide
	call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		if id == "p2" {
			return fsmimpl.Step{}, &fsm.Refusal{ID: id, Code: fsm.ErrGuard, Machine: "parcel", Operation: "hold"}
		}
		return decide(p, id, peers, now)
	}
	outs, err := m.Pick(t.Context(), 4, call)
	if err != nil || len(outs) != 2 || outs[0].Record.ID != "p1" || outs[1].Record.ID != "p3" || tries != 1 {
		t.Errorf("got %v, %v in %d transactions, want p1 and p3 in one", outs, err, tries)
	}
}

// A round in which a look at the store fails has no answer; the pick by itself has.
func TestRoundThatCannotLook(t *testing.T) {
	t.Parallel()
	looks := 0
	m := open(t, hooking(func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, request: func(id, requestID string) ([]fsm.Event, error) {
			if looks++; looks == 1 {
				return nil, errLost
			}
			return tx.Request(id, requestID)
		}}
	}), storetest.Schema(), fixed())
	outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta("r"), "a", start))
	if !errors.Is(err, fsm.ErrNothingToDo) || looks < 2 {
		t.Errorf("got %v, %v after %d looks, want nothing to do", outs, err, looks)
	}
}

// A round whose transaction begins anew decides anew: what the first one found
// does not count.
func TestRoundThatBeginsAnew(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	tries := 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries > 1 {
			return table.Update(ctx, f)
		}
		err := table.Update(ctx, func(tx fsm.Tx) error {
			if err := f(tx); err != nil { // it finds nothing
				return err
			}
			return errLost
		})
		if !errors.Is(err, errLost) {
			t.Errorf("got %v, want it taken back", err)
		}
		waiting(t, m, "p1")
		return table.Update(ctx, f)
	}
	outs, err := m.Pick(t.Context(), 2, storetest.Hold(meta("r"), "a", start))
	if err != nil || len(outs) != 1 || outs[0].Record.ID != "p1" || outs[0].Replayed || tries != 1 {
		t.Errorf("got %v, %v after %d calls of the store, want p1 by the one of the round", outs, err, tries)
	}
}

// Whoever waits first may leave like the others, before its round begins.
func TestFirstInTheQueueLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, m, hold, counted := rounds(t)
		waiting(t, m, "p1", "p2")
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var gone error
		all.Go(func() {
			if outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta("r1"), "a", start)); err != nil || len(outs) != 1 {
				t.Errorf("got %v, %v, want one record", outs, err)
			}
		})
		synctest.Wait()
		all.Go(func() { _, gone = m.Pick(ctx, 1, storetest.Hold(meta("r2"), "a", start)) })
		synctest.Wait()
		leave()
		synctest.Wait()
		if !errors.Is(gone, context.Canceled) {
			t.Errorf("while it waits: got %v, want the context's error", gone)
		}
		close(hold)
		all.Wait()
		if counted() != 1 {
			t.Errorf("%d transactions, want one", counted())
		}
	})
}

// A round of one ends with its caller.
func TestRoundOfOneEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, m, hold, counted := rounds(t)
		waiting(t, m, "p1", "p2")
		base := store.update
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if counted() == 0 {
				return base(table, ctx, f)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Hour):
				return fmt.Errorf("nobody ended it")
			}
		}
		begun := time.Now()
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		var all sync.WaitGroup
		all.Go(func() {
			if outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta("r1"), "a", start)); err != nil || len(outs) != 1 {
				t.Errorf("got %v, %v, want one record", outs, err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			_, err := m.Pick(ctx, 1, storetest.Hold(meta("r2"), "a", start))
			if waited := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fsm.ErrAmbiguous) || waited != time.Minute {
				t.Errorf("got %v after %v, want the context's error after a minute", err, waited)
			}
		})
		synctest.Wait()
		close(hold)
		all.Wait()
	})
}

// An error of the store within a try of many calls at once is certain: nothing
// was written, so nobody looks, and the calls are made one by one at once.
func TestManyCallsOnAStoreThatFails(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	broken := errors.New("no room on the disk")
	tries, views := 0, 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries > 1 {
			return table.Update(ctx, f)
		}
		return table.Update(ctx, func(tx fsm.Tx) error { return f(full{tx, broken}) })
	}
	store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		views++
		return table.View(ctx, f)
	}
	outs, err := m.CreateMany(t.Context(), []fsmimpl.Call[storetest.Parcel]{storetest.Register(meta("r1"), in("a")), storetest.Register(meta("r2"), in("b"))})
	if err != nil || len(outs) != 2 || tries != 2 || views != 0 {
		t.Errorf("%d outcomes, %v after %d tries and %d looks, want 2 after 2 and none", len(outs), err, tries, views)
	}
}

// full is a transaction that writes nothing.
type full struct {
	fsm.Tx
	err error
}

func (f full) Write(*driver.Write) error { return f.err }

// A refusal that speaks of the call, and not of one record, is the answer of a
// pick, however many records it had decided on before.
func TestPickThatIsRefusedAsACall(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"p1", "p2"} {
		m := open(t, newStore(), storetest.Schema(), fixed())
		waiting(t, m, "p1", "p2", "p3")
		call := storetest.Hold(meta("r"), "a", start)
		decide := call.Decide
		call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
			if id == at {
				return fsmimpl.Step{}, &fsm.Refusal{Code: fsm.ErrInvalidInput, Name: "due"}
			}
			return decide(p, id, peers, now)
		}
		outs, err := m.Pick(t.Context(), 4, call)
		var r *fsm.Refusal
		if !errors.As(err, &r) || r.Code != fsm.ErrInvalidInput || outs != nil {
			t.Errorf("refused at %s: got %v, %v, want the refusal of the input", at, outs, err)
		}
		if n := len(log(t, m, "")); n != 3 {
			t.Errorf("refused at %s: the log has %d events, want those of the three creations", at, n)
		}
	}
}
