package enginetest

import (
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// batches makes the calls of callers for many records in one transaction: each as if it came
// alone, and none where one of them is refused.
func batches[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Operations {
		good, ok := s.Cases.GoodAlone(o)
		if !ok || o.Next != nil || o.By == spec.BySystem || !exported(s.M, o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			var calls []interp.Call
			for i := range 3 {
				id := fmt.Sprintf("record-%d", i+1)
				if call, ok := placed(h, good, id, fmt.Sprint(" #", i)); ok {
					calls = append(calls, call)
				}
			}
			many(h, "many", calls)
			if s.M.RequestID != spec.None {
				many(h, "many, again", calls)
			}
			for i := range calls {
				calls[i] = h.New(calls[i], calls[i].ID)
			}
			calls[len(calls)-1].ID = "nobody"
			if creates(o) {
				calls[len(calls)-1].ID = "record-1" // taken
			}
			many(h, "many with one that cannot be", calls)
			s.DurableCount++
		})
	}
}

// placed puts the record of a case into the store, where there is room for it, and returns the call.
// Both have texts of their own in the fields by which records are grouped.
func placed[R any](h *world.Harness[R], c world.Case, id, own string) (interp.Call, bool) {
	h.T.Helper()
	call := apartCall(h.M, c.Call, own)
	if !creates(c.Call.Op) {
		r := apart(h.M, c.Record, own)
		r.ID = id
		if r = numbered(h.M, r, int64(len(h.W.Records)+1)); !h.Fits(r) {
			return call, false
		}
		h.Seed(r)
	}
	return h.New(call, id), true
}

// many makes calls in one transaction in both and compares.
func many[R any](h *world.Harness[R], what string, calls []interp.Call) {
	h.T.Helper()
	h.Both(what, calls[0], func() world.Answer {
		trial, all := h.W.Clone(), world.Answer{}
		for _, c := range calls {
			a := trial.Do(h.Timed(c))
			if a.Refusal != nil {
				return a
			}
			all.Outcomes = append(all.Outcomes, a.Outcomes...)
		}
		*h.W = *trial
		return all
	}, func() ([]fsm.Outcome[R], error) { return h.D.Many(h.Ctx, calls) })
	h.Same(what)
}
