package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// batches runs the forms for many: each item as if it came alone.
func batches[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			d := h.D.Operations[o.Name]
			if o.Picks && d.Pick != nil {
				queue(h, o)
				call := pickCall(s.M, o)
				if o.By != "system" {
					call.RequestID = h.RequestID()
				}
				h.Pick("three at once", o, 3, call)
				if o.By != "system" && s.M.RequestID != "none" {
					h.Pick("three at once, again", o, 3, call)
				}
				h.Same("three at once")
				s.DurableCount++
			}
			if o.Picks || o.By == "system" {
				return
			}
			h = s.NewHarness(t, st)
			d = h.D.Operations[o.Name]
			var at []fsm.Target
			var calls []oracle.Call
			for i := range 3 {
				c, ok := s.M.GoodAlone(o)
				if !ok {
					return
				}
				c.Row.ID = fmt.Sprintf("record-%d", i+1)
				c.Call.ID = c.Row.ID
				if !apart(s.M, o, &c, i) && i > 0 {
					break
				}
				if o.By != "system" {
					c.Call.RequestID = h.RequestID()
				} else {
					c.Call.Reason = ""
				}
				if !o.Creates {
					seed(h, c.Row)
				}
				at, calls = append(at, fsm.Ref{ID: c.Row.ID, Rev: 1}), append(calls, c.Call)
			}
			for _, what := range []string{"many", "many, again"} {
				var want []world.Expected
				trial := h.W.Clone()
				for i := range calls {
					if o.Creates {
						want = append(want, trial.Create(o, calls[i]))
					} else {
						want = append(want, trial.Call(o, at[i].Ref().ID, at[i].Ref().Rev, calls[i]))
					}
				}
				if slices.ContainsFunc(want, func(e world.Expected) bool { return e.Code != "" }) {
					refusedBatch(h, what, o, at, calls)
					return
				}
				*h.W = *trial
				got, err := h.D.Many(h.Ctx, o.Name, at, calls)
				h.CompareAll(what, o, calls[0], want, got, err)
				h.Same(what)
				if o.By != "system" && s.M.RequestID == "none" {
					break
				}
			}
			s.DurableCount++
			brokenBatch(h, o, at, calls)
		})
	}
}

// refusedBatch runs a batch whose items get in each other's way: they set the same
// value where one is unique. Nothing is written.
func refusedBatch[R any](h *world.Harness[R], what string, o *oracle.Op, at []fsm.Target, calls []oracle.Call) {
	h.T.Helper()
	ran := len(h.Fx.Done())
	_, err := h.D.Many(h.Ctx, o.Name, at, calls)
	world.Settle(h.Fx, ran, 0)
	if !errors.As(err, new(*fsm.Refusal)) {
		h.T.Errorf("%s: %s: %v, want a refusal: one item gets in the way of another", what, o.Name, err)
	}
	h.Same(what)
}

// brokenBatch runs a batch whose last item is refused: nothing is written.
func brokenBatch[R any](h *world.Harness[R], o *oracle.Op, at []fsm.Target, calls []oracle.Call) {
	h.T.Helper()
	last := len(calls) - 1
	if last < 1 {
		return
	}
	for i := range calls {
		if o.By != "system" {
			calls[i].RequestID = h.RequestID()
		}
		calls[i].ID = fmt.Sprintf("batch-%d", i+1)
	}
	if o.Creates {
		calls[last].ID = "record-1" // taken
	} else {
		at = slices.Clone(at)
		at[last] = fsm.Ref{ID: "nobody", Rev: 1}
	}
	if o.Creates && allExist(h, o, calls) { // `dedupe_by` comes before the id: nothing is refused
		return
	}
	ran := len(h.Fx.Done())
	_, err := h.D.Many(h.Ctx, o.Name, at, calls)
	world.Settle(h.Fx, ran, 0)
	if want := map[bool]error{true: fsm.ErrExists, false: fsm.ErrNotFound}[o.Creates]; err == nil || o.Dedupe == "" && !o.Creates && !errors.Is(err, want) && !errors.As(err, new(*fsm.Refusal)) {
		h.T.Errorf("many with one that cannot be: %v, want a refusal", err)
	}
	h.Same("many with one that cannot be")
}

// allExist reports whether every creation finds a record that is there.
func allExist[R any](h *world.Harness[R], o *oracle.Op, calls []oracle.Call) bool {
	trial := h.W.Clone()
	return !slices.ContainsFunc(calls, func(c oracle.Call) bool { return !trial.Create(o, c).Existing })
}
