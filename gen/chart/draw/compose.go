package draw

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/layout"
)

// words is a line of a label, with the piece behind it that has a colour of its
// own.
type words struct {
	kind       kind
	class      string
	text       string
	count      string
	countClass string
	begins     bool // a step begins here, and it is not the first
	step       *chart.Step
}

func (w words) width() float64 {
	n := w.kind.width(w.text)
	if w.count != "" {
		n += lineText.width(" " + w.count)
	}
	return n
}

const (
	pillX, pillY = 5.0, 3.0 // between a label and the rim around it
	boxX, boxY   = 12.0, 7.0
	stepGap      = 5.0 // between two steps in one label
)

// label returns the lines of an edge and their size with the rim.
func label(c *chart.Chart, e *chart.Edge) (ls []words, w, h float64) {
	never := c.NeverTaken(e)
	shade := func(class string) string {
		if never {
			return "never"
		}
		return class
	}
	for i := range e.Steps {
		s := e.Steps[i]
		from := len(ls)
		if !s.Branch {
			ls = append(ls, words{kind: nameText, class: shade("op"), text: s.Operation.Name + e.Colon(s)})
		}
		inGuard := false
		for _, l := range s.Lines {
			class := "line"
			inGuard = inGuard || strings.HasPrefix(l, "[")
			if inGuard || s.Branch {
				class = "guard"
			}
			if inGuard && strings.HasSuffix(l, "]") {
				inGuard = false
			}
			ls = append(ls, words{kind: lineText, class: shade(class), text: l})
		}
		t := c.Taken(s)
		if len(ls) == from {
			if t != "" {
				ls = append(ls, words{kind: lineText, class: shade("count"), text: t, step: &e.Steps[i], begins: i > 0})
			}
			continue
		}
		if t != "" {
			ls[from].count, ls[from].countClass = t, shade("count")
		}
		ls[from].begins = i > 0
		for k := range ls[from:] {
			ls[from+k].step = &e.Steps[i]
		}
	}
	for _, l := range ls {
		w = max(w, l.width())
		h += l.kind.line()
		if l.begins {
			h += stepGap
		}
	}
	if len(ls) == 0 {
		return nil, 0, 0
	}
	return ls, w + 2*pillX, h + 2*pillY
}

// machine draws the states and edges of a chart.
func machine(c *chart.Chart) *scene {
	var g layout.Graph
	nodes := slices.DeleteFunc(order(c), func(n *chart.Node) bool { return stays(c, n) })
	at := make(map[*chart.Node]int, len(nodes))
	for i, n := range nodes {
		at[n] = i
		w, h := size(n)
		g.Nodes = append(g.Nodes, layout.Node{W: w, H: h, Diamond: n.Kind == chart.Choice, Round: n.Kind == chart.Start})
	}
	var edges []*chart.Edge
	var labels [][]words
	left := make(map[*chart.Node]bool) // nodes whose first edge was met
	for _, e := range c.Edges {
		if len(e.Steps) == 0 || stays(c, e.From) { // the rim of a state says that records end there
			continue
		}
		ls, w, h := label(c, e)
		edges, labels = append(edges, e), append(labels, ls)
		weight := 1
		if !left[e.From] && !e.Loop() { // the way that the author wrote down first is straight
			left[e.From], weight = true, 3
		}
		g.Edges = append(g.Edges, layout.Edge{From: at[e.From], To: at[e.To], W: w, H: h, Weight: weight})
	}
	r := place(g)
	s := &scene{w: r.W, h: r.H}
	if len(nodes) > 0 {
		s.axis = r.Nodes[0].X + r.Nodes[0].W/2
	}
	for i, e := range edges {
		s.edge(c, e, r.Edges[i])
	}
	for i, n := range nodes {
		s.node(n, r.Nodes[i])
	}
	for i, e := range edges {
		s.label(c, e, labels[i], r.Edges[i].Label)
	}
	return s
}

// stays reports whether n is a group which no arrow leaves: what its states do
// without leaving them stands in a panel.
func stays(c *chart.Chart, n *chart.Node) bool {
	return n.Kind == chart.Group && !slices.ContainsFunc(c.Edges, func(e *chart.Edge) bool { return e.From == n && !e.Loop() })
}

// pageWidth is the width of text in most places that show a picture: what is
// wider is made smaller there, letters included.
const pageWidth = 700.0

// manyEdges is the number of edges from which one way to place them is enough.
const manyEdges = 150

// place leads a machine from top to bottom. When it is wider than a page, it
// also tries the edges in the opposite order, and from left to right, and takes
// the narrowest.
func place(g layout.Graph) layout.Result {
	best := layout.Place(g)
	if best.W+2*margin <= pageWidth || len(g.Edges) > manyEdges {
		return best
	}
	turned := layout.Graph{Nodes: g.Nodes, Edges: slices.Clone(g.Edges)}
	slices.Reverse(turned.Edges)
	other := layout.Place(turned)
	slices.Reverse(other.Edges)
	for _, r := range []layout.Result{other, layout.PlaceAcross(g)} {
		if r.W < best.W {
			best = r
		}
	}
	return best
}

// order returns the nodes that are drawn: the start first, then the states in
// the order of the machine, the choice points, and an end where a branch leads
// to it.
func order(c *chart.Chart) []*chart.Node {
	var nodes, ends []*chart.Node
	for _, e := range c.Edges {
		if e.From.Kind == chart.Start && len(nodes) == 0 {
			nodes = append(nodes, e.From)
		}
		if e.To.Kind == chart.End && len(e.Steps) > 0 && len(ends) == 0 {
			ends = append(ends, e.To)
		}
	}
	return append(append(nodes, c.Nodes...), ends...)
}

// size returns the size of a node.
func size(n *chart.Node) (w, h float64) {
	switch n.Kind {
	case chart.Start:
		return 16, 16
	case chart.End:
		return 18, 18
	case chart.Choice:
		return 30, 26
	case chart.Group:
		for _, l := range n.Notes {
			w = max(w, lineText.width(l))
			h += lineText.line()
		}
		return w + 2*pillX, h + 2*pillY
	}
	w, h = stateText.width(n.Name), stateText.line()
	for _, l := range n.Notes {
		w = max(w, noteText.width(l))
		h += noteText.line()
	}
	return max(64, w+2*boxX), h + 2*boxY
}

func (s *scene) node(n *chart.Node, r layout.Rect) {
	switch n.Kind {
	case chart.Start:
		s.circle("dot", r)
	case chart.End:
		s.circle("ring", r)
		s.circle("dot", layout.Rect{X: r.X + 4, Y: r.Y + 4, W: r.W - 8, H: r.H - 8})
	case chart.Choice:
		s.add(shape{class: "choice", form: formLines, closed: true, points: []layout.Point{
			{X: r.X + r.W/2, Y: r.Y}, {X: r.X + r.W, Y: r.Y + r.H/2}, {X: r.X + r.W/2, Y: r.Y + r.H}, {X: r.X, Y: r.Y + r.H/2},
		}})
	case chart.Group:
		s.add(shape{class: "group", form: formRect, rect: r, round: 3})
		y := r.Y + (r.H-float64(len(n.Notes))*lineText.line())/2
		for _, l := range n.Notes {
			s.text("line", lineText, r.X+r.W/2, y, false, l)
			y += lineText.line()
		}
	default:
		s.state(n, r)
	}
}

func (s *scene) state(n *chart.Node, r layout.Rect) {
	role := n.Role.String()
	class := "box-" + role
	if n.Focus {
		class = "focus-" + role
	}
	s.add(shape{class: class, form: formRect, rect: r, round: 9, tip: n.State.Doc})
	if n.State.Terminal || n.State.Final {
		s.rect("rim-"+role, layout.Rect{X: r.X + 3, Y: r.Y + 3, W: r.W - 6, H: r.H - 6}, 6.5)
	}
	s.hits = append(s.hits, hit{rect: r, state: n.Name, tip: n.State.Doc})
	_, h := size(n)
	y := r.Y + (r.H-h)/2 + boxY
	if n.Timed {
		s.clock(role, r.X+r.W-clockSize-3, r.Y+3)
	}
	s.text("name-"+role, stateText, r.X+r.W/2, y, false, n.Name)
	y += stateText.line()
	for _, l := range n.Notes {
		s.text("name-"+role, noteText, r.X+r.W/2, y, false, l)
		y += noteText.line()
	}
}

// clockSize is less than the room beside the name of a state.
const clockSize = 9.0

// clock draws the mark of a state that the system leaves after a deadline.
func (s *scene) clock(role string, x, y float64) {
	const half = clockSize / 2
	s.circle("clock-"+role, layout.Rect{X: x, Y: y, W: clockSize, H: clockSize})
	s.add(shape{class: "clock-" + role, form: formLines, points: []layout.Point{
		{X: x + half, Y: y + 2}, {X: x + half, Y: y + half}, {X: x + half + 2.5, Y: y + half},
	}})
}

// edge draws the line of an edge and its tip.
func (s *scene) edge(c *chart.Chart, e *chart.Edge, r layout.Route) {
	class, tip, width := "edge", "tip", 0.0
	switch {
	case c.NeverTaken(e):
		class, tip = "seldom", "seldomt"
	case c.Weighed && e.Count > 0:
		width = c.Width(e, 6)
		fallthrough
	default:
		if c.GaveUp(e) {
			class = "ended"
		}
	}
	last := len(r.Pieces) - 1
	w := &way{}
	if e.From.State != nil {
		w.from = e.From.Name
	}
	if e.To.State != nil {
		w.to = e.To.Name
	}
	for _, st := range e.Steps {
		w.operations = append(w.operations, st.Operation.Name)
	}
	for i, p := range r.Pieces {
		points := append([]layout.Point(nil), p...)
		if i == last {
			head := arrow(points, width)
			s.add(shape{class: class, form: formCurve, points: points, width: width, way: w})
			s.add(shape{class: tip, form: formLines, closed: true, points: head})
			continue
		}
		s.add(shape{class: class, form: formCurve, points: points, width: width, way: w})
	}
}

func (s *scene) label(c *chart.Chart, e *chart.Edge, ls []words, r layout.Rect) {
	if len(ls) == 0 {
		return
	}
	s.add(shape{class: "pill", form: formRect, rect: r, round: 6, tip: docOf(e)})
	y := r.Y + pillY
	var at *hit
	for i, l := range ls {
		if i == 0 || l.begins {
			s.hits = append(s.hits, hit{rect: layout.Rect{X: r.X, Y: y - pillY/2, W: r.W, H: pillY}, operation: l.step.Operation.Name, tip: l.step.Operation.Doc})
			at = &s.hits[len(s.hits)-1]
			if l.begins {
				at.rect.Y += stepGap
			}
		}
		at.rect.H += l.kind.line()
		if l.begins {
			y += stepGap/2 - 0.5
			s.add(shape{class: "pill", form: formLines, points: []layout.Point{{X: r.X + 1, Y: y}, {X: r.X + r.W - 1, Y: y}}})
			y += stepGap/2 + 0.5
		}
		if l.count == "" {
			s.text(l.class, l.kind, r.X+r.W/2, y, false, l.text)
		} else {
			x := r.X + (r.W-l.width())/2
			s.text(l.class, l.kind, x, y, true, l.text)
			s.text(l.countClass, lineText, x+l.kind.width(l.text)+lineText.width(" "), y+(l.kind.line()-lineText.line())/2, true, l.count)
		}
		y += l.kind.line()
	}
}

// docOf returns what is written about the operations of an edge.
func docOf(e *chart.Edge) string {
	var docs []string
	for _, s := range e.Steps {
		if s.Operation.Doc != "" && !s.Branch {
			docs = append(docs, s.Operation.Name+": "+s.Operation.Doc)
		}
	}
	return strings.Join(docs, "\n")
}
