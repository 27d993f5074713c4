package diff

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// unique is a rule across records with an index: written, or implied by
// `dedupe_by`. That of a sequence belongs to the field.
type unique struct {
	name, error, message string
	fields, states       []string // stored words
	shown                string   // fields and states as the specification calls them
	pos                  spec.Pos
}

func uniques(m *spec.Machine) []*unique {
	var list []*unique
	for _, u := range m.Unique {
		list = append(list, &unique{u.Name, u.Error, u.Message, fieldWords(u.Fields), stateWords(u.In), fieldNames(u.Fields) + " is unique in " + stateNames(u.In), u.Pos})
	}
	for _, o := range m.Operations {
		if d := o.DedupeBy; d != nil && d.Unique == nil {
			all := sorted(m.States, (*spec.State).Stored)
			list = append(list, &unique{name: "dedupe_by of " + o.Name, fields: fieldWords(d.Fields), states: all,
				shown: fieldNames(d.Fields) + " is unique in all states", pos: d.Pos})
		}
	}
	return list
}

func (c *comparison) uniques() {
	for _, p := range pairUp(uniques(c.old), uniques(c.next), func(u *unique) string { return u.name }) {
		switch {
		case p.next == nil:
			if renamed := p.old.among(uniques(c.next)); renamed != nil {
				c.compatible(at{p.old.pos, renamed.pos}, "the rule %s is called %s", p.old.name, renamed.name)
				continue
			}
			c.report("FSM705", at{old: p.old.pos}, "calls that were refused now succeed", "the rule %s is gone: %s", p.old.name, p.old.shown)
		case p.old == nil:
			if p.next.among(uniques(c.old)) != nil {
				continue
			}
			c.report("FSM706", at{next: p.next.pos}, auditFirst, "%s: the rule %s is new", p.next.shown, p.next.name)
		default:
			c.unique(p.old, p.next)
		}
	}
}

// among returns the rule of the list that says the same under another name.
func (u *unique) among(list []*unique) *unique {
	for _, x := range list {
		if x.name != u.name && x.error == u.error && slices.Equal(x.fields, u.fields) && slices.Equal(x.states, u.states) {
			return x
		}
	}
	return nil
}

func (c *comparison) unique(o, n *unique) {
	where := at{o.pos, n.pos}
	// The word "all states" grows with the machine: states that are new or gone
	// change nothing for the others.
	gone := func(w string) bool {
		return !slices.ContainsFunc(c.pairs, func(p pair[spec.State]) bool { return p.old != nil && p.next != nil && p.next.Stored() == w })
	}
	more, less := beyond(n.states, o.states), beyond(o.states, n.states)
	if slices.ContainsFunc(more, func(w string) bool { return !gone(w) }) {
		c.report("FSM706", where, auditFirst, "the rule %s holds in %s too", n.name, comma(more))
	}
	if slices.ContainsFunc(less, func(w string) bool { return !gone(w) }) {
		c.report("FSM705", where, "calls that were refused now succeed", "the rule %s no longer holds in %s", n.name, comma(less))
	}
	if moved := slices.DeleteFunc(slices.Concat(more, less), func(w string) bool { return !gone(w) }); len(moved) > 0 {
		c.compatible(where, "the rule %s differs in states that are new or gone: %s", n.name, comma(moved))
	}
	if less := beyond(o.fields, n.fields); len(less) > 0 {
		c.report("FSM706", where, auditFirst, "the rule %s no longer tells records apart by %s", n.name, comma(less))
	}
	if more := beyond(n.fields, o.fields); len(more) > 0 {
		c.report("FSM705", where, "calls that were refused now succeed", "the rule %s looks only at records with the same %s too", n.name, comma(more))
	}
	if o.error != n.error {
		c.report("FSM703", where, "callers compare with the error", "the rule %s refuses as %s, it was %s", n.name, n.error, o.error)
	}
	c.text(where, "message of the rule "+n.name, o.message, n.message)
}

// declarations compares what has no rows: forbidden moves and probes.
func (c *comparison) declarations() {
	move := func(f *spec.Forbidden) string {
		steps := ""
		if f.After {
			steps = " by any number of steps"
		}
		return f.From.State.Stored() + " to " + f.To.State.Stored() + steps
	}
	for _, p := range pairUp(c.old.Forbidden, c.next.Forbidden, move) {
		switch {
		case p.next == nil:
			c.report("FSM705", at{old: p.old.Pos}, "an operation may now be added that makes it", "the move from %s is no longer forbidden", move(p.old))
		case p.old == nil:
			c.compatible(at{next: p.next.Pos}, "the move from %s is forbidden", move(p.next))
		default:
			c.text(at{p.old.Pos, p.next.Pos}, "reason why the move from "+move(p.next)+" is forbidden", p.old.Reason, p.next.Reason)
		}
	}
	for _, p := range pairUp(c.old.Probes, c.next.Probes, func(p *spec.Probe) string { return p.Name }) {
		switch {
		case p.next == nil:
			c.compatible(at{old: p.old.Pos}, "probe %s is gone", p.old.Name)
		case p.old == nil && len(c.old.Probes) == 0: // nobody has written Probes yet
			c.compatible(at{next: p.next.Pos}, "probe %s is new", p.next.Name)
		case p.old == nil:
			c.report("FSM703", at{next: p.next.Pos}, "implement it in Probes", "probe %s is new", p.next.Name)
		default:
			where := at{p.old.Pos, p.next.Pos}
			c.text(where, "doc of probe "+p.next.Name, p.old.Doc, p.next.Doc)
			c.text(where, "message of probe "+p.next.Name, p.old.Message, p.next.Message)
		}
	}
}

// projection compares the derived machine. Nothing of it is stored, so the
// derived states of all records change at once.
func (c *comparison) projection() {
	o, n := c.old.Projection, c.next.Projection
	switch {
	case o == nil && n == nil:
		return
	case o == nil:
		c.compatible(at{next: n.Pos}, "projection %s is new", n.Entity)
		return
	case n == nil:
		c.report("FSM703", at{old: o.Pos}, "callers use its Go type", "projection %s is gone", o.Entity)
		return
	}
	where := at{o.Pos, n.Pos}
	if o.Entity != n.Entity {
		c.report("FSM703", where, "callers use its Go type", "projection %s is called %s", o.Entity, n.Entity)
	}
	if a, b := fieldWords(o.Key), fieldWords(n.Key); !slices.Equal(a, b) {
		c.report("FSM711", where, "", "projection %s is per %s, it was per %s", n.Entity, comma(b), comma(a))
	}
	field := func(f *spec.ProjectionField) string {
		if f.Field == nil {
			return f.Name + ": " + f.Agg
		}
		return f.Name + ": " + f.Agg + " " + f.Field.Stored()
	}
	if a, b := sorted(o.Fields, field), sorted(n.Fields, field); !slices.Equal(a, b) {
		c.report("FSM711", where, "", "the fields of %s are %s, they were %s", n.Entity, orNothing(b), orNothing(a))
	}
	c.projectionRules(o, n)
	reserved := func(s spec.ProjectedState) string { return s.Name }
	if a, b := sorted(o.Reserved, reserved), sorted(n.Reserved, reserved); !slices.Equal(a, b) {
		c.report("FSM711", where, "", "reserved states of %s are %s, they were %s", n.Entity, orNothing(b), orNothing(a))
	}
	edge := func(m *spec.ProjectionMove) string { return m.From.Name + " to " + m.To.Name }
	for _, p := range pairUp(o.Transitions, n.Transitions, edge) {
		switch {
		case p.next == nil:
			c.report("FSM711", at{p.old.Pos, n.Pos}, "", "%s no longer goes from %s", n.Entity, edge(p.old))
		case p.old == nil:
			c.report("FSM711", at{o.Pos, p.next.Pos}, "check readers that rely on the old transitions", "%s goes from %s", n.Entity, edge(p.next))
		}
	}
}

func (c *comparison) projectionRules(o, n *spec.Projection) {
	text := func(r *spec.ProjectionRule) string {
		return fmt.Sprintf("%s any %q all %q none %q at least %d", r.State.Name, stateWords(r.Any), stateWords(r.All), stateWords(r.None), r.AtLeast)
	}
	a, b := o.Rules, n.Rules
	for len(a) > 0 && len(b) > 0 && text(a[0]) == text(b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && text(a[len(a)-1]) == text(b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	const derived = "derived states of old records change"
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			c.report("FSM711", at{a[i].Pos, n.Pos}, derived, "%s has one rule less, for %s", n.Entity, a[i].State.Name)
		case i >= len(a):
			c.report("FSM711", at{o.Pos, b[i].Pos}, derived, "%s has one rule more, for %s", n.Entity, b[i].State.Name)
		default:
			c.report("FSM711", at{a[i].Pos, b[i].Pos}, derived, "%s is %s by another rule", n.Entity, b[i].State.Name)
		}
	}
}
