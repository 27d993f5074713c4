package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

type handle = fsm.Held[storetest.Parcel]

// taken returns a parcel that w1 holds, in state held at revision 2.
func taken(t *testing.T, m *machine) *handle {
	t.Helper()
	made := must(t)(m.Create(t.Context(), storetest.Register(meta("made"), in("p1"))))
	h, err := m.HoldOutcome(made, "w1").EngineMove(t.Context(), storetest.Hold(w1, "a", start.Add(time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var w1 = storetest.Meta{Actor: "w1"}

func touch(d time.Duration) fsmimpl.Call[storetest.Parcel] { return storetest.Touch(w1, start.Add(d)) }

func words(s string) fsmimpl.Call[storetest.Parcel] {
	return storetest.Annotate(w1, fsm.Some(fsm.MustJSON(fmt.Sprintf("%q", s))), fsm.Optional[string]{}, fsm.Optional[bool]{})
}

// names returns what happened to a parcel, in order.
func names(t *testing.T, m *machine, id string) string {
	t.Helper()
	var list []string
	for e, err := range m.History(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Operation)
	}
	return strings.Join(list, " ")
}

// A move leaves the handle as it is, and once more it replays; another call
// under the handle's name for it is refused.
func TestMove(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	h := taken(t, m)
	next, err := h.EngineMove(t.Context(), words("a"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.EngineMove(t.Context(), words("a"))
	if err != nil || !again.Outcome().Replayed || next.Outcome().Replayed {
		t.Errorf("the same call once more: %v, replayed %v after %v", err, again.Outcome().Replayed, next.Outcome().Replayed)
	}
	if h.Ref().Rev != 2 || next.Ref().Rev != 3 || again.Ref() != next.Ref() || next.Actor() != "w1" || next.Record().ID != "p1" {
		t.Errorf("handles at %v, %v and %v of %q", h.Ref(), next.Ref(), again.Ref(), next.Actor())
	}
	if _, err := h.EngineMove(t.Context(), words("b")); !errors.Is(err, fsm.ErrRequestReused) {
		t.Errorf("another call of the same operation: %v, want ErrRequestReused", err)
	}
	if h.EngineNewest() != again || next.EngineNewest() != next {
		t.Error("Newest is not what the last move led to")
	}
	if got := names(t, m, "p1"); got != "register hold annotate" {
		t.Errorf("the log: %s", got)
	}
}

// A stay moves the handle to its new revision, under a new request id each time.
func TestStay(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	h := taken(t, m)
	for i := range 3 {
		if err := h.EngineStay(t.Context(), touch(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if h.Ref().Rev != int64(3+i) || h.Outcome().Replayed {
			t.Errorf("at %v, replayed %v; want revision %d", h.Ref(), h.Outcome().Replayed, 3+i)
		}
	}
	if due, _ := h.Record().Due.Get(); !due.Equal(start.Add(time.Hour)) {
		t.Errorf("due %v", due)
	}
	other := m.Hold(must(t)(m.Apply(t.Context(), h, words("x"))).Record, "w1")
	if err := h.EngineStay(t.Context(), touch(time.Hour)); !errors.Is(err, fsm.ErrStale) {
		t.Errorf("a handle that others have overtaken: %v, want ErrStale", err)
	}
	if err := other.EngineStay(t.Context(), touch(2*time.Hour)); err != nil {
		t.Errorf("the handle of the stored record: %v", err)
	}
}

// A handle whose record went on, to where its call is recorded only, says so: the
// type of the handle would promise another state.
func TestHeldIsRecordedElsewhere(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	h := taken(t, m)
	shelved := must(t)(m.Apply(t.Context(), h.Ref(), storetest.Shelve(storetest.Meta{}, "s", "t")))
	sent := must(t)(m.Apply(t.Context(), shelved, storetest.Send(storetest.Meta{})))
	_, moved := h.EngineMove(t.Context(), touch(time.Hour))
	for _, err := range []error{h.EngineStay(t.Context(), touch(time.Hour)), moved} {
		var recorded *fsm.RecordedError
		if !errors.As(err, &recorded) || recorded.State != "sent" || recorded.Rev != sent.Ref().Rev || !errors.Is(err, fsm.ErrStale) {
			t.Errorf("got %v, want it recorded in sent", err)
		}
	}
	if h.Ref().Rev != 2 || h.EngineNewest() != h {
		t.Errorf("the handle is at %v, want it where it was", h.Ref())
	}
	if got := names(t, m, "p1"); got != "register hold shelve send touch" {
		t.Errorf("the log: %s", got)
	}
}

// The calls of one handle never make each other stale.
func TestHeldByMany(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	h := taken(t, m)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := h.EngineStay(t.Context(), touch(time.Duration(i)*time.Minute)); err != nil {
				t.Error(err)
			}
			_ = h.Record()
		})
	}
	wg.Wait()
	next, err := h.EngineMove(t.Context(), words("end"))
	if err != nil || next.Ref().Rev != 19 {
		t.Errorf("after 16 stays: %v, %v", next.Ref(), err)
	}
}

// A stay whose answer is lost is settled before the next call, whatever that is:
// it was applied once, or was not.
func TestStaySettles(t *testing.T) {
	t.Parallel()
	for _, landed := range []bool{false, true} {
		for _, next := range []string{"move", "stay"} {
			t.Run(fmt.Sprintf("landed %v/%s", landed, next), func(t *testing.T) {
				t.Parallel()
				var armed, down atomic.Bool // down: no look-up gets through
				store := &wrapped{
					Store: newStore(),
					commit: func(table driver.Table, ctx context.Context, w *driver.Write) error {
						if down.Load() {
							return errLost
						}
						if !armed.Load() {
							return table.Commit(ctx, w)
						}
						down.Store(true)
						if landed {
							if err := table.Commit(ctx, w); err != nil {
								t.Error(err)
							}
						}
						return errLost
					},
					update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
						if down.Load() {
							return errLost
						}
						return table.Update(ctx, f)
					},
					view: func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
						if down.Load() {
							return errLost
						}
						return table.View(ctx, f)
					},
				}
				m := open(t, store, storetest.Schema(), fixed())
				h := taken(t, m)
				armed.Store(true)
				err := h.EngineStay(t.Context(), touch(time.Hour))
				if err == nil || h.Ref().Rev != 2 {
					t.Fatalf("%v at %v; expected an unknown outcome", err, h.Ref())
				}
				if err := h.EngineStay(t.Context(), touch(time.Hour)); err == nil {
					t.Fatal("a call went through although nobody knows the revision")
				}
				armed.Store(false)
				down.Store(false)
				if next == "move" {
					moved, err := h.EngineMove(t.Context(), words("end"))
					if err != nil || moved.Ref().Rev != 4 {
						t.Errorf("%v at %v, want revision 4", err, moved.Ref())
					}
				} else if err := h.EngineStay(t.Context(), touch(2*time.Hour)); err != nil || h.Ref().Rev != 4 {
					t.Errorf("%v at %v, want revision 4", err, h.Ref())
				}
				want := map[string]string{"move": "register hold touch annotate", "stay": "register hold touch touch"}[next]
				if diff := cmp.Diff(want, names(t, m, "p1")); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A refusal is no unknown outcome: the next call goes its own way.
func TestStayRefused(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	h := taken(t, m)
	if err := h.EngineStay(t.Context(), storetest.Expel(w1)); err == nil {
		t.Fatal("an operator expelled it without a reason")
	}
	if err := h.EngineStay(t.Context(), touch(time.Hour)); err != nil || h.Ref().Rev != 3 {
		t.Errorf("%v at %v, want revision 3", err, h.Ref())
	}
}

// A handle waits for its turn as long as the caller wants.
func TestTurn(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, storetest.Schema(), fixed())
	h := taken(t, m)
	inside, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	store.Inject(func(p memstore.Point) error {
		once.Do(func() { close(inside); <-leave })
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- h.EngineStay(context.WithoutCancel(t.Context()), touch(time.Hour)) }()
	<-inside
	gone, cancel := context.WithCancelCause(t.Context())
	bored := errors.New("bored")
	cancel(bored)
	if err := h.EngineStay(gone, touch(time.Hour)); !errors.Is(err, bored) {
		t.Errorf("Stay: %v, want the cause of the context's end", err)
	}
	if _, err := h.EngineMove(gone, words("x")); !errors.Is(err, bored) {
		t.Errorf("Move: %v, want the cause of the context's end", err)
	}
	close(leave)
	if err := <-done; err != nil || h.Ref().Rev != 3 {
		t.Errorf("the first call: %v at %v", err, h.Ref())
	}
}

// A handle that nobody made refuses everything.
func TestEmptyHandle(t *testing.T) {
	t.Parallel()
	var h *handle
	if _, err := h.EngineMove(t.Context(), words("x")); err == nil || !strings.Contains(err.Error(), "the handle is empty") {
		t.Errorf("Move: %v", err)
	}
	if err := h.EngineStay(t.Context(), touch(0)); err == nil || !strings.Contains(err.Error(), "the handle is empty") {
		t.Errorf("Stay: %v", err)
	}
	if h.Actor() != "" || h.Ref() != (fsm.Ref{}) || h.Record().ID != "" || h.EngineNewest() != nil {
		t.Error("an empty handle holds something")
	}
	m := open(t, newStore(), storetest.Schema(), fixed())
	if _, err := m.Apply(t.Context(), h, words("x")); !errors.Is(err, fsm.ErrInvalidInput) {
		t.Errorf("Apply to an empty handle: %v", err)
	}
}

// In a batch the call of a handle is made when its turn is over: for the record that it held
// then, under the request id of the handle.
func TestHandleInABatch(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	rec := taken(t, m).Record()
	outs, err := m.Batch(t.Context(), func(in *machine) error {
		return in.Hold(rec, "w1").EngineStay(t.Context(), touch(time.Hour))
	})
	if err != nil || len(outs) != 1 || outs[0].Ref() != (driver.Ref{ID: "p1", Rev: 3}) || outs[0].Events[0].RequestID == "" {
		t.Errorf("got %v, %v; want p1 at revision 3, under a request id", outs, err)
	}
}
