package draw

import (
	"math"

	"github.com/fsmgen/fsmgen/gen/chart/layout"
)

// outline returns a shape as straight pieces, and whether it is an area.
func outline(s shape) (line []layout.Point, closed bool) {
	switch s.form {
	case formRect:
		return roundRect(s.rect, s.round), true
	case formCircle:
		return roundRect(s.rect, s.rect.W/2), true
	case formCurve:
		return flatten(s.points), false
	}
	return append([]layout.Point(nil), s.points...), s.closed
}

// roundRect goes around a rectangle, with a quarter of a circle at each corner.
func roundRect(r layout.Rect, round float64) []layout.Point {
	round = min(round, r.W/2, r.H/2)
	if round <= 0 {
		return []layout.Point{{X: r.X, Y: r.Y}, {X: r.X + r.W, Y: r.Y}, {X: r.X + r.W, Y: r.Y + r.H}, {X: r.X, Y: r.Y + r.H}}
	}
	const steps = 10
	var line []layout.Point
	for corner := range 4 {
		cx, cy := r.X+r.W-round, r.Y+round
		if corner == 1 || corner == 2 {
			cy = r.Y + r.H - round
		}
		if corner >= 2 {
			cx = r.X + round
		}
		for k := range steps + 1 {
			a := (float64(corner-1) + float64(k)/steps) * math.Pi / 2
			line = append(line, layout.Point{X: cx + round*math.Cos(a), Y: cy + round*math.Sin(a)})
		}
	}
	return line
}

// flatten makes straight pieces of cubic curves.
func flatten(c []layout.Point) []layout.Point {
	const steps = 24
	line := []layout.Point{c[0]}
	for i := 3; i < len(c); i += 3 {
		a, b, d, e := c[i-3], c[i-2], c[i-1], c[i]
		if a.X == e.X && b.X == e.X && d.X == e.X {
			line = append(line, e)
			continue
		}
		for k := 1; k <= steps; k++ {
			t := float64(k) / steps
			u := 1 - t
			line = append(line, layout.Point{
				X: u*u*u*a.X + 3*u*u*t*b.X + 3*u*t*t*d.X + t*t*t*e.X,
				Y: u*u*u*a.Y + 3*u*u*t*b.Y + 3*u*t*t*d.Y + t*t*t*e.Y,
			})
		}
	}
	return line
}

// stroke returns the areas that a line of a width covers: one for each piece.
// They share their sides, so that no pixel is covered twice. closed: the line
// ends where it begins.
func stroke(line []layout.Point, closed bool, width, dash float64) [][]layout.Point {
	if dash > 0 {
		if closed {
			line = append(line, line[0])
		}
		var areas [][]layout.Point
		for _, part := range dashes(line, dash) {
			areas = append(areas, stroke(part, false, width, 0)...)
		}
		return areas
	}
	line = distinct(line, closed)
	n := len(line)
	if n < 2 {
		return nil
	}
	side := make([]layout.Point, n) // from each point to the left side of the line
	for i := range line {
		before, behind := normal(line[(i+n-1)%n], line[i]), normal(line[i], line[(i+1)%n])
		if !closed && i == 0 {
			before = behind
		} else if !closed && i == n-1 {
			behind = before
		}
		m := layout.Point{X: before.X + behind.X, Y: before.Y + behind.Y}
		// The corner is further out than the sides, but never like a thorn.
		scale := width / max(m.X*m.X+m.Y*m.Y, 0.5)
		side[i] = layout.Point{X: m.X * scale, Y: m.Y * scale}
	}
	var areas [][]layout.Point
	for i := range n {
		j := (i + 1) % n
		if j == 0 && !closed {
			break
		}
		p, q := line[i], line[j]
		areas = append(areas, []layout.Point{
			{X: p.X - side[i].X, Y: p.Y - side[i].Y}, {X: q.X - side[j].X, Y: q.Y - side[j].Y},
			{X: q.X + side[j].X, Y: q.Y + side[j].Y}, {X: p.X + side[i].X, Y: p.Y + side[i].Y},
		})
	}
	return areas
}

// distinct leaves out points that stand on the one before.
func distinct(line []layout.Point, closed bool) []layout.Point {
	var out []layout.Point
	for _, p := range line {
		if n := len(out); n == 0 || math.Hypot(p.X-out[n-1].X, p.Y-out[n-1].Y) > 1e-6 {
			out = append(out, p)
		}
	}
	if n := len(out); closed && n > 1 && math.Hypot(out[0].X-out[n-1].X, out[0].Y-out[n-1].Y) <= 1e-6 {
		out = out[:n-1]
	}
	return out
}

// normal is the direction across the piece from a to b, of length 1.
func normal(a, b layout.Point) layout.Point {
	d := math.Hypot(b.X-a.X, b.Y-a.Y)
	return layout.Point{X: -(b.Y - a.Y) / d, Y: (b.X - a.X) / d}
}

// dashes cuts a line into pieces of a length, and leaves out each second one.
func dashes(line []layout.Point, length float64) [][]layout.Point {
	var parts [][]layout.Point
	part := []layout.Point{line[0]}
	drawn, left := true, length
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		d := math.Hypot(b.X-a.X, b.Y-a.Y)
		for d > left {
			a = layout.Point{X: a.X + (b.X-a.X)*left/d, Y: a.Y + (b.Y-a.Y)*left/d}
			d -= left
			if drawn {
				parts = append(parts, append(part, a))
			}
			part, drawn, left = []layout.Point{a}, !drawn, length
		}
		part = append(part, b)
		left -= d
	}
	if drawn && len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}
