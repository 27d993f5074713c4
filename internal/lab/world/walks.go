package world

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// How long the walks are.
const (
	WalkCount = 3
	walkSteps = 60
)

// Walks runs long sequences of calls on a few records: what one call leaves
// behind, the next one meets. The sequences are the same in every run.
func (s *Suite[R]) Walks(t *testing.T, st Store) {
	for walk := range WalkCount {
		if !t.Run(fmt.Sprint(walk+1), func(t *testing.T) { s.Walk(t, st, WalkSource(walk)) }) || testing.Short() {
			return
		}
	}
}

// Walk runs one sequence of calls.
func (s *Suite[R]) Walk(t *testing.T, st Store, r *rand.Rand) {
	h := s.TracedHarness(t, st)
	calls := map[string][]oracle.Call{}
	for _, o := range s.M.Ops {
		calls[o.Name] = s.M.someCalls(o)
	}
	var ids []string
	var past []func()
	for step := range walkSteps {
		h.Clock = h.Clock.Add(time.Duration(r.IntN(400)) * time.Second)
		o := s.M.Ops[r.IntN(len(s.M.Ops))]
		if len(ids) == 0 || r.IntN(6) == 0 {
			for _, p := range s.M.Ops {
				if p.Creates {
					o = p
				}
			}
		}
		what := fmt.Sprintf("step %d", step+1)
		if len(past) > 0 && r.IntN(5) == 0 {
			past[r.IntN(len(past))]() // a retry, however late
			continue
		}
		switch r.IntN(24) {
		case 0:
			h.Sweep(what)
			continue
		case 1:
			h.Deliver(what)
			continue
		case 2:
			h.Recover(what)
			continue
		}
		if len(calls[o.Name]) == 0 || !s.M.Exported(o) {
			continue
		}
		call := later(calls[o.Name][r.IntN(len(calls[o.Name]))], h.Clock)
		id := ""
		if !o.Creates {
			id = ids[r.IntN(len(ids))]
			for range 40 { // most calls are refused, so that one that moves the record is looked for
				if v := s.M.Decide(o, h.W.Rows[id], call); oracle.Moves(v) {
					break
				}
				call, id = later(calls[o.Name][r.IntN(len(calls[o.Name]))], h.Clock), ids[r.IntN(len(ids))]
			}
		}
		if o.By != "system" {
			call.RequestID = h.RequestID()
		} else {
			call.Reason = ""
		}
		if o.Creates {
			call.ID = fmt.Sprintf("record-%d", len(ids)+1)
			if _, want := h.Create(what, o, call); want.Code == "" && !want.Existing {
				ids = append(ids, call.ID)
			}
			past = append(past, func() { h.Create(what+", later again", o, call) })
		} else if o.Picks && r.IntN(2) == 0 {
			h.Pick(what, o, 0, call)
			if o.By != "system" {
				past = append(past, func() { h.Pick(what+", later again", o, 0, call) })
			}
		} else {
			at := fsm.Ref{ID: id, Rev: h.W.Rows[id].Rev}
			if r.IntN(8) == 0 {
				at.Rev = max(1, at.Rev-1)
			}
			h.Call(what, o, at, call)
			if o.By != "system" {
				past = append(past, func() { h.Call(what+", later again", o, at, call) })
			}
		}
		if t.Failed() {
			t.Fatalf("the walk ends at %s, %s%s", what, o.Name, s.M.Where(o, nil, nil))
		}
	}
	h.Same("at the end")
	if s.Audit != nil {
		s.Audit(h)
	}
	s.DurableCount++
}

// later is a call as it is made at another time: what it says of times is as far from it.
func later(c oracle.Call, now time.Time) oracle.Call {
	c.Inputs = maps.Clone(c.Inputs)
	for name, v := range c.Inputs {
		if at, ok := v.(time.Time); ok && !at.IsZero() {
			c.Inputs[name] = at.Add(now.Sub(c.At))
		}
	}
	c.At = now
	return c
}

// someCalls lists the different calls among the cases of an operation.
func (m *Model) someCalls(o *oracle.Op) []oracle.Call {
	var list []oracle.Call
	seen := map[string]bool{}
	st := m.StateOrder[0]
	if names := m.Allowed(o); len(names) > 0 {
		st = m.StateByName[names[0]]
	}
	if o.Creates {
		st = nil
	}
	for c := range m.Cases(o, st) {
		c.Call.Peers = nil
		if key := c.Call.String(); !seen[key] {
			seen[key] = true
			c.Call.Inputs = maps.Clone(c.Call.Inputs)
			list = append(list, c.Call)
		}
	}
	return list
}

// WalkSource decides the steps of a walk, the same in every run.
func WalkSource(walk int) *rand.Rand { return rand.New(rand.NewPCG(uint64(walk+1), 7)) }
