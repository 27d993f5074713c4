package draw

import (
	"fmt"
	"math"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/layout"
)

const margin = 14.0

// compose makes the whole picture: the heading, the machine, and beside or
// below it what explains it, whichever makes the picture less stretched.
func compose(c *chart.Chart) *scene {
	m := machine(c)
	var panels []*scene
	for _, p := range []*scene{derivedPanel(c), stayPanel(c), guardPanel(c), neverPanel(c)} {
		if p != nil {
			panels = append(panels, p)
		}
	}
	body := beside(m, panels)
	if b := below(m, panels); stretch(b) < stretch(body) {
		body = b
	}
	heading, summary := chart.Heading(c.Machine)
	if c.Part != "" {
		heading, summary = c.Title, ""
	}
	width := max(body.w, headingText.width(heading), 340)
	lg := legend(c, width)
	width = max(width, lg.w)
	s := &scene{w: math.Ceil(width + 2*margin), title: c.Title, desc: describe(c)}
	inside := &scene{}
	y := margin - 4
	inside.text("heading", headingText, s.w/2, y, false, heading)
	y += headingText.line()
	for _, l := range summaryText.wrap(summary, width) {
		inside.text("summary", summaryText, s.w/2, y, false, l)
		y += summaryText.line()
	}
	y += 18
	x := (s.w - body.w) / 2
	if below := s.w/2 - body.axis; body.axis > 0 && below >= margin && below+body.w <= s.w-margin {
		x = below
	}
	inside.paste(body, x, y)
	y += body.h + 20
	inside.paste(lg, (s.w-lg.w)/2, y)
	s.h = math.Ceil(y + lg.h + margin - 6)
	s.rect("page", layout.Rect{W: s.w, H: s.h}, 0)
	s.paste(inside, 0, 0)
	return s
}

// stretch is large when a picture is large, or far from the shape of a page.
func stretch(s *scene) float64 { return max(s.w, s.h*1.15) }

// beside puts the panels to the right of the machine, below each other.
func beside(m *scene, panels []*scene) *scene {
	if len(panels) == 0 {
		return m
	}
	column := &scene{}
	for i, p := range panels {
		if i > 0 {
			column.h += panelGap
		}
		column.paste(p, 0, column.h)
		column.h += p.h
		column.w = max(column.w, p.w)
	}
	s := &scene{w: m.w + 2*panelGap + column.w, h: max(m.h, column.h)}
	s.paste(m, 0, 0)
	s.paste(column, m.w+2*panelGap, 0)
	return s
}

// below puts the panels under the machine, beside each other while there is
// room.
func below(m *scene, panels []*scene) *scene {
	if len(panels) == 0 {
		return m
	}
	width := m.w
	for _, p := range panels {
		width = max(width, p.w)
	}
	var rows [][]*scene
	used := 0.0
	for _, p := range panels {
		if len(rows) == 0 || used+panelGap+p.w > width {
			rows = append(rows, nil)
			used = -panelGap
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], p)
		used += panelGap + p.w
	}
	s := &scene{w: width, h: m.h}
	s.paste(m, (width-m.w)/2, 0)
	for _, row := range rows {
		w, h := -panelGap, 0.0
		for _, p := range row {
			w += panelGap + p.w
			h = max(h, p.h)
		}
		x := (width - w) / 2
		s.h += panelGap
		for _, p := range row {
			s.paste(p, x, s.h)
			x += p.w + panelGap
		}
		s.h += h
	}
	return s
}

// describe says in words what a picture shows, for those who do not see it.
func describe(c *chart.Chart) string {
	var parts []string
	name := func(n *chart.Node, other string) string {
		if n.Name != "" {
			return n.Name
		}
		return other
	}
	for _, e := range c.Edges {
		var ops []string
		for _, s := range e.Steps {
			if len(s.Lines) == 0 {
				ops = append(ops, s.Operation.Name)
			} else {
				ops = append(ops, s.Operation.Name+" ("+strings.Join(s.Lines, " ")+")")
			}
		}
		if len(ops) == 0 {
			continue
		}
		from, to := name(e.From, "a choice"), name(e.To, "a choice")
		if e.From.Kind == chart.Start {
			from = "the start"
		}
		parts = append(parts, fmt.Sprintf("%s leads by %s to %s.", from, strings.Join(ops, ", "), to))
	}
	return strings.Join(parts, " ")
}
