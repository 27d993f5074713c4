package layout

import "slices"

// Graph is what is to be placed. The order of nodes and edges matters: where
// nothing else decides, what comes first stands further up and to the left.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// Node is a box.
type Node struct {
	W, H float64
	// Diamond says that edges end on the sides of a diamond, not of a box.
	Diamond bool
	// Round says that they end on an ellipse.
	Round bool
}

// Edge leads from one node to another, or to itself.
type Edge struct {
	From, To int     // indexes in Graph.Nodes
	W, H     float64 // of the label; 0: none
	Weight   int     // how much it matters that the edge is short and straight; 0 is 1
}

// Point is a place; Y grows downwards.
type Point struct{ X, Y float64 }

// Rect is a box.
type Rect struct{ X, Y, W, H float64 }

// Route is how an edge runs: one or two pieces, since it is broken where its
// label stands. A piece is a start and then, for each cubic Bézier curve, two
// control points and an end. The last point of the last piece is at the target.
type Route struct {
	Pieces [][]Point
	Label  Rect // zero: none
}

// Result is where everything stands, from (0, 0) to (W, H).
type Result struct {
	W, H  float64
	Nodes []Rect
	Edges []Route
}

// The distances between what stands beside each other.
const (
	boxGap   = 20.0 // between two boxes
	labelGap = 9.0  // between a label and anything else
	lineGap  = 10.0 // between two lines
	portGap  = 26.0 // between two edges at one side of a box, where there is room
	loopOut  = 24.0 // how far a loop leaves its box
	loopGap  = 7.0  // between a loop and its label
)

// Place places g. A box becomes wider when more edges end at it than it has
// room for.
func Place(g Graph) Result {
	if len(g.Nodes) == 0 {
		return Result{Edges: make([]Route, len(g.Edges))}
	}
	return place(g).result()
}

// PlaceAcross places g from left to right: the first layer is at the left.
func PlaceAcross(g Graph) Result {
	turned := Graph{Nodes: slices.Clone(g.Nodes), Edges: slices.Clone(g.Edges)}
	for i := range turned.Nodes {
		n := &turned.Nodes[i]
		n.W, n.H = n.H, n.W
	}
	for i := range turned.Edges {
		e := &turned.Edges[i]
		e.W, e.H = e.H, e.W
	}
	r := Place(turned)
	rect := func(b Rect) Rect { return Rect{b.Y, b.X, b.H, b.W} }
	for i := range r.Nodes {
		r.Nodes[i] = rect(r.Nodes[i])
	}
	for i := range r.Edges {
		e := &r.Edges[i]
		e.Label = rect(e.Label)
		for _, piece := range e.Pieces {
			for k, p := range piece {
				piece[k] = Point{p.Y, p.X}
			}
		}
	}
	r.W, r.H = r.H, r.W
	return r
}

// walks is how many ways of turning edges around are tried for the sake of
// fewer crossings, in graphs of up to smallGraph edges.
const (
	walks      = 12
	smallGraph = 150
)

// place finds the coordinates of a graph that has nodes.
func place(g Graph) *layered {
	var best *layered
	var tried [][]bool
	try := func(back []bool) *layered {
		if slices.ContainsFunc(tried, func(b []bool) bool { return slices.Equal(b, back) }) {
			return nil
		}
		tried = append(tried, back)
		own := g
		own.Nodes = slices.Clone(g.Nodes)
		l := newLayered(&own, back)
		l.order()
		return l
	}
	best = try(backByWalk(&g, 0))
	if l := try(backByOrder(&g)); l != nil && l.cost() < best.cost() {
		best = l
	}
	for k := uint32(1); k < walks && len(g.Edges) <= smallGraph; k++ {
		least := best.crossings()
		if least == 0 {
			break
		}
		if l := try(backByWalk(&g, k)); l != nil && l.crossings() < least {
			best = l
		}
	}
	best.placeX()
	best.placeY()
	return best
}

// backByWalk finds the edges that close a cycle on a walk in depth from the
// nodes in their order; seed shuffles the edges of each node, 0 leaves them as
// they are.
func backByWalk(g *Graph, seed uint32) []bool {
	out := make([][]int, len(g.Nodes))
	for i, e := range g.Edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], i)
		}
	}
	for _, edges := range out {
		for i := len(edges) - 1; i > 0 && seed > 0; i-- {
			seed = seed*1664525 + 1013904223
			j := int(seed>>8) % (i + 1)
			edges[i], edges[j] = edges[j], edges[i]
		}
	}
	back := make([]bool, len(g.Edges))
	state := make([]uint8, len(g.Nodes)) // 1: on the way here, 2: done
	next := make([]int, len(g.Nodes))
	for root := range g.Nodes {
		if state[root] != 0 {
			continue
		}
		state[root] = 1
		for path := []int{root}; len(path) > 0; {
			n := path[len(path)-1]
			if next[n] == len(out[n]) {
				state[n] = 2
				path = path[:len(path)-1]
				continue
			}
			e := out[n][next[n]]
			next[n]++
			switch to := g.Edges[e].To; state[to] {
			case 0:
				state[to] = 1
				path = append(path, to)
			case 1:
				back[e] = true
			}
		}
	}
	return back
}

// backByOrder takes the edges that lead to an earlier node, but for the lone ones.
func backByOrder(g *Graph) []bool {
	back, lone := make([]bool, len(g.Edges)), g.lone()
	for i, e := range g.Edges {
		back[i] = e.To < e.From && !lone[i]
	}
	return back
}

// lone says of each edge whether its ends have no other.
func (g *Graph) lone() []bool {
	ends := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		ends[e.From]++
		ends[e.To]++
	}
	lone := make([]bool, len(g.Edges))
	for i, e := range g.Edges {
		lone[i] = ends[e.From] == 1 && ends[e.To] == 1
	}
	return lone
}
