package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The judge sees each fault that is planted, and nothing in a sound drawing.
func TestJudge(t *testing.T) {
	t.Parallel()
	sound := func() Drawing {
		return Drawing{
			Boxes: []Box{{"a", 0, 0, 20, 10}, {"b", 0, 50, 20, 10}, {"c", 100, 0, 20, 10}, {"d", 100, 50, 20, 10}},
			Edges: []Edge{
				{Name: "ab", From: "a", To: "b", Lines: [][]Point{{{10, 10}, {10, 50}}}, Label: Box{"", 14, 25, 20, 10}},
				{Name: "cd", From: "c", To: "d", Lines: [][]Point{{{110, 10}, {110, 50}}}, Label: Box{"", 114, 25, 20, 10}},
			},
		}
	}
	for _, c := range []struct {
		name  string
		plant func(*Drawing)
		want  Report
	}{
		{"sound", func(*Drawing) {}, Report{}},
		{"crossing", func(d *Drawing) {
			d.Edges[0].Lines[0][1], d.Edges[1].Lines[0][1] = Point{110, 50}, Point{10, 50}
			d.Edges[0].To, d.Edges[1].To = "d", "b"
			d.Edges[0].Label.Y, d.Edges[1].Label.Y = 200, 300
		}, Report{Crossings: 1}},
		{"boxes", func(d *Drawing) { d.Boxes[2].X = 15 }, Report{BoxBox: 1}},
		{"label on box", func(d *Drawing) { d.Edges[0].Label = Box{"", 100, 0, 20, 10} }, Report{LabelBox: 1}},
		{"labels", func(d *Drawing) { d.Edges[0].Label = Box{"", 125, 30, 20, 10} }, Report{LabelLabel: 1}},
		{"label on edge", func(d *Drawing) { d.Edges[0].Label = Box{"", 100, 12, 20, 10} }, Report{LabelEdge: 1}},
		{"edge through box", func(d *Drawing) { d.Edges[0].Lines[0] = []Point{{10, 5}, {130, 5}, {10, 50}} }, Report{EdgeBox: 1, Crossings: 1}},
	} {
		d := sound()
		c.plant(&d)
		got := Judge(d)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Report{}, "Length", "Width", "Height", "Found")); diff != "" {
			t.Errorf("%s (-want +got):\n%s%q", c.name, diff, got.Found)
		}
	}
}
