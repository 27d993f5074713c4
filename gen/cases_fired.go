package gen

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What triggers ask for.

// fired lets the machine itself make the call.
func (s search) fired(o *spec.Operation, bases []tried, add adder) {
	m := s.m
	for _, t := range o.Triggers {
		for _, x := range bases {
			if t.Startup {
				if !s.due(x.before, x.call.At) && s.recovers(o, x) {
					add(x, nil, "ByStartup", "startup from %s", x.before.State.Name)
				}
				continue
			}
			for d := time.Duration(0); d <= time.Microsecond; d += time.Microsecond {
				y, plus := x, t.Plus
				if t.By != nil {
					length := x.before.Value(m, t.By)
					if length.Kind == interp.KindAbsent {
						length = plainValue(t.By.Type, t.By.Type.Min, t.By.Name, m.FieldIndex(t.By))
						y.before = y.before.With(m, t.By.Name, length)
					}
					plus = time.Duration(length.Num) * time.Microsecond
				}
				at := x.call.At.Add(d - plus)
				if t.After.Builtin {
					y.before.CreatedAt = at
					if y.before.UpdatedAt = at; t.After.Name == "updated_at" {
						y.before.CreatedAt = at.Add(-time.Hour)
					}
				} else {
					y.before = y.before.With(m, t.After.Name, interp.Time(at))
					if !s.dueAlone(o, y.before, y.call.At) { // no other deadline has come
						y.before.CreatedAt, y.before.UpdatedAt = y.call.At, y.call.At
					}
				}
				if due := interp.Due(m, o, y.before, y.call.At); due != (d == 0) || !due && s.due(y.before, y.call.At) || due && !s.dueAlone(o, y.before, y.call.At) {
					continue
				}
				if d == 0 && s.rests(y) {
					add(y, nil, "BySweep", "sweep from %s %s", x.before.State.Name, t.Text)
				} else if d > 0 && sound(m, y.before) {
					add(y, nil, idle, "not yet from %s %s", x.before.State.Name, t.Text)
				}
			}
		}
	}
}

// rests reports whether no trigger asks for more when a call was made.
func (s search) rests(x tried) bool {
	p, ok := s.play(x, nil, "BySweep")
	if !ok || p.want != nil {
		return true
	}
	r := p.of(s.m)
	for _, e := range p.events {
		if r = after(s.m, r, e); s.due(r, x.call.At) {
			return false
		}
	}
	return true
}

// recovers reports whether recovery makes this call and no other one.
func (s search) recovers(o *spec.Operation, x tried) bool {
	p, ok := s.play(x, nil, "ByStartup")
	if !ok {
		return false
	}
	seen := []*spec.State{x.before.State}
	for _, e := range p.events {
		seen = append(seen, e.To)
	}
	for _, other := range s.m.Operations {
		asks := slices.ContainsFunc(other.Triggers, func(t spec.Trigger) bool { return t.Startup })
		for i, st := range seen {
			if asks && (other != o || i > 0) && s.m.Class(st, other) == spec.Transition {
				return false
			}
		}
	}
	return true
}

// due reports whether some trigger asks for an operation.
func (s search) due(r interp.Record, at time.Time) bool {
	return slices.ContainsFunc(s.m.Operations, func(o *spec.Operation) bool { return interp.Due(s.m, o, r, at) })
}

// dueAlone reports whether the triggers ask for one operation only.
func (s search) dueAlone(o *spec.Operation, r interp.Record, at time.Time) bool {
	return !slices.ContainsFunc(s.m.Operations, func(other *spec.Operation) bool { return other != o && interp.Due(s.m, other, r, at) })
}
