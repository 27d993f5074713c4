package layout

import "slices"

// cell is what takes up a place in a layer: a box, a label, or an edge that
// passes.
type cell struct {
	node, edge  int // index in the graph; -1: not that
	label       bool
	layer       int
	place       int     // within the layer
	left, right float64 // how far it reaches from x
	h           float64
	up, down    []int // cells in the layers beside
	x           float64
}

// layered is a graph in layers: boxes stand in the even ones, labels in the odd
// ones, and each edge leads from layer to layer.
type layered struct {
	g         *Graph
	back      []bool // edges that lead upwards
	cells     []cell
	layers    [][]int
	chains    [][]int // of each edge: its cells from top to bottom, boxes included; nil for loops
	loop      []Point // of each node: the size of the label of its loops
	loops     []bool  // of each node
	top       []float64
	height    []float64
	scratch   []int             // of counts
	corridors map[int]*corridor // by their upper layer
	runs      [][]int           // of each edge: its runs in the corridors
}

func newLayered(g *Graph, back []bool) *layered {
	l := &layered{g: g, back: back, chains: make([][]int, len(g.Edges)), loop: make([]Point, len(g.Nodes)), loops: make([]bool, len(g.Nodes))}
	for _, e := range g.Edges {
		if e.From == e.To { // several loops stand below each other in one
			l.loops[e.From] = true
			l.loop[e.From].X = max(l.loop[e.From].X, e.W)
			l.loop[e.From].Y += e.H
		}
	}
	rank := ranks(g, back)
	most := 0
	for i, n := range g.Nodes {
		c := cell{node: i, edge: -1, layer: 2 * rank[i], left: n.W / 2, right: n.W / 2, h: n.H}
		if l.loops[i] {
			c.right += loopOut
			if l.loop[i].X > 0 {
				c.right += loopGap + l.loop[i].X
			}
			c.h = max(c.h, l.loop[i].Y)
		}
		l.cells = append(l.cells, c)
		most = max(most, c.layer)
	}
	l.layers = make([][]int, most+1)
	l.chain()
	l.widen()
	for i, c := range l.cells {
		l.layers[c.layer] = append(l.layers[c.layer], i)
	}
	return l
}

// ends returns the upper and the lower end of edge i.
func (l *layered) ends(i int) (top, bottom int) {
	e := l.g.Edges[i]
	if l.back[i] {
		return e.To, e.From
	}
	return e.From, e.To
}

// ranks gives every node a row so that the edges are short.
func ranks(g *Graph, back []bool) []int {
	var arcs []arc
	root := len(g.Nodes) // holds together what is not connected
	for i, e := range g.Edges {
		if e.From == e.To {
			continue
		}
		a := arc{from: e.From, to: e.To, length: 1, weight: max(1, e.Weight)}
		if back[i] {
			a.from, a.to = a.to, a.from
		}
		arcs = append(arcs, a)
	}
	for i := range g.Nodes {
		arcs = append(arcs, arc{from: root, to: i, length: 1})
	}
	at := solve(root+1, arcs)[:root]
	least := slices.Min(at)
	for i := range at {
		at[i] -= least
	}
	return at
}

// chain puts the cells of the edges into the layers between their ends. Short
// edges come first, for their labels have no choice; the others take the layer
// where the labels are narrowest, near the middle.
func (l *layered) chain() {
	var order []int
	for i, e := range l.g.Edges {
		if e.From != e.To {
			order = append(order, i)
		}
	}
	span := func(i int) int {
		top, bottom := l.ends(i)
		return l.cells[bottom].layer - l.cells[top].layer
	}
	slices.SortStableFunc(order, func(a, b int) int { return span(a) - span(b) })
	load := make([]float64, len(l.layers))
	for _, i := range order {
		top, bottom := l.ends(i)
		e := l.g.Edges[i]
		first, last := l.cells[top].layer, l.cells[bottom].layer
		at := -1
		if e.W > 0 {
			middle := float64(first+last) / 2
			worth := func(layer int) float64 {
				far := float64(layer) - middle
				return load[layer] + 12*max(far, -far)
			}
			for layer := first + 1; layer < last; layer += 2 {
				if at < 0 || worth(layer) < worth(at) {
					at = layer
				}
			}
			load[at] += e.W + labelGap
		}
		chain := []int{top}
		for layer := first + 1; layer < last; layer++ {
			c := cell{node: -1, edge: i, layer: layer}
			if layer == at {
				c.label, c.left, c.right, c.h = true, e.W/2, e.W/2, e.H
			}
			chain = append(chain, len(l.cells))
			l.cells = append(l.cells, c)
		}
		chain = append(chain, bottom)
		for k := 1; k < len(chain); k++ {
			a, b := chain[k-1], chain[k]
			l.cells[a].down = append(l.cells[a].down, b)
			l.cells[b].up = append(l.cells[b].up, a)
		}
		l.chains[i] = chain
	}
}

// gap is the distance that two cells side by side keep.
func (l *layered) gap(a, b int) float64 {
	x, y := &l.cells[a], &l.cells[b]
	switch {
	case x.node >= 0 && y.node >= 0:
		return boxGap
	case x.label || y.label, x.node >= 0, y.node >= 0:
		return labelGap
	}
	return lineGap
}

// cost says how good the layers are: crossings first, then the length of the
// edges, then the edges that lead upwards.
func (l *layered) cost() int {
	long := 0
	for _, c := range l.chains {
		long += len(c)
	}
	turned := 0
	for _, b := range l.back {
		if b {
			turned++
		}
	}
	return 1000*l.crossings() + 10*long + 15*turned + 5*len(l.layers)
}
