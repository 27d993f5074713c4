package chart

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Region is a run of states, in the order of the file, that hang together.
type Region struct {
	Name   string        // of the state that most moves from other regions lead to
	States []*spec.State // in the order of the file
}

const (
	regionSize = 12 // states of a region at most
	someNames  = 3  // operations on an arrow between two regions; the rest is counted
)

// Regions cuts a machine into runs of states, in the order of the file, so that
// more moves stay within a region than chance would have it: the cut with the
// highest modularity of all those with at most twelve states a region. An
// operation that has four or more states as its source says nothing about where they belong.
func Regions(m *spec.Machine) []Region {
	n := len(m.States)
	moves := make([][]int, n) // either way
	degree := make([]int, n)
	total := 0
	for i := range moves {
		moves[i] = make([]int, n)
	}
	eachMove(m, func(o *spec.Operation, from, to *spec.State) {
		if from != nil && from != to && len(o.From) < groupFrom {
			moves[from.Index][to.Index]++
			moves[to.Index][from.Index]++
			degree[from.Index]++
			degree[to.Index]++
			total++
		}
	})
	best, start := make([]int, n+1), make([]int, n+1) // of the first states
	for end := 1; end <= n; end++ {
		inner, ends := 0, 0
		for i := end - 1; i >= max(0, end-regionSize); i-- {
			for _, k := range moves[i][i:end] {
				inner += k
			}
			ends += degree[i]
			if score := best[i] + 4*total*inner - ends*ends; i == end-1 || score >= best[end] {
				best[end], start[end] = score, i
			}
		}
	}
	var rs []Region
	for end := n; end > 0; end = start[end] {
		rs = append(rs, Region{States: m.States[start[end]:end]})
	}
	slices.Reverse(rs)
	for i, r := range rs {
		rs[i].Name = entrance(m, r.States).Name
	}
	return rs
}

// entrance returns the state to which most moves from other states than these lead.
func entrance(m *spec.Machine, states []*spec.State) *spec.State {
	count := make([]int, len(m.States))
	eachMove(m, func(o *spec.Operation, from, to *spec.State) {
		if !slices.Contains(states, from) && len(o.From) < groupFrom {
			count[to.Index]++
		}
	})
	first := states[0]
	for _, s := range states {
		if count[s.Index] > count[first.Index] {
			first = s
		}
	}
	return first
}

// eachMove calls do for each state that an operation can lead to, from each of its
// sources; from is nil for a creation.
func eachMove(m *spec.Machine, do func(o *spec.Operation, from, to *spec.State)) {
	for _, o := range m.Operations {
		if len(o.Creates) > 0 {
			for _, to := range targets(o, nil) {
				do(o, nil, to)
			}
		}
		for _, f := range o.From {
			for _, to := range targets(o, f.State) {
				do(o, f.State, to)
			}
		}
	}
}

// Index returns the chart of the regions: each is a box that names its states,
// and an arrow has the operations that lead from one to another.
func Index(m *spec.Machine, rs []Region) *Chart {
	c := &Chart{Machine: m, Detail: Brief, Title: m.Entity + ": regions", Part: "regions", Regions: true, edges: make(map[[2]*Node]*Edge)}
	of := make(map[*spec.State]*Node)
	for i, r := range rs {
		n := &Node{ID: "r_" + r.Name, Kind: State, Name: r.Name, State: &spec.State{Name: r.Name, Index: i}}
		var others []string
		for _, s := range r.States {
			of[s] = n
			if s.Name != r.Name {
				others = append(others, s.Name)
			}
		}
		n.Notes = list("", others, groupWidth)
		c.Nodes = append(c.Nodes, n)
	}
	eachMove(m, func(o *spec.Operation, from, to *spec.State) {
		a, b := of[from], of[to]
		if from == nil {
			a, b.Role = c.startNode(), Initial
		}
		if a == b {
			return
		}
		e := c.join(a, b)
		if !slices.ContainsFunc(e.Steps, func(s Step) bool { return s.Operation == o }) {
			e.Steps = append(e.Steps, Step{Operation: o})
		}
	})
	c.group()
	for _, e := range c.Edges {
		if more := len(e.Steps) - someNames; more > 1 {
			e.Steps = e.Steps[:someNames]
			e.Steps[someNames-1].Lines = []string{fmt.Sprintf("and %d more", more)}
		}
	}
	return c
}

// Chart returns the chart of a region with all that touches it. The neighbours
// of its states are there, too, in the role Outside.
func (r Region) Chart(m *spec.Machine, d Detail) *Chart {
	c := at(m, d, r.States)
	c.Part = "region " + r.Name
	c.Title = m.Entity + ": " + c.Part
	return c
}

// part keeps the edges that touch one of the states.
func (c *Chart) part(states []*spec.State) {
	inside := func(n *Node) bool { return n.State != nil && slices.Contains(states, n.State) }
	var kept []*Edge
	for _, e := range c.Edges {
		if c.touches(e, inside) {
			kept = append(kept, e)
		} else {
			delete(c.edges, [2]*Node{e.From, e.To})
		}
	}
	c.Edges = kept
	for _, n := range c.Nodes {
		if n.Kind == State && !inside(n) {
			n.Role, n.Timed, n.Notes = Outside, false, nil
		}
	}
	c.Never = c.neverOf(inside)
}

// Leads reports whether an operation leads from a state of one region to one of
// another.
func Leads(m *spec.Machine, a, b Region) bool {
	leads := false
	eachMove(m, func(_ *spec.Operation, from, to *spec.State) {
		leads = leads || slices.Contains(a.States, from) && slices.Contains(b.States, to)
	})
	return leads
}
