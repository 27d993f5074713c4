package enginetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

func setFail(x *oracle.Effects, effect string, fail bool) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	if x.Fail == nil {
		x.Fail = map[string]bool{}
	}
	x.Fail[effect] = fail
}

// effects runs every operation that has an effect, with an effect that works
// and with one that fails: an atomic one takes everything with it, another one
// is delivered again until it works, and then what follows it happens.
func effects[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		if o.Effect == "" {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			if !h.M.Exported(o) && !o.Picks {
				t.Skip("not exported: reached by `then` only")
			}
			c, ok := s.M.GoodAlone(o)
			if !ok {
				unmoved(o, t)
				return
			}
			call := c.Call
			call.Labels = nil
			if o.By != "system" {
				call.RequestID = h.RequestID()
			} else {
				call.Reason = ""
			}
			run := func(what string) world.Expected {
				if o.Creates {
					_, want := h.Create(what, o, call)
					return want
				}
				_, want := h.Call(what, o, fsm.Ref{ID: c.Row.ID, Rev: 1}, call)
				return want
			}
			if !o.Creates {
				seed(h, c.Row)
			}
			fail(h, o.Effect, true)
			first := run("with an effect that fails")
			h.Same("after an effect that failed")
			if !o.Atomic {
				h.Deliver("an effect that fails")
				if h.Fx.Attempts == 0 {
					t.Error("the effect was not tried")
				}
				h.Same("after a delivery that failed")
			} else if first.Code != fsm.ErrEffect {
				t.Errorf("the model says %q", string(first.Code))
			}
			fail(h, o.Effect, false)
			if o.Atomic {
				run("with an effect that works")
			} else {
				h.Clock = h.Clock.Add(48 * time.Hour) // past every backoff
				h.Deliver("an effect that works")
				h.Deliver("once more")
			}
			h.Same("at the end")
			if o.By != "system" && s.M.RequestID != "none" {
				run("again")
				h.Same("the effect does not run again")
			}
			s.DurableCount++
		})
	}
}

func fail[R any](h *world.Harness[R], effect string, fail bool) {
	setFail(h.Fx, effect, fail)
	h.W.Fail[effect] = fail
}

// triggers looks at every deadline: just before it nothing happens, at it the
// operation runs, without a deadline it never does.
func triggers[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		for _, text := range o.Triggers {
			if text == "startup" {
				continue
			}
			for _, name := range s.M.Allowed(o) {
				t.Run(fmt.Sprintf("%s %s in %s", o.Name, text, name), func(t *testing.T) {
					trigger(s, t, st, o, text, s.M.StateByName[name])
				})
			}
		}
	}
}

func trigger[R any](s *world.Suite[R], t *testing.T, st world.Store, o *oracle.Op, text string, from *oracle.StateInfo) {
	h := s.NewHarness(t, st)
	if _, err := s.D.Open(h.Ctx, h.Store, &oracle.Effects{}); err != nil { // one that is opened beside it has sources of its own
		t.Fatal(err)
	}
	row, ok := triggered(s.M, o, text, from, func(c oracle.Case) bool { return h.W.Clone().Commit(o, c.Row, c.Call, true, "").Code == "" })
	if !ok {
		t.Skip("no record in this state has a deadline")
	}
	seed(h, row)
	deadline, _ := s.M.Deadline(text, row)
	if absent, ok := withoutDeadline(s.M, text, row); ok {
		apart(s.M, o, &oracle.Case{Row: absent, Call: oracle.Call{Inputs: map[string]any{}}}, 2)
		numberOf(s.M, &absent, 9_999)
		absent.ID = "record-without"
		seed(h, absent)
	}
	h.Clock = deadline.Add(-oracle.Microsecond)
	h.Sweep("one microsecond before the deadline")
	if !quiet(h.S, h) {
		t.Skip("another trigger is due before this one")
	}
	h.Clock = deadline
	h.Sweep("at the deadline")
	if h.W.Rows[row.ID].Rev == 1 {
		t.Error("the model says that nothing happens at the deadline")
	}
	h.Sweep("at the deadline, again")
	s.DurableCount++
}

// quiet reports whether nothing has moved since the records were seeded.
func quiet[R any](s *world.Suite[R], h *world.Harness[R]) bool {
	for _, r := range h.W.Rows {
		if r.Rev != 1 {
			return false
		}
	}
	return true
}

// triggered is a sound record in the state with a deadline at which the operation
// moves it, and nothing takes that back: what follows at once is not refused.
func triggered(m *world.Model, o *oracle.Op, text string, from *oracle.StateInfo, kept func(oracle.Case) bool) (driver.Row, bool) {
	for c := range m.Cases(o, from) {
		if !m.Sound(c.Row) {
			continue
		}
		d, ok := m.Deadline(text, c.Row)
		if !ok {
			continue
		}
		c.Call.At, c.Call.Reason = d, ""
		if oracle.Moves(m.Decide(o, c.Row, c.Call)) && kept(c) {
			return c.Clone().Row, true
		}
	}
	return driver.Row{}, false
}

// withoutDeadline is the record without the field that the trigger names, when
// the state allows that.
func withoutDeadline(m *world.Model, text string, r driver.Row) (driver.Row, bool) {
	for _, name := range m.Order {
		f := m.FieldByName[name]
		if !f.Optional || f.Kind != driver.KindTime {
			continue
		}
		c := oracle.Case{Row: r}.Clone()
		c.Row.Values[f.Index] = nil
		if _, ok := m.Deadline(text, c.Row); !ok && m.Sound(c.Row) {
			return c.Row, true
		}
	}
	return driver.Row{}, false
}

// startup seeds a record in every state and recovers, twice.
func startup[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	if !slices.ContainsFunc(s.M.Ops, func(o *oracle.Op) bool { return slices.Contains(o.Triggers, "startup") }) {
		t.Skip("no operation runs at startup")
	}
	h := s.NewHarness(t, st)
	for i, from := range s.M.StateOrder {
		if r, ok := soundRow(s.M, from); ok {
			r.ID = fmt.Sprintf("record-%d", i)
			apart(s.M, &oracle.Op{}, &oracle.Case{Row: r, Call: oracle.Call{Inputs: map[string]any{}}}, i)
			number(h.W, &r)
			if h.W.UniqueBroken(oracle.Verdict{Row: r}) == nil {
				seed(h, r)
			}
		}
	}
	for _, what := range []string{"recovery", "recovery, again"} {
		h.Recover(what)
		s.DurableCount++
	}
}
