package layout

import "math"

// placeY gives each layer its height and its top, and the edges their tracks
// between them.
func (l *layered) placeY() {
	l.top, l.height = make([]float64, len(l.layers)), make([]float64, len(l.layers))
	for k, row := range l.layers {
		for _, i := range row {
			l.height[k] = max(l.height[k], l.cells[i].h)
		}
	}
	l.corridors, l.runs = l.corridorsOf()
	y, upper := 0.0, 0
	for k := range l.layers {
		if k > 0 && l.solid(k) {
			y += 14
			if c := l.corridors[upper]; c != nil {
				c.spread()
				y += c.height - 14
			}
			upper = k
		}
		l.top[k] = y
		y += l.height[k]
	}
}

// stub returns how long the edge between the cells at and other runs straight
// at the first one.
func (l *layered) stub(at, other int) float64 {
	edge := l.cells[other].edge
	if l.cells[at].node >= 0 && l.g.Edges[edge].To == l.cells[at].node && !(l.g.Edges[edge].From == l.cells[at].node) {
		return stub
	}
	return 0
}

// leaves returns the x at which the edge between the cells i and j leaves i. At
// a box it may give way a little, so that what is nearly straight is straight;
// it stays at the box, however narrow that is, and on its side of the next edge.
func (l *layered) leaves(i, j int) float64 {
	c, other := &l.cells[i], l.cells[j].x
	x := c.x + l.portOf(i, j)
	if c.node < 0 || l.cells[j].node >= 0 {
		return x
	}
	give := 3.0
	if n := len(l.beside(i, j)); n > 1 {
		give = min(give, 0.49*l.step(i, n))
	}
	if math.Abs(x-other) >= give || math.Abs(other-c.x) > l.g.Nodes[c.node].W/2 {
		return x
	}
	return other
}

// box returns where the cell stands, without its loop.
func (l *layered) box(i int) Rect {
	c := &l.cells[i]
	w, h := c.left+c.right, c.h
	if c.node >= 0 {
		w, h = l.g.Nodes[c.node].W, l.g.Nodes[c.node].H
	}
	return Rect{X: c.x - c.left, Y: l.top[c.layer] + (l.height[c.layer]-h)/2, W: w, H: h}
}

func (l *layered) result() Result {
	var r Result
	for i := range l.g.Nodes {
		r.Nodes = append(r.Nodes, l.box(i))
	}
	for i := range l.cells {
		r.W = max(r.W, l.cells[i].x+l.cells[i].right)
	}
	last := len(l.layers) - 1
	r.H = l.top[last] + l.height[last]
	below := make([]float64, len(l.g.Nodes)) // how much of the labels of loops is placed
	for i, e := range l.g.Edges {
		if e.From == e.To {
			r.Edges = append(r.Edges, l.loopRoute(e, r.Nodes[e.From], &below[e.From]))
			continue
		}
		r.Edges = append(r.Edges, l.route(i))
	}
	return r
}

// loopRoute leads a loop out of the right side of its box and back; all loops of
// a box run the same way, and their labels stand below each other.
func (l *layered) loopRoute(e Edge, b Rect, below *float64) Route {
	right, middle := b.X+b.W, b.Y+b.H/2
	half := max(2, min(b.H/2-6, 13))
	out := right + loopOut*4/3 // a curve reaches three quarters of the way to its control points
	route := Route{Pieces: [][]Point{{
		{right, middle - half}, {out, middle - half - 5}, {out, middle + half + 5}, {right, middle + half},
	}}}
	if e.W > 0 {
		all := l.loop[e.From].Y
		route.Label = Rect{X: right + loopOut + loopGap, Y: middle - all/2 + *below, W: e.W, H: e.H}
		*below += e.H
	}
	return route
}

// path is a piece of an edge in the making.
type path struct{ points []Point }

func (p *path) end() Point { return p.points[len(p.points)-1] }

// down leads straight down to y.
func (p *path) down(y float64) {
	a := p.end()
	if y-a.Y < 0.01 {
		return
	}
	if n := len(p.points); n >= 4 && p.points[n-4].X == a.X && p.points[n-3].X == a.X && p.points[n-2].X == a.X {
		a = p.points[n-4] // one straight line, not two
		p.points = p.points[:n-3]
	}
	p.points = append(p.points, Point{a.X, a.Y + (y-a.Y)/3}, Point{a.X, y - (y-a.Y)/3}, Point{a.X, y})
}

// curve leads to (x, y), straight down at both ends. With level, a long way is
// level between two round corners.
func (p *path) curve(x, y float64, level bool) {
	a := p.end()
	if x == a.X {
		p.down(y)
		return
	}
	high, aside := y-a.Y, math.Abs(x-a.X)
	if !level || aside < 3*high {
		h := high * 0.55
		p.points = append(p.points, Point{a.X, a.Y + h}, Point{x, y - h}, Point{x, y})
		return
	}
	const round = 12.0 // the radius of a corner
	const arc = 0.5523 // how far the control points of a quarter of a circle stand away
	r := min(high/2, round)
	middle := a.Y + high/2
	p.down(middle - r)
	a = p.end()
	to := math.Copysign(r, x-a.X)
	left, right := a.X+to, x-to
	p.points = append(p.points,
		Point{a.X, a.Y + arc*r}, Point{left - arc*to, middle}, Point{left, middle},
		Point{left + (right-left)/3, middle}, Point{right - (right-left)/3, middle}, Point{right, middle},
		Point{right + arc*to, middle}, Point{x, middle + r - arc*r}, Point{x, middle + r})
	p.down(y)
}

// route leads edge i through its cells.
func (l *layered) route(i int) Route {
	var r Route
	first := l.chains[i][0]
	x := l.leaves(first, l.chains[i][1])
	b := l.box(first)
	p := &path{points: []Point{{x, b.Y + b.H - l.inset(first, x)}}}
	from := l.cells[first].layer
	for _, k := range l.runs[i] {
		c := l.corridors[from]
		run := &c.runs[k]
		above := l.top[c.upper] + l.height[c.upper] + c.above
		track := (l.top[c.lower] - c.below - above) / float64(run.of)
		p.down(above + float64(run.first)*track)
		p.curve(run.x2, above+float64(run.last+1)*track, run.alone)
		from = c.lower
		b := l.box(run.to)
		switch to := &l.cells[run.to]; {
		case to.node >= 0:
			p.down(b.Y + l.inset(run.to, run.x2))
		case to.label:
			p.down(b.Y)
			r.Pieces = append(r.Pieces, p.points)
			r.Label = b
			p = &path{points: []Point{{to.x, b.Y + b.H}}}
		default:
			p.down(l.top[c.lower] + l.height[c.lower])
		}
	}
	r.Pieces = append(r.Pieces, p.points)
	if l.back[i] {
		reverse(r.Pieces)
	}
	return r
}

// box reports whether edges end on the sides of the node's rectangle.
func (n *Node) box() bool { return !n.Diamond && !n.Round }

// inset is how far the edge at x runs into the rectangle around a cell, up
// to the side of a diamond or the rim of an ellipse.
func (l *layered) inset(i int, x float64) float64 {
	c := &l.cells[i]
	if c.node < 0 {
		return 0
	}
	n := &l.g.Nodes[c.node]
	aside := math.Abs(x-c.x) / (n.W / 2)
	switch {
	case n.Diamond:
		return n.H / 2 * aside
	case n.Round:
		return n.H / 2 * (1 - math.Sqrt(max(0, 1-aside*aside)))
	}
	return 0
}

// reverse turns the pieces of an edge around.
func reverse(pieces [][]Point) {
	for _, p := range pieces {
		for i, j := 0, len(p)-1; i < j; i, j = i+1, j-1 {
			p[i], p[j] = p[j], p[i]
		}
	}
	for i, j := 0, len(pieces)-1; i < j; i, j = i+1, j-1 {
		pieces[i], pieces[j] = pieces[j], pieces[i]
	}
}
