package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

func log1(n int64) float64 { return math.Log1p(float64(n)) }

// UnknownError is a state or an operation that the machine does not have.
type UnknownError struct {
	What string // "state" or "operation"
	Name string
	Have []string // those that there are
	Near string   // the one that was probably meant; "" when none is near
}

// Error says what was asked for and what there is.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("the machine has no %s %q; %s", e.What, e.Name, spec.DidYouMean(e.Near, "it has", e.Have))
}

func unknown(what, name string, have []string) error {
	return &UnknownError{What: what, Name: name, Have: have, Near: spec.Nearest(name, have)}
}

// Focus keeps what touches the state of that name: its edges, the choice
// points in between, and its neighbours.
func (c *Chart) Focus(name string) error {
	n := c.node("s_" + name)
	if n == nil {
		var have []string
		for _, s := range c.Machine.States {
			have = append(have, s.Name)
		}
		return unknown("state", name, have)
	}
	n.Focus = true
	is := func(o *Node) bool { return o == n }
	var near []*Edge
	for _, e := range c.Edges {
		if c.touches(e, is) {
			near = append(near, e)
		}
	}
	c.Edges = near
	for _, o := range c.Nodes {
		if o != n && o.Kind != Group {
			o.Notes = nil
		}
	}
	c.Never = c.neverOf(is)
	c.prune(is)
	return nil
}

// neverOf returns the forbidden moves that lead to a state which in holds of, or
// away from it.
func (c *Chart) neverOf(in func(*Node) bool) []*spec.Forbidden {
	return slices.DeleteFunc(slices.Clone(c.Never), func(f *spec.Forbidden) bool {
		return !in(c.state(f.From.State)) && !in(c.state(f.To.State))
	})
}

// touches reports whether e leads to a node which in holds of, or away from it,
// at once or by a choice point.
func (c *Chart) touches(e *Edge, in func(*Node) bool) bool {
	if in(e.From) || in(e.To) || slices.ContainsFunc(e.From.Of, in) {
		return true
	}
	for _, o := range c.Edges {
		if e.From.Kind == Choice && o.To == e.From && in(o.From) ||
			e.To.Kind == Choice && o.From == e.To && in(o.To) {
			return true
		}
	}
	return false
}

// Only keeps the steps of the operations of these names, and the states that
// they touch.
func (c *Chart) Only(names ...string) error {
	for _, name := range names {
		if c.Machine.Operation(name) == nil {
			var have []string
			for _, o := range c.Machine.Operations {
				have = append(have, o.Name)
			}
			return unknown("operation", name, have)
		}
	}
	for _, e := range c.Edges {
		e.Steps = slices.DeleteFunc(e.Steps, func(s Step) bool { return !slices.Contains(names, s.Operation.Name) })
		e.Count = 0
		for _, s := range e.Steps {
			e.Count += s.Count
		}
	}
	c.Edges = slices.DeleteFunc(c.Edges, func(e *Edge) bool { return len(e.Steps) == 0 })
	for _, n := range c.Nodes {
		if n.Kind != Group {
			n.Notes = nil
		}
	}
	c.Never = nil
	c.prune(func(n *Node) bool { return n.Focus })
	return nil
}

// prune drops what no edge touches any more, but for those that keep holds of.
func (c *Chart) prune(keep func(*Node) bool) {
	used := make(map[*Node]bool)
	for _, e := range c.Edges {
		used[e.From], used[e.To] = true, true
	}
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n *Node) bool { return !keep(n) && !used[n] })
	if c.Detail != Brief {
		c.Guards = c.guards()
	}
	c.Projection = nil
}
