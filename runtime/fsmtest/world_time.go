package fsmtest

import (
	"fmt"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// sweep runs every trigger that is due, in the order of the specification, and
// returns how many steps it took: at a revision where the step is recorded
// already (a refusal that is recorded only leaves the revision) it is replayed.
func (w *world) sweep(now time.Time) int {
	n := 0
	for _, o := range w.m.operations {
		for _, id := range sortedKeys(w.rows) {
			if r := w.rows[id]; w.due(o, r, now) {
				c := w.m.engineCall(o, now)
				if e := w.call(o, id, r.Rev, c); e.code == "" && !e.replayed {
					n++
				}
			}
		}
	}
	return n
}

// startup runs the recovery of every record that is in a state for it.
func (w *world) startup(now time.Time) int {
	n := 0
	for _, o := range w.m.operations {
		if !slices.Contains(o.Triggers, "startup") {
			continue
		}
		for _, id := range sortedKeys(w.rows) {
			r := w.rows[id]
			if k := o.cells[w.m.stateOf(r.State).Name].kind; k != cellMove && k != cellChoose {
				continue
			}
			c := w.m.engineCall(o, now)
			if e := w.call(o, id, r.Rev, c); e.code == "" && !e.replayed {
				n++
			}
		}
	}
	return n
}

// deliver performs the effects that wait, and what follows them: the clock stands
// still, so an effect of what follows is due as well.
func (w *world) deliver(now time.Time) int {
	n := 0
	for {
		i := slices.IndexFunc(w.outbox, func(p pending) bool { return !w.fail[p.o.Effect] })
		if i < 0 {
			return n
		}
		p := w.outbox[i]
		w.performed = append(w.performed, w.m.effectOf(p.o, w.rowAt(p.id, p.rev)))
		w.outbox = slices.DeleteFunc(w.outbox, func(x pending) bool { return x == p })
		n++
		if p.o.Then != "" {
			c := Call{
				ID: p.id, Actor: fsm.SystemActor, At: now, Inputs: map[string]any{},
				RequestID: fmt.Sprintf("sys:%s:%d", w.m.operation(p.o.Then).stored, p.rev),
			}
			w.commit(w.m.operation(p.o.Then), w.rows[p.id], c, false, p.o.stored)
		}
	}
}

// rowAt is a record as of one of its revisions.
func (w *world) rowAt(id string, rev int64) fsm.Row {
	for _, e := range w.log {
		if e.ID == id && e.Rev == rev && e.N == 0 {
			return e.after
		}
	}
	return fsm.Row{}
}

// engineCall is the call that a trigger issues.
func (m *model) engineCall(o *operation, now time.Time) Call {
	c := m.baseCall(o)
	c.At, c.Reason, c.Inputs = now, "", m.sourceInputs(o)
	return c
}

// sourceInputs are the inputs that the test's source gives to a triggered
// operation: those of the first case that moves.
func (m *model) sourceInputs(o *operation) map[string]any {
	if len(o.Triggers) > 0 && len(o.inputs) > 0 {
		for _, name := range m.allowed(o) {
			if c, ok := m.good(o, m.states[name], moves); ok {
				return c.call.Inputs
			}
		}
	}
	return map[string]any{}
}
