package draw

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/layout"
	"github.com/fsmgen/fsmgen/spec"
)

const (
	panelWidth = 380.0 // of the text in a panel at most
	panelPad   = 11.0
	panelGap   = 16.0 // between panels
)

// entry is a line of a panel: a name, and what is said of it.
type entry struct {
	name, class, text string
	operation         *spec.Operation // that the name is of; nil for none
}

// panel draws a list with a head; nil when there is nothing in it.
func panel(head string, entries []entry) *scene {
	if len(entries) == 0 {
		return nil
	}
	s := &scene{w: panelHead.width(head)}
	inside := &scene{}
	inside.text("op", panelHead, panelPad, panelPad-3, true, head)
	y := panelPad + panelHead.line()
	indent := 0.0
	for _, e := range entries {
		indent = max(indent, panelText.width(e.name+"   "))
	}
	rest := max(panelWidth-indent, panelWidth/2)
	for _, e := range entries {
		lines := panelText.wrap(e.text, rest)
		inside.text(e.class, panelText, panelPad, y, true, e.name)
		if e.operation != nil {
			inside.hits = append(inside.hits, hit{rect: layout.Rect{X: panelPad - 4, Y: y, W: indent, H: panelText.line()}, operation: e.operation.Name, tip: e.operation.Doc})
		}
		s.w = max(s.w, panelText.width(e.name))
		for i, l := range lines {
			if i > 0 {
				y += panelText.line()
			}
			inside.text("line", panelText, panelPad+indent, y, true, l)
			s.w = max(s.w, indent+panelText.width(l))
		}
		y += panelText.line() + 2
	}
	s.w += 2 * panelPad
	s.h = y + panelPad - 4
	s.rect("panel", layout.Rect{W: s.w, H: s.h}, 8)
	s.paste(inside, 0, 0)
	return s
}

func guardPanel(c *chart.Chart) *scene {
	var es []entry
	for _, g := range c.Guards {
		es = append(es, entry{name: "[" + g.Name + "]", class: "guard", text: g.Meaning})
	}
	return panel("Guards", es)
}

// stayPanel lists what many states do without leaving them.
func stayPanel(c *chart.Chart) *scene {
	var es []entry
	for _, e := range c.Edges {
		if !stays(c, e.From) {
			continue
		}
		for _, st := range e.Steps {
			text := strings.Join(append([]string{"in " + strings.Join(e.From.Notes, " ")}, st.Lines...), ", ")
			if t := c.Taken(st); t != "" {
				text += " " + t
			}
			es = append(es, entry{name: st.Operation.Name, class: "op", text: text, operation: st.Operation})
		}
	}
	return panel("Without leaving the state", es)
}

func neverPanel(c *chart.Chart) *scene {
	var es []entry
	for _, f := range c.Never {
		es = append(es, entry{name: f.From.State.Name + " → " + f.To.State.Name, class: "op", text: f.Reason})
	}
	return panel("Never possible", es)
}

// derivedPanel draws the projection as a machine in a frame.
func derivedPanel(c *chart.Chart) *scene {
	d := c.Derived()
	if d == nil {
		return nil
	}
	at := make(map[string]int)
	g := layout.Graph{Nodes: []layout.Node{{W: 16, H: 16, Round: true}}}
	texts := make([][]string, len(d.States))
	for i, st := range d.States {
		at[st.Name] = i + 1
		w, h := stateText.width(st.Name), stateText.line()
		for _, rule := range st.Rules {
			for _, l := range noteText.wrap(rule, 170) {
				texts[i] = append(texts[i], l)
				w = max(w, noteText.width(l))
				h += noteText.line()
			}
		}
		g.Nodes = append(g.Nodes, layout.Node{W: w + 2*boxX, H: h + 2*boxY})
	}
	if d.Start != "" {
		g.Edges = append(g.Edges, layout.Edge{From: 0, To: at[d.Start]})
	}
	for _, m := range d.Moves {
		g.Edges = append(g.Edges, layout.Edge{From: at[m[0]], To: at[m[1]]})
	}
	r := layout.Place(g)
	inside := &scene{}
	for _, e := range r.Edges {
		points := e.Pieces[0]
		head := arrow(points, 0)
		inside.add(shape{class: "edge", form: formCurve, points: points})
		inside.add(shape{class: "tip", form: formLines, closed: true, points: head})
	}
	if d.Start != "" {
		inside.circle("dot", r.Nodes[0])
	}
	for i, st := range d.States {
		b := r.Nodes[i+1]
		role := chart.Normal.String()
		switch {
		case st.Ends:
			role = chart.Terminal.String()
		case st.Name == d.Start:
			role = chart.Initial.String()
		}
		inside.rect("box-"+role, b, 9)
		if st.Ends {
			inside.rect("rim-"+role, layout.Rect{X: b.X + 3, Y: b.Y + 3, W: b.W - 6, H: b.H - 6}, 6.5)
		}
		y := b.Y + boxY
		inside.text("name-"+role, stateText, b.X+b.W/2, y, false, st.Name)
		y += stateText.line()
		for _, l := range texts[i] {
			inside.text("name-"+role, noteText, b.X+b.W/2, y, false, l)
			y += noteText.line()
		}
	}
	heads := panelHead.wrap(d.Title, max(r.W, 260))
	s := &scene{w: r.W}
	for _, h := range heads {
		s.w = max(s.w, panelHead.width(h))
	}
	top := panelPad + float64(len(heads))*panelHead.line() + 8
	s.w += 2 * (panelPad + 6)
	s.h = top + r.H + panelPad + 8
	s.rect("derived", layout.Rect{W: s.w, H: s.h}, 10)
	for i, h := range heads {
		s.text("summary", panelHead, s.w/2, panelPad-2+float64(i)*panelHead.line(), false, h)
	}
	s.paste(inside, (s.w-r.W)/2, top)
	return s
}

// meanings explain the colours.
var meanings = map[chart.Role]string{
	chart.Initial: "initial", chart.Normal: "active", chart.Final: "final: may be reopened",
	chart.Terminal: terminal, chart.Success: "success", chart.Trouble: "trouble", chart.Outside: "in another region",
}

const terminal = "terminal: nothing leaves it"

// legend explains the colours and signs that occur, in rows of about width.
func legend(c *chart.Chart, width float64) *scene {
	const row, gap = 19.0, 18.0
	s := &scene{}
	x, y := 0.0, 0.0
	item := func(w float64, t string, draw func()) {
		if all := w + 6 + panelText.width(t); x > 0 && x+all > width {
			x, y = 0, y+row
		}
		draw()
		s.text("summary", panelText, x+w+6, y-1, true, t)
		x += w + 6 + panelText.width(t) + gap
		s.w, s.h = max(s.w, x-gap), y+row-4
	}
	box := func(role string, ends bool) func() {
		return func() {
			s.rect("box-"+role, layout.Rect{X: x + 1, Y: y + 1, W: 20, H: 13}, 3.5)
			if ends {
				s.rect("rim-"+role, layout.Rect{X: x + 3.5, Y: y + 3.5, W: 15, H: 8}, 2)
			}
		}
	}
	ends := false // in a colour of their own
	for _, r := range c.Roles() {
		if c.Regions {
			break
		}
		ends = ends || r == chart.Terminal
		item(22, meanings[r], box(r.String(), r == chart.Terminal || r == chart.Final))
	}
	if !ends && slices.ContainsFunc(c.Nodes, func(n *chart.Node) bool { return n.State != nil && n.State.Terminal }) {
		item(22, terminal, box(chart.Normal.String(), true))
	}
	if slices.ContainsFunc(c.Nodes, func(n *chart.Node) bool { return n.Timed }) {
		item(clockSize, "left after a deadline", func() { s.clock(chart.Normal.String(), x, y+2) })
	}
	for _, n := range c.Nodes {
		if n.Kind == chart.Choice {
			what := "choice: first match wins"
			if c.Detail == chart.Brief {
				what = "one of these"
			}
			item(14, what, func() { s.node(n, layout.Rect{X: x, Y: y, W: 14, H: 14}) })
			break
		}
	}
	if slices.ContainsFunc(c.Edges, c.GaveUp) {
		item(24, "an effect gave up", func() {
			s.add(shape{class: "ended", form: formLines, points: []layout.Point{{X: x, Y: y + 7}, {X: x + 24, Y: y + 7}}})
		})
	}
	if c.Weighed {
		item(24, "never taken", func() {
			s.add(shape{class: "seldom", form: formLines, points: []layout.Point{{X: x, Y: y + 7}, {X: x + 24, Y: y + 7}}})
		})
	}
	return s
}
