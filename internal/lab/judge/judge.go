// Package judge counts what makes a drawing of a graph hard to read: edges that
// cross, and boxes, labels and edges that lie on each other. It knows geometry
// only, so that drawings of different programs are counted by one measure. It
// is for tests and is no part of the command.
package judge

import (
	"fmt"
	"math"
)

// Point is a place; Y grows downwards.
type Point struct{ X, Y float64 }

// Box is a rectangle.
type Box struct {
	Name       string
	X, Y, W, H float64
}

// Edge is a line between two boxes, as straight pieces.
type Edge struct {
	Name     string
	From, To string    // names of boxes
	Lines    [][]Point // more than one where the edge is broken for its label
	Label    Box       // W 0: none
}

// Drawing is what is judged.
type Drawing struct {
	Boxes []Box
	Edges []Edge
}

// Report is what is wrong.
type Report struct {
	Crossings  int     // of edges
	BoxBox     int     // boxes on boxes
	LabelBox   int     // labels on boxes
	LabelLabel int     // labels on labels
	LabelEdge  int     // labels on edges of others
	EdgeBox    int     // edges through boxes that are not their ends
	Length     float64 // of all edges
	Width      float64
	Height     float64
	Found      []string // what lies on what
}

// Overlaps is the number of things that lie on each other, crossings excluded.
func (r *Report) Overlaps() int {
	return r.BoxBox + r.LabelBox + r.LabelLabel + r.LabelEdge + r.EdgeBox
}

// slack is how much two things may share before they count as overlapping.
const slack = 1.0

// Judge counts.
func Judge(d Drawing) Report {
	var r Report
	r.boxes(d)
	for i := range d.Edges {
		r.edge(d, i)
	}
	r.extent(d)
	return r
}

func (r *Report) found(format string, args ...any) {
	r.Found = append(r.Found, fmt.Sprintf(format, args...))
}

func overlap(a, b Box) bool {
	return min(a.X+a.W, b.X+b.W)-max(a.X, b.X) > slack && min(a.Y+a.H, b.Y+b.H)-max(a.Y, b.Y) > slack
}

func (r *Report) boxes(d Drawing) {
	for i, a := range d.Boxes {
		for _, b := range d.Boxes[i+1:] {
			if overlap(a, b) {
				r.BoxBox++
				r.found("the boxes %s and %s", a.Name, b.Name)
			}
		}
	}
	for i, e := range d.Edges {
		if e.Label.W == 0 {
			continue
		}
		for _, b := range d.Boxes {
			if overlap(e.Label, b) {
				r.LabelBox++
				r.found("the label of %s and the box %s", e.Name, b.Name)
			}
		}
		for _, o := range d.Edges[i+1:] {
			if o.Label.W > 0 && overlap(e.Label, o.Label) {
				r.LabelLabel++
				r.found("the labels of %s and %s", e.Name, o.Name)
			}
		}
	}
}

func (r *Report) edge(d Drawing, i int) {
	e := &d.Edges[i]
	for _, b := range d.Boxes {
		if b.Name != e.From && b.Name != e.To && through(e.Lines, b) {
			r.EdgeBox++
			r.found("the edge %s and the box %s", e.Name, b.Name)
		}
	}
	for j, o := range d.Edges {
		if j != i && o.Label.W > 0 && through(e.Lines, o.Label) {
			r.LabelEdge++
			r.found("the edge %s and the label of %s", e.Name, o.Name)
		}
		if j > i {
			if n := cross(e.Lines, o.Lines); n > 0 {
				r.Crossings += n
				r.found("the edges %s and %s cross", e.Name, o.Name)
			}
		}
	}
}

// through reports whether a line runs through the inside of b.
func through(lines [][]Point, b Box) bool {
	b.X, b.Y, b.W, b.H = b.X+slack, b.Y+slack, b.W-2*slack, b.H-2*slack
	if b.W <= 0 || b.H <= 0 {
		return false
	}
	for _, l := range lines {
		if !meetsBox(around(l), b) {
			continue
		}
		for k := 1; k < len(l); k++ {
			if clips(l[k-1], l[k], b) {
				return true
			}
		}
	}
	return false
}

// clips reports whether the piece from p to q meets b.
func clips(p, q Point, b Box) bool {
	from, to := 0.0, 1.0
	for _, c := range [4][2]float64{
		{p.X - q.X, p.X - b.X}, {q.X - p.X, b.X + b.W - p.X},
		{p.Y - q.Y, p.Y - b.Y}, {q.Y - p.Y, b.Y + b.H - p.Y},
	} {
		switch d, room := c[0], c[1]; {
		case d == 0 && room < 0:
			return false
		case d < 0:
			from = max(from, room/d)
		case d > 0:
			to = min(to, room/d)
		}
	}
	return from < to
}

// cross counts how often two edges cross.
func cross(a, b [][]Point) int {
	n := 0
	for _, l := range a {
		for _, m := range b {
			if r, s := around(l), around(m); !meetsBox(r, s) {
				continue
			}
			n += crossLines(l, m)
		}
	}
	return n
}

// around returns the rectangle around a line.
func around(l []Point) Box {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range l {
		left, right, top, bottom = min(left, p.X), max(right, p.X), min(top, p.Y), max(bottom, p.Y)
	}
	return Box{X: left, Y: top, W: right - left, H: bottom - top}
}

func meetsBox(a, b Box) bool {
	return a.X <= b.X+b.W && b.X <= a.X+a.W && a.Y <= b.Y+b.H && b.Y <= a.Y+a.H
}

func crossLines(l, m []Point) int {
	n := 0
	for i := 1; i < len(l); i++ {
		for j := 1; j < len(m); j++ {
			if meets(l[i-1], l[i], m[j-1], m[j]) {
				n++
			}
		}
	}
	return n
}

// meets reports whether two pieces cross inside.
func meets(p, q, s, t Point) bool {
	if max(p.X, q.X) < min(s.X, t.X) || max(s.X, t.X) < min(p.X, q.X) ||
		max(p.Y, q.Y) < min(s.Y, t.Y) || max(s.Y, t.Y) < min(p.Y, q.Y) {
		return false
	}
	side := func(a, b, c Point) float64 { return (b.X-a.X)*(c.Y-a.Y) - (b.Y-a.Y)*(c.X-a.X) }
	return side(p, q, s)*side(p, q, t) < 0 && side(s, t, p)*side(s, t, q) < 0
}

func (r *Report) extent(d Drawing) {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	add := func(x, y float64) {
		left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
	}
	for _, b := range d.Boxes {
		add(b.X, b.Y)
		add(b.X+b.W, b.Y+b.H)
	}
	for _, e := range d.Edges {
		for _, l := range e.Lines {
			for k, p := range l {
				add(p.X, p.Y)
				if k > 0 {
					r.Length += math.Hypot(p.X-l[k-1].X, p.Y-l[k-1].Y)
				}
			}
		}
		if e.Label.W > 0 {
			add(e.Label.X, e.Label.Y)
			add(e.Label.X+e.Label.W, e.Label.Y+e.Label.H)
		}
	}
	if len(d.Boxes) > 0 {
		r.Width, r.Height = right-left, bottom-top
	}
}

// Flatten makes straight pieces of cubic Bézier curves: a start, and then two
// control points and an end each.
func Flatten(curve []Point) []Point {
	const steps = 16
	line := []Point{curve[0]}
	for i := 3; i < len(curve); i += 3 {
		a, b, c, d := curve[i-3], curve[i-2], curve[i-1], curve[i]
		for k := 1; k <= steps; k++ {
			t := float64(k) / steps
			u := 1 - t
			line = append(line, Point{
				u*u*u*a.X + 3*u*u*t*b.X + 3*u*t*t*c.X + t*t*t*d.X,
				u*u*u*a.Y + 3*u*u*t*b.Y + 3*u*t*t*c.Y + t*t*t*d.Y,
			})
		}
	}
	return line
}
