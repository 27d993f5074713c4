package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens anew")

// shipped are the machines of the repository, by name.
func shipped(t *testing.T) map[string]*spec.Machine {
	t.Helper()
	files, err := filepath.Glob("../../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d specifications, expected five: %v", len(files), err)
	}
	more, err := filepath.Glob("../../../examples/*/*.yaml")
	if err != nil || len(more) == 0 {
		t.Fatalf("no specification in the examples: %v", err)
	}
	more = slices.DeleteFunc(more, func(f string) bool { return filepath.Base(filepath.Dir(f)) == "machines" || filepath.Base(f)[0] == '.' })
	return parsed(t, append(files, more...))
}

// parsed reads specifications, by the names of their files.
func parsed(t *testing.T, files []string) map[string]*spec.Machine {
	t.Helper()
	ms := make(map[string]*spec.Machine)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(f, src)
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		ms[strings.TrimSuffix(filepath.Base(f), ".yaml")] = m
	}
	return ms
}

// weighed is a chart with counts on some of its edges.
func weighed(m *spec.Machine) *chart.Chart { return weighedAt(m, chart.Full) }

func weighedAt(m *spec.Machine, d chart.Detail) *chart.Chart {
	c := chart.At(m, d)
	c.Weigh([]chart.Traffic{
		{Operation: "enqueue", To: "queued", Count: 12_345},
		{Operation: "claim_next", From: "queued", To: "claimed", Count: 12_001},
		{Operation: "start", From: "claimed", To: "running", Count: 11_980},
		{Operation: "heartbeat", From: "running", To: "running", Count: 88_123},
		{Operation: "complete", From: "running", To: "succeeded", Count: 11_903},
		{Operation: "fail", From: "running", To: "failed", Count: 42},
		{Operation: "stall", From: "running", To: "stalled", Count: 7},
	})
	return c
}

func TestSVGGolden(t *testing.T) {
	t.Parallel()
	ms := shipped(t)
	charts := map[string]*chart.Chart{"weighed": weighed(ms["lifecycle"])}
	for name, m := range ms {
		if strings.HasPrefix(m.File, "../../../specs/") { // those of the examples come and go
			charts[name], charts[name+"-brief"] = chart.Of(m), chart.At(m, chart.Brief)
		}
	}
	const docs = "../../../../docs/img/" // from testdata
	charts[docs+"traffic"] = weighedAt(ms["lifecycle"], chart.Brief)
	charts[docs+"taskinstance"] = chart.At(wellKnown(t)["taskinstance"], chart.Brief)
	order := parsed(t, []string{"../testdata/order.yaml"})["order"]
	regions := chart.Regions(order)
	charts[docs+"order"], charts[docs+"order-region"] = chart.Index(order, regions), regions[2].Chart(order, chart.Brief)
	for name, c := range charts {
		got := SVG(c, Auto)
		checkSVG(t, got)
		if !bytes.Equal(got, SVG(c, Auto)) {
			t.Errorf("%s: the same chart gives two pictures", name)
		}
		file := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s changed; run with -update if that is meant, and look at the picture (-want +got):\n%s", file, diff)
		}
	}
}

// TestHeading holds the start of a narrow picture below its heading.
func TestHeading(t *testing.T) {
	t.Parallel()
	s := compose(chart.At(shipped(t)["job"], chart.Brief))
	var heading, start float64
	for _, sh := range s.shapes {
		switch sh.class {
		case "heading":
			heading = sh.at.X
		case "dot":
			start = sh.rect.X + sh.rect.W/2
		}
	}
	if heading == 0 || heading != start {
		t.Errorf("the heading is at %v, the start at %v", heading, start)
	}
}

// TestDescription holds the words of a picture to whole ones: a branch without a
// condition has no brackets.
func TestDescription(t *testing.T) {
	t.Parallel()
	for name, m := range wellKnown(t) {
		for _, d := range chart.Details {
			if got := describe(chart.At(m, d)); strings.Contains(got, "()") {
				t.Errorf("%s, %s: empty brackets in %q", name, d, got)
			}
		}
	}
	got := describe(chart.At(wellKnown(t)["riverjob"], chart.Brief))
	if want := "a choice leads by fail to discarded."; !strings.Contains(got, want) {
		t.Errorf("%q lacks %q", got, want)
	}
}

// checkSVG holds a document against what a viewer needs: it is XML, and each
// class that it uses has colours in light and in dark.
func checkSVG(t interface{ Errorf(string, ...any) }, svg []byte) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Errorf("it is no XML: %v", err)
			return
		}
	}
	light, dark, _ := bytes.Cut(svg, []byte("prefers-color-scheme: dark"))
	for _, match := range regexp.MustCompile(`<\w+ class="([\w-]+)( b| left| b left)?"`).FindAllSubmatch(svg, -1) {
		class := string(match[1])
		if class == "fsmgen" {
			continue
		}
		for _, part := range [][]byte{light, dark} {
			if !bytes.Contains(part, []byte(".fsmgen ."+class+" {")) {
				t.Errorf("the class %q has no colours in light or in dark", class)
			}
		}
	}
}

func TestPNG(t *testing.T) {
	t.Parallel()
	m := shipped(t)["task"]
	for _, theme := range []Theme{Auto, Dark} {
		got, err := PNG(chart.Of(m), theme)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		s := compose(chart.Of(m))
		if w, h := img.Bounds().Dx(), img.Bounds().Dy(); w != int(s.w)*Scale || h != int(s.h)*Scale {
			t.Errorf("it has %d × %d pixels, the picture is %v × %v", w, h, s.w, s.h)
		}
		if !bytes.Contains(got, []byte("\n"+chart.Header+"\n")) {
			t.Errorf("it does not say who made it")
		}
		// The corners have the colour of the page, and a state its own.
		page := parse(paints(theme)["page"].fill)
		for _, x := range []int{0, img.Bounds().Dx() - 1} {
			for _, y := range []int{0, img.Bounds().Dy() - 1} {
				if r, g, b, _ := img.At(x, y).RGBA(); r>>8 != uint32(page.R) || g>>8 != uint32(page.G) || b>>8 != uint32(page.B) {
					t.Errorf("the corner (%d, %d) is %v, not the page's %v", x, y, img.At(x, y), page)
				}
			}
		}
		for _, sh := range s.shapes {
			if sh.class != "box-initial" || sh.rect.W < 30 {
				continue
			}
			at := img.At(int(sh.rect.X+6)*Scale, int(sh.rect.Y+sh.rect.H/2)*Scale)
			want := parse(paints(theme)["box-initial"].fill)
			if r, g, b, _ := at.RGBA(); r>>8 != uint32(want.R) || g>>8 != uint32(want.G) || b>>8 != uint32(want.B) {
				t.Errorf("a state is painted %v, not %v", at, want)
			}
		}
		again, err := PNG(chart.Of(m), theme)
		if err != nil || !bytes.Equal(got, again) {
			t.Errorf("the same chart gives two pictures: %v", err)
		}
	}
}

// Every text is legible on what it stands on: a contrast of 4.5 to 1 at least
// (WCAG AA), in both themes, and every line has 3 to 1.
func TestContrast(t *testing.T) {
	t.Parallel()
	on := map[string][]string{
		"heading": {"page"}, "summary": {"page"}, "op": {"pill", "panel"}, "line": {"pill", "panel", "group"},
		"guard": {"pill", "panel"}, "count": {"pill"}, "never": {"pill"},
	}
	for _, r := range []chart.Role{chart.Normal, chart.Initial, chart.Final, chart.Terminal,
		chart.Success, chart.Trouble, chart.Outside} {
		on["name-"+r.String()] = []string{"box-" + r.String()}
	}
	for _, theme := range []Theme{Light, Dark} {
		all := paints(theme)
		for r := range chart.Light {
			if c := contrast(all["clock-"+r.String()].stroke, all["box-"+r.String()].fill); c < 4.5 {
				t.Errorf("theme %d: the clock on box-%s has a contrast of %.1f, less than 4.5", theme, r, c)
			}
		}
		for text, grounds := range on {
			const least = 4.5
			for _, ground := range grounds {
				if c := contrast(all[text].fill, all[ground].fill); c < least {
					t.Errorf("theme %d: %s on %s has a contrast of %.1f, less than %v", theme, text, ground, c, least)
				}
			}
		}
		for _, line := range []string{"edge", "choice", "ring", "group", "seldom", "ended", "derived",
			"box-normal", "box-initial", "box-final", "box-terminal", "box-success", "box-trouble", "box-outside"} {
			if c := contrast(all[line].stroke, all["page"].fill); c < 3 {
				t.Errorf("theme %d: the line %s has a contrast of %.1f, less than 3", theme, line, c)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	const s = "no other record with the same job_id in committed, done"
	lines := lineText.wrap(s, 120)
	if got := strings.Join(lines, " "); got != s || len(lines) < 2 {
		t.Errorf("wrapped into %q", lines)
	}
	for _, l := range lines {
		if w := lineText.width(l); w > 120 {
			t.Errorf("%q is %v wide", l, w)
		}
	}
	if got := lineText.width("日本"); got != 2*lineText.size {
		t.Errorf("what the font lacks is %v wide, not two letters", got)
	}
	if got := lineText.wrap("ab "+strings.Repeat("W", 30), 120); len(got) < 4 || got[0] != "ab" || strings.Join(got[1:],
		"") != strings.Repeat("W", 30) {
		t.Errorf("a word wider than the line: %q", got)
	}
	if got := lineText.wrap("\u4e00\u4e01", 1); len(got) != 1 {
		t.Errorf("characters wider than the line: %q", got)
	}
}

func Example() {
	m, _ := spec.Parse("door.yaml", []byte(`fsm: 1
machine: door
entity: Door
otherwise: reject
states: {open: {}, shut: {terminal: true}}
operations:
  make: {creates: open}
  close: {from: open, to: shut}
`))
	svg := SVG(chart.Of(m), Light)
	fmt.Println(bytes.Contains(svg, []byte("Door")), bytes.Contains(svg, []byte("prefers-color-scheme")))
	// Output: true false
}
