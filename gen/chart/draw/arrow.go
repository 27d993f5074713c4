package draw

import (
	"math"

	"github.com/fsmgen/fsmgen/gen/chart/layout"
)

// arrow returns the tip at the end of a curve, and shortens the curve so that
// it ends inside of the tip.
func arrow(points []layout.Point, width float64) []layout.Point {
	const length, half = 8.5, 4.0
	grow := 1 + max(0, width-1.3)/6
	n := len(points)
	end, before := points[n-1], points[n-2]
	dx, dy := end.X-before.X, end.Y-before.Y
	d := math.Hypot(dx, dy)
	if d == 0 {
		dx, dy, d = 0, 1, 1
	}
	dx, dy = dx/d, dy/d
	l, h := length*grow, half*grow
	foot := layout.Point{X: end.X - dx*l, Y: end.Y - dy*l}
	points[n-1] = layout.Point{X: end.X - dx*l*0.8, Y: end.Y - dy*l*0.8}
	if d < l { // the control point would stand behind the new end
		points[n-2] = points[n-1]
	}
	return []layout.Point{end, {X: foot.X - dy*h, Y: foot.Y + dx*h}, {X: foot.X + dy*h, Y: foot.Y - dx*h}}
}
