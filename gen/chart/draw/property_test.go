package draw

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/layout"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/judge"
	"github.com/fsmgen/fsmgen/spec"
)

// contrast is that of two colours, as WCAG counts it.
func contrast(a, b string) float64 {
	luminance := func(s string) float64 {
		c := parse(s)
		part := func(v uint8) float64 {
			x := float64(v) / 255
			if x <= 0.04045 {
				return x / 12.92
			}
			return math.Pow((x+0.055)/1.055, 2.4)
		}
		return 0.2126*part(c.R) + 0.7152*part(c.G) + 0.0722*part(c.B)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// drawn turns a scene back into boxes, labels and lines, by what is painted and
// not by what was planned.
func drawn(s *scene) judge.Drawing {
	var d judge.Drawing
	var line judge.Edge
	for i, sh := range s.shapes {
		box := judge.Box{Name: fmt.Sprint(i), X: sh.rect.X, Y: sh.rect.Y, W: sh.rect.W, H: sh.rect.H}
		if sh.form == formCircle { // what stands in it is the square whose corners lie on its rim
			in := 1 - 1/math.Sqrt2
			box = judge.Box{Name: box.Name, X: box.X + box.W*in/2, Y: box.Y + box.H*in/2, W: box.W * (1 - in), H: box.H * (1 - in)}
		}
		switch {
		case sh.form == formRect && (strings.HasPrefix(sh.class, "box-") || strings.HasPrefix(sh.class, "focus-")),
			sh.form == formRect && sh.class == "pill", sh.form == formRect && sh.class == "panel", sh.form == formCircle && sh.class == "dot":
			d.Boxes = append(d.Boxes, box)
		case sh.form == formCurve:
			points := make([]judge.Point, len(sh.points))
			for k, p := range sh.points {
				points[k] = judge.Point(p)
			}
			line = judge.Edge{Name: fmt.Sprintf("line %d", i), Lines: [][]judge.Point{judge.Flatten(points)}}
			d.Edges = append(d.Edges, line)
		}
	}
	return d
}

// sound holds a picture against what the package promises: no box, label or
// panel on another, no line through one, no text outside of what it stands in.
func sound(t interface{ Errorf(string, ...any) }, s *scene) judge.Report {
	d := drawn(s)
	r := judge.Judge(d)
	if r.Overlaps() > 0 {
		t.Errorf("%d overlaps: %q", r.Overlaps(), r.Found)
	}
	for _, sh := range s.shapes {
		if sh.form != formText {
			continue
		}
		w := sh.kind.width(sh.text)
		b := layout.Rect{X: sh.at.X, Y: sh.at.Y - sh.kind.size*0.75, W: w, H: sh.kind.size * 0.75}
		if !sh.left {
			b.X -= w / 2
		}
		if b.X < 0 || b.Y < 0 || b.X+b.W > s.w || b.Y+b.H > s.h {
			t.Errorf("the text %q leaves the picture", sh.text)
		}
		for _, o := range d.Boxes {
			apart := b.X >= o.X+o.W || b.X+b.W <= o.X || b.Y >= o.Y+o.H || b.Y+b.H <= o.Y
			inside := b.X >= o.X && b.X+b.W <= o.X+o.W && b.Y >= o.Y && b.Y+b.H <= o.Y+o.H
			if !apart && !inside {
				t.Errorf("the text %q hangs over the rim of a box", sh.text)
			}
		}
	}
	return r
}

// wellKnown returns the machines of well-known systems, by name.
func wellKnown(t *testing.T) map[string]*spec.Machine {
	t.Helper()
	files, err := filepath.Glob("../../../examples/machines/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d specifications, expected nine: %v", len(files), err)
	}
	return parsed(t, files)
}

// crossed is how many crossings the pictures of the well-known systems have at
// most, in the order of the details: those of Graphviz have up to 145 with all.
var crossed = map[string][3]int{
	"batchjob": {0, 1, 1}, "checkrun": {0, 0, 1}, "container": {}, "obanjob": {0, 1, 4}, "paymentintent": {3, 4, 17},
	"lift": {0, 0, 1}, "pod": {0, 1, 1}, "riverjob": {0, 3, 9}, "stream": {}, "taskinstance": {8, 15, 76}, "tcp": {1, 1, 2},
}

// The machines of well-known systems have up to 22 operations, so edges cross,
// but nothing lies on anything.
func TestRealAreSound(t *testing.T) {
	t.Parallel()
	for name, m := range wellKnown(t) {
		for i, d := range chart.Details {
			t.Run(name+"/"+d.String(), func(t *testing.T) {
				t.Parallel()
				most, ok := crossed[name]
				if r := sound(t, compose(chart.At(m, d))); !ok || r.Crossings > most[i] {
					t.Errorf("%d crossings, expected %d at most: %q", r.Crossings, most[i], r.Found)
				}
			})
		}
	}
}

// The pictures of the shipped machines are sound, whole and in part, and no two
// edges cross, but for those of TCP.
func TestShippedAreSound(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		for i, d := range chart.Details {
			if r := sound(t, compose(chart.At(m, d))); r.Crossings > crossed[name][i] {
				t.Errorf("%s, %s: %d crossings: %q", name, d, r.Crossings, r.Found)
			}
		}
		for _, st := range m.States {
			c := chart.Of(m)
			if err := c.Focus(st.Name); err != nil {
				t.Fatal(err)
			}
			sound(t, compose(c))
		}
		for _, o := range m.Operations {
			c := chart.Of(m)
			if err := c.Only(o.Name); err != nil {
				t.Fatal(err)
			}
			sound(t, compose(c))
		}
	}
	sound(t, compose(weighed(shipped(t)["lifecycle"])))
}

// machineOf draws a machine of n states: some operations, guards, choices,
// loops, and names and texts that no one would write.
func machineOf(t *rapid.T, n int) *spec.Machine {
	m := &spec.Machine{Entity: "Thing", Doc: rapid.String().Draw(t, "doc"), Otherwise: spec.OtherwiseReject}
	for i := range n {
		m.States = append(m.States, &spec.State{
			Index: i, Name: fmt.Sprintf("s%d%s", i, rapid.StringMatching(`[a-z_]{0,14}`).Draw(t, "state")),
			Terminal: rapid.IntRange(0, 4).Draw(t, "terminal") == 0, Doc: rapid.String().Draw(t, "statedoc"),
		})
	}
	state := func() spec.StateRef { return spec.StateRef{State: rapid.SampledFrom(m.States).Draw(t, "at")} }
	m.Guards = []*spec.Guard{{Name: "guard_a", When: []*spec.Fact{{Text: rapid.String().Draw(t, "fact")}}}, {Name: "guard_of_a_long_name", When: []*spec.Fact{{Text: "x is present"}}}}
	m.Operations = []*spec.Operation{{Name: "make", Creates: []spec.StateRef{{State: m.States[0]}}}}
	for i := range rapid.IntRange(0, 2*n).Draw(t, "operations") {
		o := &spec.Operation{Index: i + 1, Name: fmt.Sprintf("o%d%s", i, rapid.StringMatching(`[a-z_]{0,12}`).Draw(t, "operation")), By: spec.ByCaller}
		from := []*spec.State{}
		for range rapid.IntRange(1, 3).Draw(t, "froms") {
			r := state()
			seen := false
			for _, f := range from {
				seen = seen || f == r.State
			}
			if !seen {
				from = append(from, r.State)
				o.From = append(o.From, r)
			}
		}
		to := state()
		if rapid.IntRange(0, 4).Draw(t, "choose") == 0 {
			other := state()
			o.Choose = []*spec.Branch{{When: []*spec.Fact{{Text: rapid.String().Draw(t, "when")}}, To: &other}, {To: &to}}
		} else {
			o.To = &to
		}
		for _, g := range m.Guards {
			if rapid.Bool().Draw(t, "guarded") {
				o.Require = append(o.Require, &spec.Requirement{Guard: g})
			}
		}
		m.Operations = append(m.Operations, o)
	}
	m.Forbidden = []*spec.Forbidden{{From: state(), To: state(), Reason: rapid.String().Draw(t, "reason")}}
	return m
}

func TestAnyMachine(t *testing.T) {
	t.Parallel()
	most := 6
	if campaign.On() {
		most = 10
	}
	rapid.Check(t, func(t *rapid.T) {
		m := machineOf(t, rapid.IntRange(1, most).Draw(t, "n"))
		for _, d := range chart.Details {
			sound(t, compose(chart.At(m, d)))
		}
		svg := SVG(chart.Of(m), Auto)
		checkSVG(t, svg)
		if !bytes.Equal(svg, SVG(chart.Of(m), Auto)) {
			t.Errorf("the same machine gives two pictures")
		}
	})
}

// Two hundred states are drawn while one waits. The bound is far above what it
// takes: it finds what does not end.
func TestLargeMachine(t *testing.T) {
	t.Parallel()
	m := &spec.Machine{Entity: "Thing", Otherwise: spec.OtherwiseReject}
	const n = 200
	for i := range n {
		m.States = append(m.States, &spec.State{Index: i, Name: fmt.Sprintf("state_%d", i)})
	}
	at := func(i int) spec.StateRef { return spec.StateRef{State: m.States[(i+n)%n]} }
	m.Operations = []*spec.Operation{{Name: "make", Creates: []spec.StateRef{at(0)}}}
	for i := 1; i < n; i++ {
		to, back := at(i), at(i-1-i*i%9)
		m.Operations = append(m.Operations,
			&spec.Operation{Name: fmt.Sprintf("go_%d", i), From: []spec.StateRef{at(i - 1 - i*7%4)}, To: &to},
			&spec.Operation{Name: fmt.Sprintf("back_%d", i), From: []spec.StateRef{at(i)}, To: &back})
	}
	begin := time.Now()
	s := compose(chart.Of(m))
	took := time.Since(begin)
	r := sound(t, s)
	t.Logf("%d states, %d operations: %v, %d crossings, %.0f × %.0f", n, len(m.Operations), took, r.Crossings, s.w, s.h)
	if took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
