package layout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/internal/lab/judge"
)

// drawing hands a result to the judge.
func drawing(g Graph, r Result) judge.Drawing {
	var d judge.Drawing
	for i, b := range r.Nodes {
		d.Boxes = append(d.Boxes, judge.Box{Name: fmt.Sprint(i), X: b.X, Y: b.Y, W: b.W, H: b.H})
	}
	for i, e := range r.Edges {
		j := judge.Edge{
			Name: fmt.Sprintf("%d: %d to %d", i, g.Edges[i].From, g.Edges[i].To),
			From: fmt.Sprint(g.Edges[i].From), To: fmt.Sprint(g.Edges[i].To),
			Label: judge.Box{X: e.Label.X, Y: e.Label.Y, W: e.Label.W, H: e.Label.H},
		}
		for _, p := range e.Pieces {
			curve := make([]judge.Point, len(p))
			for k, q := range p {
				curve[k] = judge.Point(q)
			}
			j.Lines = append(j.Lines, judge.Flatten(curve))
		}
		d.Edges = append(d.Edges, j)
	}
	return d
}

// check holds a result against what the package promises.
func check(t interface{ Errorf(string, ...any) }, g Graph, r Result) judge.Report {
	const slack = 0.01
	report := judge.Judge(drawing(g, r))
	if report.Overlaps() > 0 {
		t.Errorf("%d overlaps: %q", report.Overlaps(), report.Found)
	}
	if report.Width > r.W+slack || report.Height > r.H+slack {
		t.Errorf("what is drawn is %v × %v, the picture %v × %v", report.Width, report.Height, r.W, r.H)
	}
	for i, e := range g.Edges {
		route := r.Edges[i]
		if (route.Label.W > 0) != (e.W > 0) || route.Label.W != e.W || route.Label.H != e.H {
			t.Errorf("edge %d has the label %v, not of size %v × %v", i, route.Label, e.W, e.H)
		}
		first, last := route.Pieces[0], route.Pieces[len(route.Pieces)-1]
		if !near(first[0], r.Nodes[e.From]) || !near(last[len(last)-1], r.Nodes[e.To]) {
			t.Errorf("edge %d runs from %v to %v, not from %v to %v", i, first[0], last[len(last)-1], r.Nodes[e.From], r.Nodes[e.To])
		}
		inside := func(b Rect) bool {
			return b.X >= -slack && b.Y >= -slack && b.X+b.W <= r.W+slack && b.Y+b.H <= r.H+slack
		}
		if !inside(route.Label) {
			t.Errorf("the label of edge %d is outside of the picture: %v", i, route.Label)
		}
		for _, p := range route.Pieces {
			if len(p)%3 != 1 {
				t.Errorf("edge %d has a piece of %d points", i, len(p))
			}
		}
	}
	return report
}

// near reports whether p is on the side of b, or within the rectangle of a diamond.
func near(p Point, b Rect) bool {
	const slack = 0.6
	return p.X >= b.X-slack && p.X <= b.X+b.W+slack && p.Y >= b.Y-slack && p.Y <= b.Y+b.H+slack
}

// random draws a graph as machines are: mostly ahead, some back, some loops.
func random(t *rapid.T, most int) Graph {
	var g Graph
	n := rapid.IntRange(1, most).Draw(t, "nodes")
	for range n {
		g.Nodes = append(g.Nodes, Node{
			W: rapid.Float64Range(10, 200).Draw(t, "w"), H: rapid.Float64Range(10, 90).Draw(t, "h"),
		})
		form := rapid.IntRange(0, 19).Draw(t, "form")
		g.Nodes[len(g.Nodes)-1].Diamond, g.Nodes[len(g.Nodes)-1].Round = form < 3, form == 3
	}
	for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
		e := Edge{From: rapid.IntRange(0, n-1).Draw(t, "from"), To: rapid.IntRange(0, n-1).Draw(t, "to")}
		if rapid.IntRange(0, 4).Draw(t, "labelled") > 0 {
			e.W, e.H = rapid.Float64Range(5, 180).Draw(t, "lw"), rapid.Float64Range(8, 80).Draw(t, "lh")
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

func TestPlaceProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := random(t, 12)
		l := place(g)
		r := l.result()
		report := check(t, g, r)
		if most := l.crossings(); report.Crossings > most {
			t.Errorf("the layers have %d crossings, the drawing %d: %q", most, report.Crossings, report.Found)
		}
		if diff := cmp.Diff(r, Place(g)); diff != "" {
			t.Errorf("the same graph gets two places:\n%s", diff)
		}
	})
}

// An edge whose ends have no other leads downwards, whatever the order of its ends.
func TestPlaceLone(t *testing.T) {
	t.Parallel()
	box := Node{W: 60, H: 20}
	g := Graph{
		Nodes: []Node{box, box, box, box},
		Edges: []Edge{{From: 0, To: 1}, {From: 3, To: 2}},
	}
	if back := backByOrder(&g); slices.Contains(back, true) {
		t.Errorf("edges that are turned: %v", back)
	}
	r := Place(g)
	check(t, g, r)
	if from, to := r.Nodes[3], r.Nodes[2]; from.Y >= to.Y {
		t.Errorf("the lone edge leads from %v to %v", from, to)
	}
}

// An edge gives way by up to three units to be straight, but it stays at the
// rim of a node that is narrower than that.
func TestPlaceNarrow(t *testing.T) {
	t.Parallel()
	for _, n := range []Node{{W: 4, H: 20, Diamond: true}, {W: 4, H: 20, Round: true}} {
		g := Graph{Nodes: []Node{n, {W: 60, H: 20}, {W: 50, H: 20}}, Edges: []Edge{{From: 2, To: 0}, {From: 0, To: 2}}}
		r := Place(g)
		last := r.Edges[0].Pieces[len(r.Edges[0].Pieces)-1]
		b := r.Nodes[0]
		for _, at := range []Point{last[len(last)-1], r.Edges[1].Pieces[0][0]} {
			if at.X < b.X || at.X > b.X+b.W {
				t.Errorf("an edge meets a node that reaches from %v to %v at %v", b.X, b.X+b.W, at.X)
			}
		}
	}
}

// Two hundred states with four hundred edges are placed while one waits. The
// bound is far above what it takes (0.3 s here): it finds what does not end.
func TestPlaceLarge(t *testing.T) {
	t.Parallel()
	var g Graph
	const n = 200
	for i := range n {
		g.Nodes = append(g.Nodes, Node{W: 60 + float64(i%7)*15, H: 30})
	}
	seed := uint32(1)
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	for i := 1; i < n; i++ {
		g.Edges = append(g.Edges, Edge{From: max(0, i-1-next(4)), To: i, W: 70, H: 28})
	}
	for range n {
		from := next(n)
		to := min(n-1, max(0, from+next(24)-12))
		g.Edges = append(g.Edges, Edge{From: from, To: to, W: 50 + float64(next(50)), H: 28})
	}
	begin := time.Now()
	r := Place(g)
	took := time.Since(begin)
	report := check(t, g, r)
	t.Logf("%d states, %d edges: %v, %d crossings, %.0f × %.0f", n, len(g.Edges), took, report.Crossings, r.W, r.H)
	if took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// The simplex finds what trying everything finds.
func TestSolve(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "n")
		var arcs []arc
		for to := 1; to < n; to++ { // connected, and without a cycle
			arcs = append(arcs, arc{rapid.IntRange(0, to-1).Draw(t, "from"), to, rapid.IntRange(0, 2).Draw(t, "length"), rapid.IntRange(0, 4).Draw(t, "weight")})
		}
		for range rapid.IntRange(0, 5).Draw(t, "more") {
			to := rapid.IntRange(1, n-1).Draw(t, "to")
			arcs = append(arcs, arc{rapid.IntRange(0, to-1).Draw(t, "from"), to, rapid.IntRange(0, 2).Draw(t, "length"), rapid.IntRange(0, 4).Draw(t, "weight")})
		}
		got := costOf(arcs, solve(n, arcs))
		if got < 0 {
			t.Fatalf("an arc is too short: %v", arcs)
		}
		const top = 8
		best, at := -1, make([]int, n)
		for {
			if c := costOf(arcs, at); c >= 0 && (best < 0 || c < best) {
				best = c
			}
			i := 0
			for ; i < n; i++ {
				if at[i]++; at[i] <= top {
					break
				}
				at[i] = 0
			}
			if i == n {
				break
			}
		}
		if got != best {
			t.Errorf("the cost is %d, the least is %d: %v", got, best, arcs)
		}
	})
}

// costOf returns what the positions cost, or -1 when an arc is not met.
func costOf(arcs []arc, at []int) int {
	sum := 0
	for _, a := range arcs {
		d := at[a.to] - at[a.from]
		if d < a.length {
			return -1
		}
		sum += d * a.weight
	}
	return sum
}
