package world

import (
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
)

// Deliver performs the effects that are due, the oldest first, and what follows them: the clock
// stands still, so an effect of what follows is due as well. It returns how many were delivered,
// and how many were tried and failed: they wait for the next time, or gave up. Told are the
// errors of steps that were refused behind an effect, as the engine words them.
func (w *World) Deliver(now time.Time, told map[string]string) (delivered, failed int) {
	now = driver.Time(now)
	for {
		due := slices.DeleteFunc(slices.Clone(w.Outbox), func(d interp.Delivery) bool { return w.waits[at(d)].due.After(now) })
		if len(due) == 0 {
			return delivered, failed
		}
		d := slices.MinFunc(due, w.order)
		x := w.waits[at(d)]
		x.attempts++
		if !d.Effect.Spent(x.attempts - 1) {
			problem, gaveUp := w.perform(d)
			if problem == "" {
				out, next, refusal := interp.Deliver(w.M, w.World, d, now)
				if refusal == nil && w.failing(out) == nil {
					w.commit(next, out)
					delivered++
					continue
				}
				problem = told[d.ID]
			}
			if x.problem = problem; !gaveUp && !d.Effect.Spent(x.attempts) {
				w.postpone(d, x, now)
				failed++
				continue
			}
		}
		failed++
		if d.Effect.Failed != nil {
			out, next, refusal := interp.GiveUp(w.M, w.World, d, x.problem, now)
			if refusal == nil && w.failing(out) == nil {
				w.commit(next, out)
				continue
			}
		}
		w.postpone(d, x, now)
	}
}

// perform performs an effect. It returns its error, and whether it gave up.
func (w *World) perform(d interp.Delivery) (problem string, gaveUp bool) {
	if name, text, _ := strings.Cut(w.GivesUp, ": "); name == d.Effect.Name {
		w.GivesUp = ""
		return text, true
	}
	if w.Fail[d.Effect.Name] {
		return fsmcases.ErrEffect.Error(), false
	}
	w.performed = append(w.performed, fsmcases.Performed{Effect: d.Effect.Name, ID: d.ID, Rev: d.Rev, Key: d.Key})
	return "", false
}

// postpone lets a delivery wait, longer each time.
func (w *World) postpone(d interp.Delivery, x wait, now time.Time) {
	x.due = now.Add(min(firstWait<<min(x.attempts-1, 10), longestWait))
	w.waits[at(d)] = x
}
