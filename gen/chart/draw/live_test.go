package draw

import (
	"bytes"
	"os"
	"testing"

	"github.com/fsmgen/fsmgen/gen/chart"

	"github.com/google/go-cmp/cmp"
)

// A live picture has no style of its own, says what its lines are, and lets one
// point at every state and every operation.
func TestLive(t *testing.T) {
	t.Parallel()
	sheet := Stylesheet()
	for name, m := range shipped(t) {
		svg := Live(chart.Of(m))
		whole := bytes.Replace(svg, []byte("</svg>"), append(append([]byte("<style>"), sheet...), "</style></svg>"...), 1)
		checkSVG(t, bytes.ReplaceAll(whole, []byte(`<rect class="hit"`), []byte("<rect")))
		for _, bad := range []string{"<style", "style=", "<script", "onclick"} {
			if bytes.Contains(svg, []byte(bad)) {
				t.Errorf("%s: it holds %s", name, bad)
			}
		}
		for _, s := range m.States {
			if n := bytes.Count(svg, []byte(`data-state="`+s.Name+`"`)); n != 1 {
				t.Errorf("%s: state %s can be pointed at %d times, want once", name, s.Name, n)
			}
		}
		for _, o := range m.Operations {
			if !bytes.Contains(svg, []byte(`data-operation="`+o.Name+`"`)) {
				t.Errorf("%s: operation %s cannot be pointed at", name, o.Name)
			}
			for _, f := range o.From {
				if o.To == nil || o.Same {
					continue
				}
				way := `data-from="` + f.State.Name + `" data-to="` + o.To.State.Name + `"`
				if !bytes.Contains(svg, []byte(way)) {
					t.Errorf("%s: no line says %s", name, way)
				}
			}
		}
	}
}

// The rectangles to point at lie where the boxes are, and not on each other.
func TestHitsAreApart(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		s := compose(chart.Of(m))
		for i, a := range s.hits {
			if a.rect.X < 0 || a.rect.Y < 0 || a.rect.X+a.rect.W > s.w || a.rect.Y+a.rect.H > s.h || a.rect.W < 20 || a.rect.H < 10 {
				t.Errorf("%s: %+v is outside of the picture, or too small", name, a)
			}
			for _, b := range s.hits[i+1:] {
				x := min(a.rect.X+a.rect.W, b.rect.X+b.rect.W) - max(a.rect.X, b.rect.X)
				y := min(a.rect.Y+a.rect.H, b.rect.Y+b.rect.H) - max(a.rect.Y, b.rect.Y)
				if x > 0.5 && y > 0.5 {
					t.Errorf("%s: %q%q lies on %q%q", name, a.state, a.operation, b.state, b.operation)
				}
			}
		}
	}
}

func TestHostileTips(t *testing.T) {
	t.Parallel()
	for _, m := range shipped(t) {
		m.States[0].Doc = `</title><script>alert("1")</script>`
		if svg := Live(chart.Of(m)); bytes.Contains(svg, []byte("<script")) {
			t.Errorf("a text was taken for SVG:\n%s", svg)
		}
	}
}

// The console of a program has the style of pictures in a file, since it imports no generator.
func TestStyleOfTheConsole(t *testing.T) {
	t.Parallel()
	const file = "../../../runtime/console/assets/picture.css"
	if *update {
		if err := os.WriteFile(file, Stylesheet(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(Stylesheet()), string(got)); diff != "" {
		t.Errorf("%s is not the style of pictures; -update writes it (-want +got):\n%s", file, diff)
	}
}
