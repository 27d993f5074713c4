package count

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Key is what the records of a group share.
type Key []spec.FieldRef

// Same reports whether two keys have the same fields, in any order.
func (k Key) Same(o Key) bool { return k.Within(o) && o.Within(k) }

// Within reports whether every field of k is one of o.
func (k Key) Within(o Key) bool {
	for _, f := range k {
		if !slices.ContainsFunc(o, func(g spec.FieldRef) bool { return g.Field == f.Field }) {
			return false
		}
	}
	return true
}

// String names the fields.
func (k Key) String() string {
	text := ""
	for i, f := range k {
		if i > 0 {
			text += ", "
		}
		text += f.Field.Name
	}
	return text
}

// moved reports whether effects give a record another value of the key.
func (k Key) moved(e *spec.Effects) bool {
	return slices.ContainsFunc(k, func(r spec.FieldRef) bool { return r.Field.Stamped() || e.Changes(r.Field) })
}

// counts reports whether a guard counts records that share the key, up to a number, whatever the
// record and the call are.
func counts(p *spec.Peers, key Key) bool { return p.Own() && p.Limit == nil && Key(p.Same).Within(key) }

// asksWithin reports whether the other record that a guard with `some` asks for shares the key.
func asksWithin(p *spec.Peers, key Key) bool { return p.Own() && key.Within(p.Same) }

// shapeFor says how far each state must be counted for the rules over the key.
// With detail 2 a state is counted to two at least, with 1 to one, with 0 a
// state that no rule names is not counted at all.
func shapeFor(m *spec.Machine, key Key, detail int64) *shape {
	caps := make([]int64, len(m.States))
	for i := range caps {
		caps[i] = detail
	}
	need := func(n int64, states ...spec.StateRef) {
		for _, r := range states {
			caps[r.State.Index] = max(caps[r.State.Index], n)
		}
	}
	for _, u := range m.Unique {
		if key.Same(u.Fields) {
			need(2, u.In...)
		}
	}
	for _, op := range m.Operations {
		for _, r := range op.Require {
			p := r.Guard.Peers
			if p == nil || p.Some && !asksWithin(p, key) || !p.Some && !counts(p, key) {
				continue
			}
			need(p.Than, p.In...)
		}
	}
	if p := m.Projection; p != nil && key.Same(p.Key) {
		for _, rule := range p.Rules {
			need(max(rule.AtLeast, 1), slices.Concat(rule.Any, rule.All)...)
			need(1, rule.None...)
			if rule.All != nil {
				for i := range caps {
					caps[i] = max(caps[i], 1)
				}
			}
		}
	}
	s := &shape{machine: m, caps: make([]uint8, len(caps))}
	for i, n := range caps {
		s.caps[i] = uint8(min(n, highest)) //nolint:gosec // at most highest
	}
	return s
}
