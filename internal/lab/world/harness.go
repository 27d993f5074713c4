package world

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/spec"
)

// Suite is one run of tests over many records, with what it has counted.
type Suite[R any] struct {
	M      *spec.Machine
	D      fsmcases.Package[R]
	Cases  *Cases
	Stores []Store // besides memstore
	Engine func(machine any) *Engine[R]

	DurableCount, PromptCount, NamedCount int
}

// Harness runs calls on an opened machine and on the world beside it, and compares what both
// answer and what both hold.
type Harness[R any] struct {
	T     *testing.T
	S     *Suite[R]
	M     *spec.Machine
	Ctx   context.Context
	Store fsm.Store
	D     *Durable[R]
	W     *World
	Fx    *fsmcases.Effects
	Clock time.Time
	N     int                    // for request ids
	Known map[string][]fsm.Event // logs that were compared, as they were found then

	opts   []fsm.Option // of each opening
	opened *Durable[R]
	live   *fsm.Machine[interp.Record] // without its package
	turn   int                         // of the ways to call
}

// NewHarness opens the machine on an empty store.
func (s *Suite[R]) NewHarness(t *testing.T, st Store, opts ...fsm.Option) *Harness[R] {
	t.Helper()
	h := &Harness[R]{T: t, S: s, M: s.M, Ctx: t.Context(), Store: st.Open(t), Clock: Noon.Add(17 * time.Second), opts: opts}
	h.W = newWorld(s.M, func() time.Time { return h.Clock })
	h.Fx = &fsmcases.Effects{Sources: map[string]fsmcases.Call{}, Fail: map[string]bool{}}
	for _, o := range s.M.Operations {
		c := s.Cases.fired(o)
		h.W.Sources[o], h.Fx.Sources[o.Name] = c.Inputs, Sent(c)
	}
	if err := s.D.Migrate(h.Ctx, h.Store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	h.open()
	if h.D.Startup != nil { // finds nothing; Deliver asks for it
		if _, err := h.D.Startup(h.Ctx); err != nil {
			t.Fatalf("Startup of an empty store: %v", err)
		}
	}
	return h
}

// open opens the machine, as a process does that starts.
func (h *Harness[R]) open() {
	h.T.Helper()
	opts := append([]fsm.Option{
		fsm.WithClock(func() time.Time { return fsmcases.AsSent(h.Clock) }), fsm.WithCallerTime(), fsm.WithBackoff(firstWait, longestWait),
		fsm.WithDelivery(time.Minute, 0), // one after the other: what is performed is compared in its order
	}, h.opts...)
	d, err := h.S.D.Open(h.Ctx, h.Store, h.Fx, opts...)
	if err != nil {
		h.T.Fatalf("Open: %v", err)
	}
	h.D = extended(d, h.S.Engine)
	h.opened = h.D
	h.openLive(opts)
}

// RequestID returns a request id that was not used; none when the machine has none.
func (h *Harness[R]) RequestID() string {
	if h.M.RequestID == spec.None {
		return ""
	}
	h.N++
	return fmt.Sprintf("request-%d", h.N)
}

// New is a call under a request of its own, on a record as it is now. A system operation has none.
func (h *Harness[R]) New(c interp.Call, id string) interp.Call {
	c.ID, c.ExpectedRev, c.RequestID = id, 0, ""
	if len(c.Op.Creates) == 0 {
		c.ExpectedRev = h.W.Records[id].Rev
	}
	if c.Op.By != spec.BySystem {
		c.RequestID = h.RequestID()
	}
	return c
}

// Timed is the call with the clock's time when it names none.
func (h *Harness[R]) Timed(c interp.Call) interp.Call {
	if c.At.IsZero() {
		c.At = h.Clock
	}
	return c
}

// Fits reports whether records can be put into the store: they break no rule, and none that
// only one of them may have.
func (h *Harness[R]) Fits(list ...interp.Record) bool {
	w := h.W.World
	for _, r := range list {
		if _, taken := w.Records[r.ID]; taken || !MustHold(h.M, r) || r.UpdatedAt.Before(r.CreatedAt) {
			return false
		}
		w = w.With(r)
	}
	return !w.Clash(h.M)
}

// Seed puts records into the store and the world. They have revision 1.
func (h *Harness[R]) Seed(list ...interp.Record) {
	h.T.Helper()
	for _, r := range list {
		r.Rev = 1
		if err := fsmtest.Seed(h.Ctx, h.Store, h.S.D.Descriptor.Schema, Row(h.M, r)); err != nil {
			h.T.Fatal(err)
		}
		h.W.World = h.W.With(r)
	}
}

// Call makes a call in both and compares.
func (h *Harness[R]) Call(what string, c interp.Call) Answer { return h.CallOn(what, Target(c), c) }

// CallOn is Call by a target that stands for the record of the call.
func (h *Harness[R]) CallOn(what string, at fsm.Target, c interp.Call) Answer {
	h.T.Helper()
	h.pure(what, c)
	return h.Both(what, c, func() Answer { return h.W.Do(h.Timed(c)) }, func() ([]fsm.Outcome[R], error) {
		out, err := h.do(what, at, c)
		return []fsm.Outcome[R]{out}, err
	})
}

// Pick lets the store pick in both and compares; n 0 is the form for one record.
func (h *Harness[R]) Pick(what string, c interp.Call, n int) Answer {
	h.T.Helper()
	ways := h.D.Operations[c.Op.Name]
	if ways.Pick == nil {
		return h.Call(what, c)
	}
	return h.Both(what, c, func() Answer { return h.W.Pick(h.Timed(c), max(n, 1)) }, func() ([]fsm.Outcome[R], error) {
		return ways.Pick(h.Ctx, n, Sent(c))
	})
}

// Both does something in both and compares the answers and the effects.
func (h *Harness[R]) Both(what string, c interp.Call, model func() Answer, machine func() ([]fsm.Outcome[R], error)) Answer {
	h.T.Helper()
	before, ran := len(h.W.performed), len(h.Fx.Done())
	want := model()
	got, err := machine()
	if problem := h.diff(want, got, err); problem != "" {
		h.T.Errorf("%s: %s: %s\n\tcall: %s", what, c.Op.Name, problem, shown(c))
	}
	h.settle(what, before, ran, want.Refusal != nil || c.ID == "")
	return want
}

// shown is a call as a reader wants it.
func shown(c interp.Call) string {
	text := fmt.Sprintf("%s of %s@%d, request %q, actor %q, reason %q, at %s", c.Op.Name, c.ID, c.ExpectedRev, c.RequestID, c.Actor, c.Reason, c.At.Format(time.RFC3339Nano))
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		text += fmt.Sprintf(", %s %s", name, c.Inputs[name])
	}
	return text
}

// settle compares the effects that ran since. Where something was taken back, effects of that
// transaction ran before those that stay, with the same keys perhaps; they are forgotten.
func (h *Harness[R]) settle(what string, before, ran int, undone bool) {
	h.T.Helper()
	want, got := h.W.performed[before:], h.Fx.Done()[ran:]
	kept := got
	if undone {
		kept = nil
		for i, left := len(got)-1, want; i >= 0; i-- {
			if n := len(left) - 1; n >= 0 && got[i] == left[n] {
				left = left[:n]
			} else if got[i].InTx {
				continue
			}
			kept = append(kept, got[i])
		}
		slices.Reverse(kept)
	}
	if !slices.Equal(want, kept) {
		h.T.Errorf("%s: the effects %v were performed, want %v", what, got, want)
	}
	h.Fx.Mu.Lock()
	defer h.Fx.Mu.Unlock()
	h.Fx.Performed = append(h.Fx.Performed[:ran:ran], kept...)
}

// SetFail lets an effect fail, or work again.
func (h *Harness[R]) SetFail(effect string, fail bool) {
	h.Fx.Mu.Lock()
	defer h.Fx.Mu.Unlock()
	h.Fx.Fail[effect], h.W.Fail[effect] = fail, fail
}

// Deliver runs Deliver in both and compares what happened. An effect that fails is told of, and
// one whose next step is refused as well.
func (h *Harness[R]) Deliver(what string) {
	h.T.Helper()
	if h.D.Deliver == nil {
		return
	}
	before, ran := len(h.W.performed), len(h.Fx.Done())
	got, err := h.D.Deliver(h.Ctx)
	want, waits := h.W.Deliver(h.Clock, ends(err))
	if told := countEffectErrors(err); told != waits || waits > 0 != errors.Is(err, fsm.ErrEffect) || got != want {
		h.T.Errorf("%s: Deliver performs %d effects and tells of %d (%v), want %d and %d", what, got, told, err, want, waits)
	}
	h.settle(what, before, ran, waits > 0)
}

// GiveUp lets an effect give up the next time that it is performed.
func (h *Harness[R]) GiveUp(effect string) {
	h.Fx.Mu.Lock()
	defer h.Fx.Mu.Unlock()
	h.Fx.GivesUp, h.W.GivesUp = effect, effect
}

// ends lists by record why effects gave up, as an error of Deliver tells it.
func ends(err error) map[string]string {
	told := map[string]string{}
	var list []error
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range append(list, err) {
		var effect *fsm.EffectError
		var gaveUp *fsm.GiveUpError
		if errors.As(err, &effect) && errors.As(effect.Err, &gaveUp) && gaveUp.Err != nil {
			told[effect.ID] = gaveUp.Err.Error()
		}
	}
	return told
}

// countEffectErrors counts the effects that an error of Deliver tells of. One
// that tells of anything else counts as -1.
func countEffectErrors(err error) int {
	if err == nil {
		return 0
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		n := 0
		for _, e := range list.Unwrap() {
			k := countEffectErrors(e)
			if k < 0 {
				return -1
			}
			n += k
		}
		return n
	}
	if _, ok := err.(*fsm.EffectError); !ok {
		return -1
	}
	return 1
}

// Sweep runs Sweep in both and compares.
func (h *Harness[R]) Sweep(what string) {
	h.T.Helper()
	if h.D.Sweep != nil {
		h.byItself(what, "Sweep", h.W.Sweep, h.D.Sweep)
	}
}

// Recover opens the machine again, as after a crash, runs Startup in both and compares.
func (h *Harness[R]) Recover(what string) {
	h.T.Helper()
	if h.D.Startup != nil {
		h.open()
		h.byItself(what, "Startup", h.W.Startup, h.D.Startup)
	}
}

func (h *Harness[R]) byItself(what, name string, model func(time.Time) int, machine func(context.Context) (int, error)) {
	h.T.Helper()
	before, ran := len(h.W.performed), len(h.Fx.Done())
	want := model(h.Clock)
	got, err := machine(h.Ctx)
	if err != nil || got != want {
		h.T.Errorf("%s: %s moved %d records (%v), want %d", what, name, got, err, want)
	}
	h.settle(what, before, ran, true)
	h.Same(what)
}

// Same compares all that the store holds with all that the world holds: every record, every
// log, and that every log folds to its record.
func (h *Harness[R]) Same(what string) {
	h.T.Helper()
	table, err := h.Store.Table(h.S.D.Descriptor.Schema)
	if err != nil {
		h.T.Fatal(err)
	}
	err = table.View(h.Ctx, func(r driver.Reader) error {
		n := 0
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			n++
			if d := DiffRow(h.M, h.W.Records[row.ID], row); d != "" {
				h.T.Errorf("%s: stored record %q: %s", what, row.ID, d)
			}
		}
		if n != len(h.W.Records) {
			h.T.Errorf("%s: %d records are stored, want %d", what, n, len(h.W.Records))
		}
		for _, id := range slices.Sorted(maps.Keys(h.W.Records)) {
			var events []fsm.Event
			for e, err := range r.Events(id, 0) {
				if err != nil {
					return err
				}
				events = append(events, e)
			}
			h.SameLog(what, id, events)
		}
		return nil
	})
	if err != nil {
		h.T.Errorf("%s: read the store: %v", what, err)
	}
}
