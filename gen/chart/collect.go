package chart

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// guardWidth is the number of characters after which the guards of an
// operation stand on a line of their own each.
const guardWidth = 32

// timeWidth is the number of characters after which what is added to a time
// stands in the next line of a label.
const timeWidth = 18

func timeLines(text string) []string {
	if at := strings.Index(text, " + "); at > 0 && len(text) > timeWidth {
		return []string{text[:at], text[at+1:]}
	}
	return []string{text}
}

// boxWidth is the number of characters after which a list in the box of a state
// goes on in the next line.
const boxWidth = 40

// operation draws every arrow of o.
func (c *Chart) operation(o *spec.Operation) {
	switch {
	case len(o.Choose) > 0:
		c.choice(o)
	case len(o.Creates) > 0:
		c.join(c.startNode(), c.state(o.Creates[0].State), c.step(o, nil, o.Creates[0].State))
	default:
		for _, f := range o.From {
			to := f.State
			if !o.Same && o.To != nil {
				to = o.To.State
			}
			c.move(o, f, to)
		}
	}
}

// move draws o from one state to another, or to itself.
func (c *Chart) move(o *spec.Operation, from spec.StateRef, to *spec.State) {
	c.join(c.state(from.State), c.state(to), c.step(o, []spec.StateRef{from}, to))
}

// onlyTarget returns where o always leads from state s, or nil when there is a
// choice to be made.
func onlyTarget(o *spec.Operation, s *spec.State) *spec.State {
	branches := o.Branches(s)
	switch {
	case len(branches) != 1 || len(branches[0].When) > 0:
		return nil
	case branches[0].Same:
		return s
	case branches[0].To != nil:
		return branches[0].To.State
	}
	return nil
}

// choice draws the branches of o behind a choice point: one for all source
// states, or one for each of them when what follows depends on the source.
func (c *Chart) choice(o *spec.Operation) {
	if c.Detail != Full && !c.chooses(o) {
		c.moves(o)
		return
	}
	if len(o.Creates) > 0 {
		n := c.choicePoint("c_" + o.Name)
		c.join(c.startNode(), n, c.step(o, nil, nil))
		c.branches(o, n, nil)
		return
	}
	if len(o.From) == 1 || !dependsOnSource(o) {
		n := c.choicePoint("c_" + o.Name)
		for _, f := range o.From {
			c.join(c.state(f.State), n, c.step(o, []spec.StateRef{f}, nil))
		}
		c.branches(o, n, o.From)
		return
	}
	for _, f := range o.From {
		to := onlyTarget(o, f.State)
		if ts := targets(o, f.State); c.Detail != Full && len(ts) <= 1 {
			if len(ts) == 0 { // it refuses all, or records only
				continue
			}
			to = ts[0]
		}
		if to != nil {
			c.move(o, f, to)
			continue
		}
		// Names are lower case, so IN cannot be a part of one: no two
		// choice points can share an id.
		n := c.choicePoint("c_" + o.Name + "_IN_" + f.State.Name)
		c.join(c.state(f.State), n, c.step(o, []spec.StateRef{f}, nil))
		c.branches(o, n, []spec.StateRef{f})
	}
}

// chooses reports whether o can lead to several states from one.
func (c *Chart) chooses(o *spec.Operation) bool {
	if len(o.Creates) > 0 {
		return len(targets(o, nil)) > 1
	}
	return slices.ContainsFunc(o.From, func(f spec.StateRef) bool { return len(targets(o, f.State)) > 1 })
}

func (c *Chart) choicePoint(id string) *Node {
	n := &Node{ID: id, Kind: Choice}
	c.Nodes = append(c.Nodes, n)
	return n
}

// dependsOnSource reports whether where o leads depends on where it started.
func dependsOnSource(o *spec.Operation) bool {
	for _, b := range o.Choose {
		if b.From != nil || b.Same {
			return true
		}
	}
	return false
}

// branches draws the branches of o that can be taken from the states from.
func (c *Chart) branches(o *spec.Operation, n *Node, from []spec.StateRef) {
	earlier := false
	var source *spec.State // one stands for all: where they differ, each has a point of its own
	if len(from) > 0 {
		source = from[0].State
	}
	for _, b := range o.Branches(source) {
		cond := "always"
		switch {
		case len(b.When) > 0:
			cond = factsSentence(b.When)
		case earlier:
			cond = "otherwise"
		}
		earlier = true
		s := Step{Operation: o, Branch: true, from: from}
		switch {
		case b.To != nil:
			s.to, s.Lines = b.To.State, c.asks(b, cond)
			c.join(n, c.state(b.To.State), s)
		case b.Same && len(from) == 1:
			s.to, s.Lines = from[0].State, c.asks(b, cond)
			c.join(n, c.state(from[0].State), s)
		case c.Detail != Full: // it leaves the record where it is
		case b.RecordOnly:
			s.recordOnly, s.Lines = true, []string{cond + ", recorded only"}
			c.back(n, from, s)
		case b.Reject != "":
			s.refused, s.Lines = true, []string{cond + ", refused with " + b.Reject}
			c.back(n, from, s)
		}
	}
}

// back draws a branch that leaves the record where it is.
func (c *Chart) back(n *Node, from []spec.StateRef, s Step) {
	if len(from) == 0 { // a creation that is refused: there is no record
		c.join(n, c.endNode(), s)
		return
	}
	for _, f := range from {
		s.from, s.to = []spec.StateRef{f}, f.State
		c.join(n, c.state(f.State), s)
	}
}

// step says what o is and when it may run.
func (c *Chart) step(o *spec.Operation, from []spec.StateRef, to *spec.State) Step {
	var lines []string
	if c.Detail == Full {
		lines = c.who(o)
	}
	for i, t := range o.Triggers {
		text := t.Text
		if t.Startup {
			text = "at startup"
		}
		if i > 0 {
			text = "or " + text
		}
		if c.Detail == Brief {
			lines = append(lines, timeLines(text)...)
			continue
		}
		lines = append(lines, text)
	}
	if c.Detail != Brief {
		lines = append(lines, guardLabel(o.Require)...)
	}
	if c.Detail != Full {
		return Step{Operation: o, Lines: lines, from: from, to: to}
	}
	if o.OnRefusalRecordOnly && len(o.Require) > 0 {
		lines = append(lines, "or else recorded only")
	}
	lines = append(lines, c.asked(o.Asks, o.Then)...)
	return Step{Operation: o, Lines: lines, from: from, to: to}
}

// who says who calls o, when that is not any caller.
func (c *Chart) who(o *spec.Operation) []string {
	leader := c.leader(o)
	switch {
	case o.By == spec.ByOperator:
		return []string{"by an operator"}
	case leader != "":
		if c.gaveUp(o) {
			return []string{"when " + leader + " gives up"}
		}
		return []string{"follows " + leader}
	case o.By == spec.BySystem && len(o.Triggers) == 0:
		return []string{"by the system"}
	}
	return nil
}

// leader returns the operation that o follows by `then`, if there is just one.
func (c *Chart) leader(o *spec.Operation) string {
	if list := c.Machine.Leaders(o); len(list) == 1 {
		return list[0].Operation.Name
	}
	return ""
}

// recordedOnly says for each state which operations it records without a change.
func recordedOnly(m *spec.Machine) [][]string {
	names := make([][]string, len(m.States))
	cells := 0
	for _, o := range m.Operations {
		if len(o.Creates) > 0 {
			continue
		}
		cells++
		for i, class := range m.Row(o) {
			if class == spec.RecordOnly {
				names[i] = append(names[i], o.Name)
			}
		}
	}
	for i, operations := range names {
		switch {
		case len(operations) > 2 && len(operations) == cells:
			names[i] = []string{"only recorded: every operation"}
		case len(operations) > 0:
			names[i] = list("only recorded: ", operations, boxWidth)
		}
	}
	return names
}

// guardLabel returns the names of the guards in brackets.
func guardLabel(rs []*spec.Requirement) []string {
	if len(rs) == 0 {
		return nil
	}
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.Guard.Name
	}
	one := "[" + strings.Join(names, ", ") + "]"
	if len(one) <= guardWidth {
		return []string{one}
	}
	for i := range names {
		if i < len(names)-1 {
			names[i] += ","
		}
	}
	names[0] = "[" + names[0]
	names[len(names)-1] += "]"
	return names
}
