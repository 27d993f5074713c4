package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/lab/judge"
)

const (
	shownAt     = 700 // pixels: the width of a README
	leastLetter = 9.0 // pixels
	mostStates  = 15  // larger machines are shown in parts
)

// figures are what a picture is judged by.
type figures struct {
	letter           float64 // the smallest text, in pixels, where the picture is at most 700 wide
	arrows, crossing int
}

// measured reads the figures out of an SVG.
func measured(t *testing.T, c *chart.Chart) figures {
	t.Helper()
	svg := string(SVG(c, Light))
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	wide := number(regexp.MustCompile(`<svg [^>]*width="([\d.]+)"`).FindStringSubmatch(svg)[1])
	least := 1000.0
	for _, m := range regexp.MustCompile(`<text [^>]*font-size="([\d.]+)"`).FindAllStringSubmatch(svg, -1) {
		least = min(least, number(m[1]))
	}
	s := machine(c)
	return figures{
		letter:   least * min(1, shownAt/wide),
		arrows:   strings.Count(svg, `<path class="tip"`),
		crossing: judge.Judge(drawn(s)).Crossings,
	}
}

// Before are the figures of the pictures that a release without --detail drew
// (commit 9d2dd24), by the same measure.
var before = map[string]float64{
	"execution": 9.2, "ingest": 8.9, "jobstate": 8.0, "lifecycle": 8.5, "task": 11, "batchjob": 4.4, "checkrun": 6.3,
	"container": 10.4, "obanjob": 6.1, "paymentintent": 3.0, "pod": 5.5, "riverjob": 4.5, "stream": 1.7, "taskinstance": 2.5,
	"notice": 11, "job": 11, "naive": 11,
}

// TestReadable holds the letters of a brief picture, and of those of regions, to
// nine pixels at the width of a README, and docs/evidence/pictures.md to the pictures.
func TestReadable(t *testing.T) {
	t.Parallel()
	ms := shipped(t)
	maps.Copy(ms, wellKnown(t))
	var rows bytes.Buffer
	rows.WriteString("| machine | states | letters before | `full` | `brief` | arrows `full` | `brief` | crossings `full` | `brief` |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(ms)) {
		m := ms[name]
		full, brief := measured(t, chart.Of(m)), measured(t, chart.At(m, chart.Brief))
		if len(m.States) <= mostStates && brief.letter < leastLetter {
			t.Errorf("%s: letters are %.1f px high at %d px of width, less than %v", name, brief.letter, shownAt, leastLetter)
		}
		if brief.arrows > full.arrows || brief.crossing > full.crossing {
			t.Errorf("%s: with less detail it has more arrows (%d, %d) or crossings (%d, %d)", name, brief.arrows, full.arrows, brief.crossing, full.crossing)
		}
		fmt.Fprintf(&rows, "| %s | %d | %.1f | %.1f | %.1f | %d | %d | %d | %d |\n", name, len(m.States), before[name], full.letter, brief.letter, full.arrows, brief.arrows, full.crossing, brief.crossing)
	}
	order := parsed(t, []string{"../testdata/order.yaml"})["order"]
	regions := chart.Regions(order)
	parts := []*chart.Chart{chart.Index(order, regions)}
	for _, r := range regions {
		parts = append(parts, r.Chart(order, chart.Brief))
	}
	rows.WriteString("\n| order, 41 states | letters | arrows | crossings |\n|---|---|---|---|\n")
	for _, c := range append(parts, chart.At(order, chart.Brief)) {
		f := measured(t, c)
		if c.Part != "" && f.letter < leastLetter {
			t.Errorf("%s: letters are %.1f px high at %d px of width, less than %v", c.Title, f.letter, shownAt, leastLetter)
		}
		fmt.Fprintf(&rows, "| %s | %.1f | %d | %d |\n", cmp.Or(c.Part, "the whole machine"), f.letter, f.arrows, f.crossing)
	}
	const file, begin, end = "../../../docs/evidence/pictures.md", "<!-- figures -->\n", "<!-- end -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(page), begin)
	_, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the figures", file)
	}
	want := head + begin + rows.String() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s does not hold the figures (go test ./gen/chart/draw -update writes them)", file)
	}
}
