package draw

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/lab/judge"
)

// TestSideBySide judges our pictures of the shipped machines beside those of
// Graphviz, and of Mermaid where FSMGEN_MERMAID_GEOMETRY names a file with its
// geometry (`make diagrams-judge`). Only the machine itself is judged, without
// the panels. Ours must have no overlap, and no more crossings than Graphviz; a
// brief one, which is what readers see, has no more than Mermaid's either.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("dot")
	if err != nil {
		t.Log("dot is missing (Debian: graphviz): our pictures are not judged beside those of Graphviz")
	}
	mermaid := mermaidDrawings(t)
	ms := shipped(t)
	maps.Copy(ms, wellKnown(t))
	t.Logf("%-20s %-9s %9s %9s %10s %11s %10s %9s %7s",
		"machine", "by", "crossings", "box/box", "label/box", "label/label", "label/edge", "edge/box", "length")
	for _, name := range slices.Sorted(maps.Keys(ms)) {
		for _, d := range []chart.Detail{chart.Brief, chart.Full} {
			c := chart.At(ms[name], d)
			c.Projection = nil
			label := name + " " + d.String()
			ours := judge.Judge(drawn(machine(c)))
			report(t, label, "fsmgen", ours)
			if ours.Overlaps() > 0 {
				t.Errorf("%s: ours has %d overlaps: %q", label, ours.Overlaps(), ours.Found)
			}
			others := make(map[string]judge.Report)
			if err == nil {
				others["dot"] = judge.Judge(dotDrawing(t, c))
			}
			if drawing, ok := mermaid[name]; ok && d == chart.Brief {
				others["mermaid"] = judge.Judge(drawing)
			}
			for _, by := range slices.Sorted(maps.Keys(others)) {
				report(t, label, by, others[by])
				if ours.Crossings > others[by].Crossings {
					t.Errorf("%s: ours has %d crossings, %s %d", label, ours.Crossings, by, others[by].Crossings)
				}
			}
		}
	}
}

func report(t *testing.T, name, by string, r judge.Report) {
	t.Logf("%-20s %-9s %9d %9d %10d %11d %10d %9d %7.0f",
		name, by, r.Crossings, r.BoxBox, r.LabelBox, r.LabelLabel, r.LabelEdge, r.EdgeBox, r.Length)
}

// dotDrawing lets Graphviz place a chart, without the notes.
func dotDrawing(t *testing.T, c *chart.Chart) judge.Drawing {
	t.Helper()
	bare := *c
	bare.Guards, bare.Never = nil, nil
	cmd := exec.Command("dot", "-Tjson")
	cmd.Stdin = bytes.NewReader(chart.Dot(&bare))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Objects []struct{ Name, Pos, Width, Height string }
		Edges   []struct {
			Tail, Head               int
			Pos, Lp, Lwidth, Lheight string
			Draw                     []struct {
				Op     string
				Points [][2]float64
			} `json:"_draw_"`
			Text []struct {
				Op    string
				Pt    [2]float64
				Width float64
				Size  float64
			} `json:"_ldraw_"`
		}
	}
	if err := json.Unmarshal(out, &g); err != nil {
		t.Fatal(err)
	}
	numbers := func(s string) []float64 {
		var ns []float64
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
			n, err := strconv.ParseFloat(part, 64)
			if err != nil {
				t.Fatal(err)
			}
			ns = append(ns, n)
		}
		return ns
	}
	var d judge.Drawing
	for _, o := range g.Objects {
		at, w, h := numbers(o.Pos), numbers(o.Width)[0]*72, numbers(o.Height)[0]*72
		d.Boxes = append(d.Boxes, judge.Box{Name: o.Name, X: at[0] - w/2, Y: -at[1] - h/2, W: w, H: h})
	}
	for i, e := range g.Edges {
		edge := judge.Edge{Name: fmt.Sprintf("%d %s to %s", i, g.Objects[e.Tail].Name, g.Objects[e.Head].Name), From: g.Objects[e.Tail].Name, To: g.Objects[e.Head].Name}
		for _, draw := range e.Draw {
			if draw.Op != "b" {
				continue
			}
			var curve []judge.Point
			for _, p := range draw.Points {
				curve = append(curve, judge.Point{X: p[0], Y: -p[1]})
			}
			edge.Lines = append(edge.Lines, judge.Flatten(curve))
		}
		size, top, bottom, left, right := 10.0, 0.0, 0.0, 0.0, 0.0
		for _, l := range e.Text {
			switch l.Op {
			case "F":
				size = l.Size
			case "T":
				if right == left {
					left, right, top, bottom = l.Pt[0]-l.Width/2, l.Pt[0]+l.Width/2, l.Pt[1]+0.75*size, l.Pt[1]
				}
				left, right = min(left, l.Pt[0]-l.Width/2), max(right, l.Pt[0]+l.Width/2)
				top, bottom = max(top, l.Pt[1]+0.75*size), min(bottom, l.Pt[1])
			}
		}
		if right > left {
			edge.Label = judge.Box{X: left, Y: -top, W: right - left, H: top - bottom}
		}
		d.Edges = append(d.Edges, edge)
	}
	return d
}

// mermaidDrawings reads what internal/lab/diagrams/geometry.mjs measured in a browser.
func mermaidDrawings(t *testing.T) map[string]judge.Drawing {
	t.Helper()
	file := os.Getenv("FSMGEN_MERMAID_GEOMETRY")
	if file == "" {
		t.Log("FSMGEN_MERMAID_GEOMETRY is not set (make diagrams-judge sets it): our pictures are not judged beside those of Mermaid")
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]judge.Drawing
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if len(read) == 0 {
		t.Fatalf("%s holds no drawing", file)
	}
	return read
}
