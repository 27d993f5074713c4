package fsmtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// effects runs every operation that has an effect, with an effect that works
// and with one that fails: an atomic one takes everything with it, another one
// is delivered again until it works, and then what follows it happens.
func (s *suite[R]) effects(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if o.Effect == "" {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
			if !h.exported(o) && !o.Picks {
				t.Skip("not exported: reached by `then` only")
			}
			c, ok := s.m.goodAlone(o)
			if !ok {
				o.unmoved(t)
				return
			}
			call := c.call
			call.Labels = nil
			if o.By != "system" {
				call.RequestID = h.requestID()
			} else {
				call.Reason = ""
			}
			run := func(what string) expected {
				if o.creates {
					_, want := h.create(what, o, call)
					return want
				}
				_, want := h.call(what, o, fsm.Ref{ID: c.row.ID, Rev: 1}, call)
				return want
			}
			if !o.creates {
				h.seed(c.row)
			}
			h.fail(o.Effect, true)
			first := run("with an effect that fails")
			h.same("after an effect that failed")
			if !o.Atomic {
				h.deliver("an effect that fails")
				if h.fx.attempts == 0 {
					t.Error("the effect was not tried")
				}
				h.same("after a delivery that failed")
			} else if first.code != fsm.ErrEffect {
				t.Errorf("the model says %q", string(first.code))
			}
			h.fail(o.Effect, false)
			if o.Atomic {
				run("with an effect that works")
			} else {
				h.clock = h.clock.Add(48 * time.Hour) // past every backoff
				h.deliver("an effect that works")
				h.deliver("once more")
			}
			h.same("at the end")
			if o.By != "system" && s.m.RequestID != "none" {
				run("again")
				h.same("the effect does not run again")
			}
			s.durableCount++
		})
	}
}

func (h *harness[R]) fail(effect string, fail bool) {
	h.fx.setFail(effect, fail)
	h.w.fail[effect] = fail
}

// deliver runs Deliver in both and compares what happened. An effect that fails
// is told of, and one whose next step is refused as well.
func (h *harness[R]) deliver(what string) {
	h.t.Helper()
	if h.d.Deliver == nil {
		return
	}
	want, waits := h.w.deliver(h.clock)
	got, err := h.d.Deliver(h.ctx)
	if told := countEffectErrors(err); told != waits || waits > 0 != errors.Is(err, fsm.ErrEffect) {
		h.t.Errorf("%s: Deliver tells of %d effects (%v), want %d", what, told, err, waits)
	}
	h.traced(TraceLine{Kind: "deliver", Count: got}, Call{At: h.clock}, fsm.Outcome[R]{}, nil)
	if got != want {
		h.t.Errorf("%s: Deliver performed %d effects, want %d", what, got, want)
	}
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

// triggers looks at every deadline: just before it nothing happens, at it the
// operation runs, without a deadline it never does.
func (s *suite[R]) triggers(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		for _, text := range o.Triggers {
			if text == "startup" {
				continue
			}
			for _, name := range s.m.allowed(o) {
				t.Run(fmt.Sprintf("%s %s in %s", o.Name, text, name), func(t *testing.T) {
					s.trigger(t, st, o, text, s.m.states[name])
				})
			}
		}
	}
}

func (s *suite[R]) trigger(t *testing.T, st Store, o *operation, text string, from *state) {
	h := s.newHarness(t, st)
	if _, err := s.d.Open(h.ctx, h.store, &Effects{}); err != nil { // one that is opened beside it has sources of its own
		t.Fatal(err)
	}
	row, ok := s.m.triggered(o, text, from, func(c theCase) bool { return h.w.clone().commit(o, c.row, c.call, true, "").code == "" })
	if !ok {
		t.Skip("no record in this state has a deadline")
	}
	h.seed(row)
	deadline, _ := s.m.deadline(text, row)
	if absent, ok := s.m.withoutDeadline(text, row); ok {
		s.m.apart(o, &theCase{row: absent, call: Call{Inputs: map[string]any{}}}, 2)
		s.m.number(&absent, 9_999)
		absent.ID = "record-without"
		h.seed(absent)
	}
	h.clock = deadline.Add(-microsecond)
	h.sweep("one microsecond before the deadline")
	if !h.s.quiet(h) {
		t.Skip("another trigger is due before this one")
	}
	h.clock = deadline
	h.sweep("at the deadline")
	if h.w.rows[row.ID].Rev == 1 {
		t.Error("the model says that nothing happens at the deadline")
	}
	h.sweep("at the deadline, again")
	s.durableCount++
}

// quiet reports whether nothing has moved since the records were seeded.
func (s *suite[R]) quiet(h *harness[R]) bool {
	for _, r := range h.w.rows {
		if r.Rev != 1 {
			return false
		}
	}
	return true
}

// triggered is a sound record in the state with a deadline at which the operation
// moves it, and nothing takes that back: what follows at once is not refused.
func (m *model) triggered(o *operation, text string, from *state, kept func(theCase) bool) (driver.Row, bool) {
	for c := range m.cases(o, from) {
		if !m.sound(c.row) {
			continue
		}
		d, ok := m.deadline(text, c.row)
		if !ok {
			continue
		}
		c.call.At, c.call.Reason = d, ""
		if moves(m.decide(o, c.row, c.call)) && kept(c) {
			return c.clone().row, true
		}
	}
	return driver.Row{}, false
}

// withoutDeadline is the record without the field that the trigger names, when
// the state allows that.
func (m *model) withoutDeadline(text string, r driver.Row) (driver.Row, bool) {
	for _, name := range m.order {
		f := m.fields[name]
		if !f.optional || f.kind != driver.KindTime {
			continue
		}
		c := theCase{row: r}.clone()
		c.row.Values[f.index] = nil
		if _, ok := m.deadline(text, c.row); !ok && m.sound(c.row) {
			return c.row, true
		}
	}
	return driver.Row{}, false
}

// sweep runs Sweep in both and compares.
func (h *harness[R]) sweep(what string) {
	h.t.Helper()
	if h.d.Sweep == nil {
		return
	}
	want := h.w.sweep(h.clock)
	got, err := h.d.Sweep(h.ctx)
	if err != nil {
		h.t.Errorf("%s: Sweep: %v", what, err)
	}
	h.traced(TraceLine{Kind: "sweep", Count: got}, Call{At: h.clock}, fsm.Outcome[R]{}, nil)
	if got != want {
		h.t.Errorf("%s: Sweep moved %d records, want %d", what, got, want)
	}
	h.same(what)
}

// startup seeds a record in every state and recovers, twice.
func (s *suite[R]) startup(t *testing.T, st Store) {
	if !slices.ContainsFunc(s.m.operations, func(o *operation) bool { return slices.Contains(o.Triggers, "startup") }) {
		t.Skip("no operation runs at startup")
	}
	h := s.newHarness(t, st)
	for i, from := range s.m.stateOrder {
		if r, ok := s.m.soundRow(from); ok {
			r.ID = fmt.Sprintf("record-%d", i)
			s.m.apart(&operation{}, &theCase{row: r, call: Call{Inputs: map[string]any{}}}, i)
			h.w.number(&r)
			if h.w.uniqueBroken(verdict{row: r}) == nil {
				h.seed(r)
			}
		}
	}
	for _, what := range []string{"recovery", "recovery, again"} {
		h.recover(what)
		s.durableCount++
	}
}

// recover runs Startup in both and compares.
func (h *harness[R]) recover(what string) {
	h.t.Helper()
	if h.d.Startup == nil {
		return
	}
	want := h.w.startup(h.clock)
	got, err := h.d.Startup(h.ctx)
	if err != nil || got != want {
		h.t.Errorf("%s: Startup moved %d records (%v), want %d", what, got, err, want)
	}
	h.traced(TraceLine{Kind: "startup", Count: got}, Call{At: h.clock}, fsm.Outcome[R]{}, nil)
	h.same(what)
}
