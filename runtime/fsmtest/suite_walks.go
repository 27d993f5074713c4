package fsmtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// How long the walks are.
const (
	walkCount = 3
	walkSteps = 60
)

// walks runs long sequences of calls on a few records: what one call leaves
// behind, the next one meets. The sequences are the same in every run.
func (s *suite[R]) walks(t *testing.T, st Store) {
	for walk := range walkCount {
		t.Run(fmt.Sprint(walk+1), func(t *testing.T) { s.walk(t, st, walkSource(walk)) })
	}
}

func (s *suite[R]) walk(t *testing.T, st Store, r *rand.Rand) {
	h := s.tracedHarness(t, st)
	calls := map[string][]Call{}
	for _, o := range s.m.operations {
		calls[o.Name] = s.m.someCalls(o)
	}
	var ids []string
	var past []func()
	for step := range walkSteps {
		h.clock = h.clock.Add(time.Duration(r.IntN(400)) * time.Second)
		o := s.m.operations[r.IntN(len(s.m.operations))]
		if len(ids) == 0 || r.IntN(6) == 0 {
			for _, p := range s.m.operations {
				if p.creates {
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
			h.sweep(what)
			continue
		case 1:
			h.deliver(what)
			continue
		case 2:
			h.recover(what)
			continue
		}
		if len(calls[o.Name]) == 0 || !h.exported(o) {
			continue
		}
		call := calls[o.Name][r.IntN(len(calls[o.Name]))]
		call.At = h.clock
		if o.By != "system" {
			call.RequestID = h.requestID()
		} else {
			call.Reason = ""
		}
		if o.creates {
			call.ID = fmt.Sprintf("record-%d", len(ids)+1)
			if _, want := h.create(what, o, call); want.code == "" && !want.existing {
				ids = append(ids, call.ID)
			}
			past = append(past, func() { h.create(what+", later again", o, call) })
		} else if o.Picks && h.d.Operations[o.Name].Pick != nil && r.IntN(2) == 0 {
			h.pick(what, o, 0, call)
			if o.By != "system" {
				past = append(past, func() { h.pick(what+", later again", o, 0, call) })
			}
		} else {
			id := ids[r.IntN(len(ids))]
			at := fsm.Ref{ID: id, Rev: h.w.rows[id].Rev}
			if r.IntN(8) == 0 {
				at.Rev = max(1, at.Rev-1)
			}
			h.call(what, o, at, call)
			if o.By != "system" {
				past = append(past, func() { h.call(what+", later again", o, at, call) })
			}
		}
		if t.Failed() {
			t.Fatalf("the walk ends at %s, %s", what, o.Name)
		}
	}
	h.same("at the end")
	for f, err := range h.d.Audit(h.ctx, func(string) (bool, error) { return true, nil }) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Must {
			t.Errorf("audit: %v", f)
		}
	}
	s.durableCount++
}

// someCalls lists the different calls among the cases of an operation.
func (m *model) someCalls(o *operation) []Call {
	var list []Call
	seen := map[string]bool{}
	st := m.stateOrder[0]
	if names := m.allowed(o); len(names) > 0 {
		st = m.states[names[0]]
	}
	if o.creates {
		st = nil
	}
	for c := range m.cases(o, st) {
		c.call.Peers = nil
		if key := c.call.String(); !seen[key] {
			seen[key] = true
			c.call.Inputs = maps.Clone(c.call.Inputs)
			list = append(list, c.call)
		}
	}
	return list
}

// walkSource decides the steps of a walk, the same in every run.
func walkSource(walk int) *rand.Rand { return rand.New(rand.NewPCG(uint64(walk+1), 7)) }
