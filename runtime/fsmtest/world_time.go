package fsmtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
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
				n += w.fire(o, r, c)
			}
		}
	}
	return n
}

// fire takes a step without a caller, and returns how many it took. A refusal is
// passed over: what it has taken back was performed nevertheless.
func (w *world) fire(o *operation, r driver.Row, c Call) int {
	e := w.call(o, r.ID, r.Rev, c)
	w.performed = append(w.performed, e.undone...)
	if e.code == "" && !e.replayed {
		return 1
	}
	return 0
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
			n += w.fire(o, r, c)
		}
	}
	return n
}

// How long an effect that could not be delivered waits, see fsm.WithBackoff.
const (
	firstWait   = time.Second
	longestWait = 10 * time.Second
)

// deliver performs the effects that are due, the oldest first, and what follows
// them: the clock stands still, so an effect of what follows is due as well. It
// returns how many were delivered, and how many were tried and wait for the next
// time: because they failed, or because the step that follows was refused, and
// then the effect is performed again.
func (w *world) deliver(now time.Time) (delivered, postponed int) {
	now = driver.Time(now)
	for {
		at := -1
		for i, p := range w.outbox {
			if !p.due.After(now) && (at < 0 || p.due.Before(w.outbox[at].due)) {
				at = i
			}
		}
		if at < 0 {
			return delivered, postponed
		}
		p := w.outbox[at]
		if !w.fail[p.o.Effect] {
			w.performed = append(w.performed, w.m.effectOf(p.o, w.rowAt(p.id, p.rev)))
			if w.settle(p, now) {
				delivered++
				continue
			}
		}
		postponed++
		wait := min(firstWait<<min(p.attempts, 10), longestWait)
		w.outbox[at].due, w.outbox[at].attempts = now.Add(wait), p.attempts+1
	}
}

// settle takes an effect that was performed off the list and takes the step that
// follows it. When that is refused, nothing has changed but what ran in the
// transaction.
func (w *world) settle(p pending, now time.Time) bool {
	next := w.clone()
	next.outbox = slices.DeleteFunc(next.outbox, func(x pending) bool { return x.id == p.id && x.rev == p.rev })
	if p.o.Then != "" {
		then := w.m.operation(p.o.Then)
		c := Call{
			ID: p.id, Actor: driver.SystemActor, At: now, Inputs: map[string]any{},
			RequestID: fmt.Sprintf("sys:%s:%d", then.stored, p.rev),
		}
		if e := next.commit(then, w.rows[p.id], c, false, p.o.stored); e.code != "" {
			w.performed = append(w.performed, e.undone...)
			return false
		}
	}
	*w = *next
	return true
}

// rowAt is a record as of one of its revisions.
func (w *world) rowAt(id string, rev int64) driver.Row {
	for _, e := range w.log {
		if e.ID == id && e.Rev == rev && e.N == 0 {
			return e.after
		}
	}
	return driver.Row{}
}

// engineCall is the call that a trigger issues.
func (m *model) engineCall(o *operation, now time.Time) Call {
	c := m.baseCall(o)
	c.At, c.Reason, c.Inputs, c.fired = now, "", m.sourceInputs(o), true
	if o.By != "system" {
		c.Actor = ""
	}
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
