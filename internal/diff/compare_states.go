package diff

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

const (
	readersFirst = "a program of the old version cannot read it: bring the new one to all readers before a writer uses it"
	goNames      = "callers name it in Go; rows and events stay as they are"
)

// states compares the states and the tombstones of removed ones.
func (c *comparison) states() {
	for _, p := range c.pairs {
		switch {
		case p.next == nil:
			c.stateGone(p.old)
		case p.old == nil:
			c.stateNew(p.next)
		default:
			c.state(p.old, p.next)
		}
	}
	c.borders()
	c.tombstones()
	for _, o := range c.old.Groups {
		c.group(o)
	}
}

// group tells that a group has other states: lists that name it are compared by themselves,
// but its question in Go answers otherwise.
func (c *comparison) group(o *spec.Group) {
	i := slices.IndexFunc(c.next.Groups, func(g *spec.Group) bool { return g.Name == o.Name })
	if i < 0 {
		return // told where the names of Go are compared
	}
	stored := func(g *spec.Group) (list []string) {
		for _, s := range g.States {
			list = append(list, s.Stored())
		}
		return list
	}
	n := c.next.Groups[i]
	was, is := stored(o), stored(n)
	known := func(s string) bool {
		return slices.ContainsFunc(c.old.States, func(o *spec.State) bool { return o.Stored() == s })
	}
	var came, gone []string
	for _, s := range is {
		if known(s) && !slices.Contains(was, s) {
			came = append(came, s)
		}
	}
	for _, s := range was {
		if !slices.Contains(is, s) {
			gone = append(gone, s)
		}
	}
	if len(came)+len(gone) > 0 {
		c.report("FSM710", at{o.Pos, n.Pos}, "check the code that calls State.In"+spec.GoName(n.Name),
			"group %s holds %s, it held %s", n.Name, comma(is), comma(was))
	}
}

// grave returns the entry under `removed` for a stored word.
func grave(m *spec.Machine, stored string) *spec.Removed {
	i := slices.IndexFunc(m.Removed, func(r *spec.Removed) bool { return r.Name == stored })
	if i < 0 {
		return nil
	}
	return m.Removed[i]
}

func (c *comparison) stateGone(s *spec.State) {
	if r := grave(c.next, s.Stored()); r != nil {
		c.report("FSM701", at{s.Pos, r.Pos}, "the migration moves the rows, with an event of their own; read what the state "+r.To.State.Name+" demands of them",
			"state %s is removed, its rows move to %s", s.Name, r.To.State.Name)
		return
	}
	var list []candidate
	for _, p := range c.pairs {
		if p.old == nil {
			list = append(list, candidate{p.next.Name, overlap(edges(c.old, s), edges(c.next, p.next))})
		}
	}
	hint := rename("state", s.Stored(), s.Name, list)
	if hint == "" {
		hint = fmt.Sprintf("say where its rows go: `removed: {%s: {to: <state>}}`", s.Stored())
	}
	if s.Name != s.Stored() && grave(c.next, s.Name) != nil {
		hint = fmt.Sprintf("rows hold the first name: write %s under `removed`", s.Stored())
	}
	c.report("FSM701", at{old: s.Pos}, hint, "state %s is gone: rows and events hold it", s.Name)
}

func (c *comparison) stateNew(s *spec.State) {
	if r := grave(c.old, s.Stored()); r != nil {
		c.report("FSM701", at{r.Pos, s.Pos}, "give the new state another name",
			"state %s takes the name of a removed one: events of the log hold it with the old meaning", s.Name)
		return
	}
	c.report("FSM709", at{next: s.Pos}, readersFirst, "state %s is new", s.Name)
}

func (c *comparison) tombstones() {
	for _, r := range c.old.Removed {
		n := grave(c.next, r.Name)
		switch {
		case n == nil && !slices.ContainsFunc(c.next.States, func(s *spec.State) bool { return s.Stored() == r.Name }):
			c.report("FSM701", at{old: r.Pos}, "keep `"+r.Name+"` under `removed`",
				"removed state %s is no longer listed: old events hold it, and a new state could take its name", r.Name)
		case n != nil && n.To.State.Stored() != r.To.State.Stored():
			c.report("FSM711", at{r.Pos, n.Pos}, "rows that were moved stay where they are",
				"old events of the removed state %s are read as %s, they were read as %s", r.Name, n.To.State.Name, r.To.State.Name)
		}
	}
	for _, r := range c.next.Removed {
		known := grave(c.old, r.Name) != nil || slices.ContainsFunc(c.old.States, func(s *spec.State) bool { return s.Stored() == r.Name })
		if !known {
			c.compatible(at{next: r.Pos}, "%s is listed as removed, and was no state before", r.Name)
		}
	}
}

func (c *comparison) state(o, n *spec.State) {
	where := at{o.Pos, n.Pos}
	if o.Name != n.Name {
		c.report("FSM703", where, goNames, "state %s is called %s", o.Name, n.Name)
	}
	switch {
	case o.Terminal && !n.Terminal:
		c.report("FSM708", where, "check code that treats it as the end", "state %s is no longer terminal", n.Name)
	case !o.Terminal && n.Terminal:
		c.report("FSM708", where, "its rows can no longer change", "state %s is terminal now", n.Name)
	}
	if o.Final != n.Final {
		word := "final now: Purge removes its records"
		if o.Final {
			word = "no longer final: Purge leaves its records"
		}
		c.report("FSM708", where, "", "state %s is %s", n.Name, word)
	}
	if o.Otherwise != n.Otherwise {
		c.compatible(where, "`otherwise` of state %s is %s, it was %s; the cells that it changes are listed by themselves",
			n.Name, otherwiseText(n.Otherwise), otherwiseText(o.Otherwise))
	}
	c.should(where, n.Name, "present", o.ShouldPresent, n.ShouldPresent)
	c.should(where, n.Name, "absent", o.ShouldAbsent, n.ShouldAbsent)
	probes := func(s *spec.State) []string {
		return sorted(s.Probes, func(p *spec.Probe) string { return p.Name })
	}
	if a, b := probes(o), probes(n); !slices.Equal(a, b) {
		c.compatible(where, "the audit asks of state %s: %s; it asked: %s", n.Name, orNothing(b), orNothing(a))
	}
	c.text(where, "doc of state "+n.Name, o.Doc, n.Doc)
}

// should compares what is only recommended: whatever it is, no row becomes
// wrong. What has become a MUST is told by its invariant.
func (c *comparison) should(where at, state, key string, old, next []spec.FieldRef) {
	if a, b := fieldWords(old), fieldWords(next); !slices.Equal(a, b) {
		c.compatible(where, "`should: %s` of state %s is %s, it was %s", key, state, orNothing(b), orNothing(a))
	}
}

// borders compares what is performed on entering and leaving states and groups. A state that is
// new or gone is told by itself.
func (c *comparison) borders() {
	for _, p := range c.pairs {
		if p.old != nil && p.next != nil {
			c.border(p.old.Pos, p.next.Pos, p.next.Name, p.old.Enter, p.next.Enter, p.old.Exit, p.next.Exit)
		}
	}
	for _, p := range pairUp(c.old.Groups, c.next.Groups, func(g *spec.Group) string { return g.Name }) {
		o, n := p.old, p.next
		switch {
		case o == nil:
			o = &spec.Group{Pos: c.old.Pos, Name: n.Name}
		case n == nil:
			n = &spec.Group{Pos: c.next.Pos, Name: o.Name}
		}
		c.border(o.Pos, n.Pos, n.Name, o.Enter, n.Enter, o.Exit, n.Exit)
		if len(o.Enter)+len(o.Exit) > 0 && len(n.Enter)+len(n.Exit) > 0 && !slices.Equal(stateSet(o.States), stateSet(n.States)) {
			c.report("FSM710", at{o.Pos, n.Pos}, "", "group %s has other states: other steps ask for its effects", n.Name)
		}
	}
	old, next := acting(c.old, c.next), acting(c.next, c.old)
	if !slices.Equal(old, next) {
		c.report("FSM710", at{c.old.Pos, c.next.Pos}, "", "groups stand in another order, %s: where a step crosses several, their effects run in that order",
			comma(next))
	}
}

// acting lists the groups with effects that another version has, too, in their order.
func acting(m, other *spec.Machine) (names []string) {
	has := func(m *spec.Machine, name string) bool {
		return slices.ContainsFunc(m.Groups, func(g *spec.Group) bool { return g.Name == name && len(g.Enter)+len(g.Exit) > 0 })
	}
	for _, g := range m.Groups {
		if has(m, g.Name) && has(other, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names
}

// border compares the effects at one border, as those of an operation. What is lost there is
// told of the operations that lose it.
func (c *comparison) border(old, next spec.Pos, name string, oldEnter, enter, oldExit, exit []*spec.Effect) {
	c.asks(&spec.Operation{Pos: old, Name: "entering " + name, Asks: oldEnter}, &spec.Operation{Pos: next,
		Name: "entering " + name, Asks: enter}, "FSM710")
	c.asks(&spec.Operation{Pos: old, Name: "leaving " + name, Asks: oldExit}, &spec.Operation{Pos: next,
		Name: "leaving " + name, Asks: exit}, "FSM710")
}

func stateSet(list []*spec.State) []string {
	return sorted(list, (*spec.State).Stored)
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return comma(words)
}
