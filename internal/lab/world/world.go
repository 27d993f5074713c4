package world

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// World is what a store has to hold: what the interpreter says, and the effects. It knows
// nothing of locks, transactions or snapshots: one call after the other.
type World struct {
	interp.World
	M       *spec.Machine
	Fail    map[string]bool                             // effects that fail
	GivesUp string                                      // the effect that gives up the next time, see fsmcases.Effects
	Sources map[*spec.Operation]map[string]interp.Value // the inputs of what triggers call

	performed []fsmcases.Performed // effects that ran in what was committed, in their order
	waits     map[place]wait
	now       func() time.Time // the engine's clock
}

// wait is when an effect outside of a transaction is tried again.
type wait struct {
	due      time.Time
	attempts int
	problem  string // of the last try
}

func newWorld(m *spec.Machine, now func() time.Time) *World {
	return &World{M: m, Fail: map[string]bool{}, Sources: map[*spec.Operation]map[string]interp.Value{}, waits: map[place]wait{}, now: now}
}

// Clone is a world that can be changed by itself.
func (w *World) Clone() *World {
	c := *w
	c.performed, c.waits = slices.Clone(w.performed), maps.Clone(w.waits)
	return &c
}

// Answer is what a call has to lead to.
type Answer struct {
	Outcomes []interp.Outcome
	Refusal  *interp.Refusal // then nothing has changed
}

// Do is a call that does something to one record.
func (w *World) Do(c interp.Call) Answer { return w.Pick(c, 1) }

// Pick is a call that does something to n records at most.
func (w *World) Pick(c interp.Call, n int) Answer {
	list, next, refusal := interp.Pick(w.M, w.World, c, n)
	if refusal != nil {
		return Answer{Refusal: refusal}
	}
	for _, out := range list {
		if e := w.failing(out); e != nil {
			return Answer{Refusal: &interp.Refusal{Code: string(fsm.ErrEffect), Operation: e.Op.Name}}
		}
	}
	w.commit(next, list...)
	return Answer{Outcomes: list}
}

// failing is the event whose effect is part of the transaction, and fails.
func (w *World) failing(out interp.Outcome) *interp.Event {
	i := slices.IndexFunc(out.Events, func(e interp.Event) bool {
		return !out.Replayed && slices.ContainsFunc(performs(e), func(x *spec.Effect) bool { return w.Fail[x.Name] })
	})
	if i < 0 {
		return nil
	}
	return &out.Events[i]
}

// performs lists the effects that an event performs in its transaction.
func performs(e interp.Event) []*spec.Effect {
	return slices.DeleteFunc(slices.Clone(e.Asks), func(x *spec.Effect) bool { return !x.Atomic })
}

// commit goes on to the next world.
func (w *World) commit(next interp.World, list ...interp.Outcome) {
	w.World = next
	for _, out := range list {
		for _, e := range out.Events {
			if out.Replayed || performs(e) == nil {
				continue
			}
			r, err := next.At(w.M, e.ID, e.Rev)
			if err != nil {
				panic("world: " + err.Error())
			}
			for _, x := range performs(e) {
				w.performed = append(w.performed, fsmcases.Performed{Effect: x.Name, ID: e.ID, Rev: e.Rev, Key: interp.EffectKey(w.M, x, r), InTx: true})
			}
		}
	}
	waits := map[place]wait{}
	for _, d := range next.Outbox {
		if known, ok := w.waits[at(d)]; ok {
			waits[at(d)] = known
		} else {
			waits[at(d)] = wait{due: driver.Time(w.now())}
		}
	}
	w.waits = waits
}

// place is where a delivery stands in the outbox.
type place struct {
	id  string
	rev int64
	n   int
}

func at(d interp.Delivery) place { return place{d.ID, d.Rev, d.N} }

// Sweep runs every trigger that is due, in the order of the specification, and returns how many
// steps it took: at a revision where the step is recorded already it is replayed.
func (w *World) Sweep(now time.Time) int {
	return w.fire(now, func(o *spec.Operation, r interp.Record) bool { return interp.Due(w.M, o, r, now) })
}

// Startup runs the recovery of every record that is in a state for it.
func (w *World) Startup(now time.Time) int {
	return w.fire(now, func(o *spec.Operation, r interp.Record) bool {
		return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return t.Startup }) && w.M.Class(r.State, o) == spec.Transition
	})
}

// fire takes the steps without a caller that are asked for. A refusal is passed over.
func (w *World) fire(now time.Time, asks func(*spec.Operation, interp.Record) bool) int {
	n := 0
	for _, o := range w.M.Operations {
		if len(o.Triggers) == 0 {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(w.Records)) {
			r := w.Records[id]
			if !asks(o, r) {
				continue
			}
			c := interp.Call{Op: o, ID: id, ExpectedRev: r.Rev, Fired: true, At: now, Inputs: w.Sources[o]}
			if a := w.Do(c); a.Refusal == nil && !a.Outcomes[0].Replayed {
				n++
			}
		}
	}
	return n
}

// How long an effect that could not be delivered waits, see fsm.WithBackoff.
const (
	firstWait   = time.Second
	longestWait = 10 * time.Second
)

// order says which of two effects is delivered first, where one is performed after the other.
func (w *World) order(a, b interp.Delivery) int {
	x, y := w.waits[at(a)], w.waits[at(b)]
	return cmp.Or(
		cmp.Compare(a.Effect.Name, b.Effect.Name), cmp.Compare(min(x.attempts, 1), min(y.attempts, 1)),
		x.due.Compare(y.due), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.N, b.N))
}
