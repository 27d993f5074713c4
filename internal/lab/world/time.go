package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// sweep runs every trigger that is due, in the order of the specification, and
// returns how many steps it took: at a revision where the step is recorded
// already (a refusal that is recorded only leaves the revision) it is replayed.
func (w *World) sweep(now time.Time) int {
	n := 0
	for _, o := range w.M.Ops {
		for _, id := range oracle.SortedKeys(w.Rows) {
			if r := w.Rows[id]; w.due(o, r, now) {
				c := w.M.engineCall(o, now)
				n += w.fire(o, r, c)
			}
		}
	}
	return n
}

// fire takes a step without a caller, and returns how many it took. A refusal is
// passed over: what it has taken back was performed nevertheless.
func (w *World) fire(o *oracle.Op, r driver.Row, c oracle.Call) int {
	e := w.call(o, r.ID, r.Rev, c, true)
	w.performed = append(w.performed, e.undone...)
	if e.Code == "" && !e.replayed {
		return 1
	}
	return 0
}

// startup runs the recovery of every record that is in a state for it.
func (w *World) startup(now time.Time) int {
	n := 0
	for _, o := range w.M.Ops {
		if !slices.Contains(o.Triggers, "startup") {
			continue
		}
		for _, id := range oracle.SortedKeys(w.Rows) {
			r := w.Rows[id]
			if k := o.Cells[w.M.StateOf(r.State).Name].Kind; k != oracle.CellMove && k != oracle.CellChoose {
				continue
			}
			c := w.M.engineCall(o, now)
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
func (w *World) deliver(now time.Time) (delivered, postponed int) {
	now = driver.Time(now)
	for {
		at := -1
		for i, p := range w.outbox {
			if !p.due.After(now) && (at < 0 || p.before(w.outbox[at])) {
				at = i
			}
		}
		if at < 0 {
			return delivered, postponed
		}
		p := w.outbox[at]
		if !w.Fail[p.o.Effect] {
			w.performed = append(w.performed, w.M.effectOf(p.o, w.rowAt(p.id, p.rev)))
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

// before reports whether an effect is delivered before another one, where one is
// performed after the other.
func (p pending) before(o pending) bool {
	return cmp.Or(cmp.Compare(p.o.Effect, o.o.Effect), cmp.Compare(min(p.attempts, 1), min(o.attempts, 1)), p.due.Compare(o.due), cmp.Compare(p.id, o.id), cmp.Compare(p.rev, o.rev)) < 0
}

// settle takes an effect that was performed off the list and takes the step that
// follows it. When that is refused, nothing has changed but what ran in the
// transaction.
func (w *World) settle(p pending, now time.Time) bool {
	next := w.Clone()
	next.outbox = slices.DeleteFunc(next.outbox, func(x pending) bool { return x.id == p.id && x.rev == p.rev })
	if p.o.Then != "" {
		then := w.M.OpNamed(p.o.Then)
		c := oracle.Call{
			ID: p.id, Actor: driver.SystemActor, At: now, Inputs: map[string]any{},
			RequestID: fmt.Sprintf("sys:%s:%d", then.StoredName, p.rev),
		}
		if e := next.Commit(then, w.Rows[p.id], c, false, p.o.StoredName); e.Code != "" {
			w.performed = append(w.performed, e.undone...)
			return false
		}
	}
	*w = *next
	return true
}

// rowAt is a record as of one of its revisions.
func (w *World) rowAt(id string, rev int64) driver.Row {
	for _, e := range w.Log {
		if e.ID == id && e.Rev == rev && e.N == 0 {
			return e.after
		}
	}
	return driver.Row{}
}

// engineCall is the call that a trigger issues.
func (m *Model) engineCall(o *oracle.Op, now time.Time) oracle.Call {
	c := m.BaseCall(o)
	c.At, c.Reason, c.Inputs = now, "", m.sourceInputs(o)
	if o.By != "system" {
		c.Actor = ""
	}
	return c
}

// sourceInputs are the inputs that the test's source gives to a triggered
// operation: those of the first case that moves, or else of the first whose inputs are taken.
func (m *Model) sourceInputs(o *oracle.Op) map[string]any {
	if len(o.Triggers) > 0 && len(o.InputList) > 0 {
		taken := func(v oracle.Verdict) bool { return v.Code != fsm.ErrInvalidInput }
		for _, want := range []func(oracle.Verdict) bool{oracle.Moves, taken} {
			for _, name := range m.Allowed(o) {
				if c, ok := m.Good(o, m.StateByName[name], want); ok {
					return c.Call.Inputs
				}
			}
		}
	}
	return map[string]any{}
}
