package draw

import "github.com/fsmgen/fsmgen/gen/chart/layout"

// scene is a picture as shapes and texts, in the order of painting.
type scene struct {
	w, h   float64
	axis   float64 // of a machine alone: the middle of its start, which stands below the heading where there is room; 0: none
	title  string
	desc   string
	shapes []shape
	hits   []hit // what one can point at: for [Live] alone
}

// hit is a place that stands for a state or for an operation.
type hit struct {
	rect             layout.Rect
	state, operation string // one of them
	tip              string
}

// shape is one of: a rectangle, a path, a circle, a text.
type shape struct {
	class string
	form  form
	tip   string // what a viewer shows when one points at it; "" for none

	rect   layout.Rect // formRect; formCircle: around it
	round  float64     // formRect: the radius of the corners
	points []layout.Point
	closed bool    // formLines
	width  float64 // of the stroke; 0: that of the class
	way    *way    // of the line of an edge; for [Live] alone

	text string // formText: one line
	kind kind
	at   layout.Point // formText: the middle (or the left end) of its base line
	left bool         // formText: at is the left end
}

// way says between which states an edge leads ("" for a choice point or the
// start), and by which operations.
type way struct {
	from, to   string
	operations []string
}

// form is the form of a shape.
type form uint8

const (
	formRect   form = iota + 1
	formCircle      // within rect
	formCurve       // points: a start, then two control points and an end for each curve
	formLines       // points: straight lines
	formText
)

func (s *scene) add(sh shape) { s.shapes = append(s.shapes, sh) }

func (s *scene) rect(class string, r layout.Rect, round float64) {
	s.add(shape{class: class, form: formRect, rect: r, round: round})
}

func (s *scene) circle(class string, r layout.Rect) {
	s.add(shape{class: class, form: formCircle, rect: r})
}

// text adds a line whose middle, or with left its left end, is at x, and whose
// letters stand in the middle of the line of text that begins at top.
func (s *scene) text(class string, k kind, x, top float64, left bool, t string) {
	const base = 0.35 // how far the base line is below the middle, in sizes
	s.add(shape{class: class, form: formText, kind: k, at: layout.Point{X: x, Y: top + k.line()/2 + k.size*base}, left: left, text: t})
}

// paste adds another picture at (x, y).
func (s *scene) paste(o *scene, x, y float64) {
	for _, sh := range o.shapes {
		sh.rect.X, sh.rect.Y = sh.rect.X+x, sh.rect.Y+y
		sh.at.X, sh.at.Y = sh.at.X+x, sh.at.Y+y
		points := make([]layout.Point, len(sh.points))
		for i, p := range sh.points {
			points[i] = layout.Point{X: p.X + x, Y: p.Y + y}
		}
		sh.points = points
		s.add(sh)
	}
	for _, h := range o.hits {
		h.rect.X, h.rect.Y = h.rect.X+x, h.rect.Y+y
		s.hits = append(s.hits, h)
	}
}
