package enginetest

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// storedInputs makes the same calls through the durable layer, where the engine
// looks at them before the record is read: the refusal is as good as that of
// the pure method, and nothing is written.
func storedInputs[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			if !h.M.Exported(o) {
				t.Skip("not exported: reached by `then` only")
			}
			c, ok := s.M.GoodAlone(o)
			if !ok {
				t.Skip("no record alone lets it pass")
			}
			s.DurableCount++
			if !o.Creates {
				seed(h, c.Row)
			}
			logged := len(h.W.Log)
			s.M.BadCalls(o, c, func(what string, call oracle.Call) {
				accepted := len(h.W.Log) > logged // the last one
				switch {
				case o.Creates && call.ID == "": // the engine makes one
					return
				case o.Creates && accepted: // a record that is there is spoken of before the inputs
					h = s.NewHarness(t, st)
				case o.By == "system" && accepted: // its request id is known when the last call was recorded only
					h = s.NewHarness(t, st)
					seed(h, c.Row)
				}
				if o.By != "system" {
					call.RequestID = h.RequestID()
				}
				if o.Creates {
					h.Create(what, o, call)
				} else {
					h.Call(what, o, fsm.Ref{ID: c.Row.ID, Rev: h.W.Rows[c.Row.ID].Rev}, call)
				}
				h.Same(what)
			})
		})
	}
}
