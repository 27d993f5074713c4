package enginetest

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// effects runs every operation that has effects, with an effect that fails and with one that
// works: an atomic one takes everything with it, another one is delivered again until it works,
// and then what follows it happens.
func effects[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Operations {
		good, ok := s.Cases.GoodAlone(o)
		if !ok || !exported(s.M, o) {
			continue
		}
		d, refusal := interp.Decide(s.M, good.Record, good.Call, good.Others)
		if refusal != nil {
			t.Fatalf("%s: %v", o.Name, refusal)
		}
		for _, e := range d.Asks { // other branches and borders are for the walks
			t.Run(o.Name+"/"+e.Name, func(t *testing.T) { effect(s, t, st, good, o, e) })
			s.DurableCount++
			if e.Failed != nil {
				t.Run(o.Name+"/"+e.Name+"/ends", func(t *testing.T) { ends(s, t, st, good, e) })
				s.DurableCount++
			}
		}
	}
}

func effect[R any](s *world.Suite[R], t *testing.T, st world.Store, good world.Case, o *spec.Operation, e *spec.Effect) {
	h := s.NewHarness(t, st)
	call, ok := placed(h, good, "record-1", "")
	if !ok {
		t.Fatal("there is no room for one record")
	}
	h.SetFail(e.Name, true)
	first := h.Call("with an effect that fails", call)
	h.Same("after an effect that failed")
	if e.Atomic {
		if first.Refusal == nil || first.Refusal.Code != string(fsm.ErrEffect) {
			t.Errorf("the model says %v", first.Refusal)
		}
		h.SetFail(e.Name, false)
		h.Call("with an effect that works", call)
	} else {
		h.Deliver("an effect that fails")
		if h.Fx.Attempts == 0 {
			t.Error("the effect was not tried")
		}
		h.Same("after a delivery that failed")
		h.SetFail(e.Name, false)
		h.Clock = h.Clock.Add(48 * time.Hour) // past every backoff
		h.Deliver("an effect that works")
		h.Deliver("once more")
	}
	h.Same("at the end")
	if o.By != spec.BySystem && s.M.RequestID != spec.None {
		h.Call("again", call)
		h.Same("the effect does not run again")
	}
}

// ends runs an operation whose effect gives up, by itself and by its limit, and the step that follows.
func ends[R any](s *world.Suite[R], t *testing.T, st world.Store, good world.Case, e *spec.Effect) {
	for _, by := range []string{"itself", "its limit"} {
		h := s.NewHarness(t, st)
		call, ok := placed(h, good, "record-1", "")
		if !ok {
			t.Fatal("there is no room for one record")
		}
		h.Call("with an effect that gives up", call)
		rounds := 1
		if by == "itself" {
			h.GiveUp(e.Name + ": no answer")
		} else if rounds = e.Attempts; rounds > 5 {
			continue
		} else {
			h.SetFail(e.Name, true)
		}
		for range rounds {
			h.Deliver("an effect that gives up by " + by)
			h.Clock = h.Clock.Add(48 * time.Hour) // past every backoff
		}
		h.Same("after it gave up by " + by)
		h.SetFail(e.Name, false)
		h.Deliver("afterwards")
		h.Same("at the end")
	}
}
