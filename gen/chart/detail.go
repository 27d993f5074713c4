package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Detail says how much of a machine a picture shows.
type Detail uint8

// The details, each with all of the one before.
const (
	Brief  Detail = iota + 1 // states, operations, and when the system acts
	Guards                   // guards and the conditions of choices, too
	Full                     // everything: effects, what is recorded only, refused or forbidden, the projection
)

// String returns the word of --detail.
func (d Detail) String() string { return [...]string{"", "brief", "normal", "full"}[d] }

// Details are the values of --detail.
var Details = []Detail{Brief, Guards, Full}

// groupFrom is the number of states from which their common arrow begins at one
// box that names them.
const groupFrom = 4

// fanFrom is the number of targets from which an operation has one arrow that
// parts on its way, and not one arrow for each.
const fanFrom = 4

// moves draws o without conditions: one arrow from each state to each state
// that it can lead to.
func (c *Chart) moves(o *spec.Operation) {
	if len(o.Creates) > 0 {
		c.fan(o, c.startNode(), nil)
		return
	}
	for _, f := range o.From {
		c.fan(o, c.state(f.State), []spec.StateRef{f})
	}
}

// fan draws o from one node.
func (c *Chart) fan(o *spec.Operation, node *Node, from []spec.StateRef) {
	var source *spec.State
	if from != nil {
		source = from[0].State
	}
	list := targets(o, source)
	if i := slices.Index(list, source); i >= 0 && c.Detail == Brief {
		c.join(node, node, c.step(o, from, source))
		list = slices.Delete(list, i, i+1)
	}
	if len(list) < fanFrom || c.Detail != Brief {
		for _, to := range list {
			c.join(node, c.state(to), c.step(o, from, to))
		}
		return
	}
	id := "c_" + o.Name
	for _, to := range list {
		id += "_" + fmt.Sprint(to.Index)
	}
	point := c.node(id)
	if point == nil {
		point = c.choicePoint(id)
	}
	c.join(node, point, c.step(o, from, nil))
	for _, to := range list {
		e := c.join(point, c.state(to))
		if len(e.Steps) == 0 {
			e.Steps = []Step{{Operation: o, Branch: true, to: to}}
		}
		e.Steps[0].from = append(e.Steps[0].from, from...)
	}
}

// targets returns where o can lead from s, which is nil for a creation.
func targets(o *spec.Operation, s *spec.State) []*spec.State {
	var list []*spec.State
	add := func(to *spec.State) {
		if !slices.Contains(list, to) {
			list = append(list, to)
		}
	}
	switch {
	case len(o.Choose) > 0:
		for _, b := range o.Branches(s) {
			if b.To != nil {
				add(b.To.State)
			} else if b.Same && s != nil {
				add(s)
			}
		}
	case len(o.Creates) > 0:
		add(o.Creates[0].State)
	case o.Same || o.To == nil:
		add(s)
	default:
		add(o.To.State)
	}
	return list
}

// group replaces the arrows of an operation that lead from many states to one
// target, or back to where they began, by one arrow that begins at a box with
// the names of these states.
func (c *Chart) group() {
	type key struct {
		operation *spec.Operation
		to        *Node // nil: back to where it began
		lines     string
	}
	each := func(do func(*Edge, Step)) {
		for _, e := range c.Edges {
			for _, s := range e.Steps {
				if !s.Branch && e.From.Kind == State {
					do(e, s)
				}
			}
		}
	}
	plain := func(e *Edge, s Step) key { return key{s.Operation, e.To, strings.Join(s.Lines, "\n")} }
	arrive := make(map[key]int) // arrows, those that leave a state and return included
	each(func(e *Edge, s Step) { arrive[plain(e, s)]++ })
	of := func(e *Edge, s Step) key {
		k := plain(e, s)
		if e.Loop() && arrive[k] < groupFrom {
			k.to = nil
		}
		return k
	}
	from := make(map[key][]*Node)
	var keys []key
	for _, back := range []bool{false, true} {
		each(func(e *Edge, s Step) {
			k := of(e, s)
			if back != (k.to == nil) {
				return
			}
			if from[k] == nil {
				keys = append(keys, k)
			}
			from[k] = append(from[k], e.From)
		})
	}
	for _, k := range keys {
		if len(from[k]) < groupFrom {
			continue
		}
		step := Step{stays: k.to == nil}
		for _, e := range c.Edges {
			e.Steps = slices.DeleteFunc(e.Steps, func(s Step) bool {
				if s.Branch || e.From.Kind != State || of(e, s) != k {
					return false
				}
				step.Operation, step.Lines, step.from = s.Operation, s.Lines, append(step.from, s.from...)
				if k.to != nil {
					step.to = s.to
				}
				return true
			})
		}
		g := c.groupNode(from[k], k.to)
		to := k.to
		if to == nil {
			to = g
		}
		c.join(g, to, step)
	}
	c.Edges = slices.DeleteFunc(c.Edges, func(e *Edge) bool {
		if len(e.Steps) > 0 {
			return false
		}
		delete(c.edges, [2]*Node{e.From, e.To})
		return true
	})
}

// groupNode returns the box of these states, in the order of the machine.
func (c *Chart) groupNode(states []*Node, to *Node) *Node {
	states = slices.Clone(states)
	slices.SortFunc(states, func(a, b *Node) int { return a.State.Index - b.State.Index })
	lines := c.groupLines(states, to)
	for _, n := range c.Nodes {
		if n.Kind == Group && slices.Equal(n.Notes, lines) && slices.Equal(n.Of, states) {
			return n
		}
	}
	c.groups++
	n := &Node{ID: fmt.Sprintf("g_%d", c.groups), Kind: Group, Notes: lines, Of: states}
	c.Nodes = append(c.Nodes, n)
	return n
}

// groupLines names the states in the shortest of several ways.
func (c *Chart) groupLines(states []*Node, to *Node) []string {
	in := make(map[*spec.State]bool)
	for _, n := range states {
		in[n.State] = true
	}
	best := list("", names(states), groupWidth)
	size := func(lines []string) int { return len(strings.Join(lines, " ")) }
	for _, all := range []struct {
		words string
		holds func(*spec.State) bool
	}{
		{"every state", func(*spec.State) bool { return true }},
		{"every non-terminal state", func(s *spec.State) bool { return !s.Terminal }},
		{"every non-final state", func(s *spec.State) bool { return !s.Terminal && !s.Final }},
	} {
		var missing []string
		words, fits := all.words, true
		for _, s := range c.Machine.States {
			switch {
			case in[s] && !all.holds(s):
				fits = false
			case in[s] || !all.holds(s):
			case to != nil && s == to.State:
				words = strings.Replace(all.words, "every", "every other", 1)
			default:
				missing = append(missing, s.Name)
			}
		}
		if !fits {
			continue
		}
		lines := wrapped(words, groupWidth)
		if len(missing) > 0 {
			missing[0] = "but " + missing[0]
			lines = append(lines, list("", missing, groupWidth)...)
		}
		if size(lines) <= size(best) {
			best = lines
		}
	}
	return best
}

// groupWidth is the number of characters after which the names in a group go on
// in the next line.
const groupWidth = 21

func names(nodes []*Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.Name
	}
	return list
}

// wrapped breaks s into lines of about width characters, at spaces.
func wrapped(s string, width int) []string {
	var lines []string
	line := ""
	for w := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), w
			continue
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}
