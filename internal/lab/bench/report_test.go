package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/pure"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 0.126: "0.13", 3: "3", 9.96: "9.96", 12.34: "12.3", 10: "10", 123.4: "123", 99999: "99999", 123456: "123 000"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
	for n, want := range map[int]string{7: "7", 1000: "1 000", 1234567: "1 234 567", 20034: "20 034"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := sizes(100_000); !cmp.Equal(got, []int{1000, 10_000, 100_000}) {
		t.Errorf("sizes: %v", got)
	}
}

// A bar is met at its limit and missed beyond it, in its own direction.
func TestBars(t *testing.T) {
	t.Parallel()
	var r report
	r.atMost("a", 1.1, 1.1, " ×")
	r.atMost("b", 1.11, 1.1, " ×")
	r.atLeast("c", 6, 6, "")
	r.atLeast("d", 5.9, 6, "")
	var met []bool
	for _, b := range r.bars {
		met = append(met, b.met)
	}
	if diff := cmp.Diff([]bool{true, false, true, false}, met); diff != "" {
		t.Error(diff)
	}
	r.table([]string{"x", "y"}, [][]string{{"1", "2"}})
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "internal/lab/bench"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "internal/lab/bench/NOTES.md"), []byte("## Notes\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := r.text(options{root: root})
	if err != nil {
		t.Fatal(err)
	}
	want := `## The bars

| what | bar | measured | |
|---|--:|--:|---|
| a | ≤ 1.1 × | 1.1 × | met |
| b | ≤ 1.1 × | 1.11 × | **missed** |
| c | ≥ 6 | 6 | met |
| d | ≥ 6 | 5.9 | **missed** |

| x | y |
|---|--:|
| 1 | 2 |

## Notes
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnknownSection(t *testing.T) {
	t.Parallel()
	if err := run(options{}, "", "pure,purr"); err == nil || !strings.Contains(err.Error(), `"purr"`) {
		t.Errorf("got %v", err)
	}
}

func TestTableByCallers(t *testing.T) {
	t.Parallel()
	b := byLevel{durable.Full: {}, durable.Checks: {}}
	for _, n := range callers {
		b[durable.Full][n] = []measure.Rate{
			{Name: durable.Ours, Rounds: []float64{100 * float64(n)}, Took: []time.Duration{time.Millisecond}},
			{Name: durable.CTE, Rounds: []float64{50}, Took: []time.Duration{2 * time.Millisecond}},
		}
	}
	for _, n := range fewCallers {
		b[durable.Checks][n] = []measure.Rate{{Name: durable.Ours, Rounds: []float64{7}}}
	}
	var r report
	b.table(&r)
	for _, want := range []string{
		"| " + durable.CTE + " | full | 50 (2 ×) | 50 (32 ×) | 50 (128 ×) | 50 (512 ×) | 2ms, 2ms |\n",
		"| " + durable.Ours + " | checks | 7 | – | 7 | – | 0s, 0s |\n",
	} {
		if !strings.Contains(r.sections.String(), want) {
			t.Errorf("the table lacks\n%s\nin\n%s", want, r.sections.String())
		}
	}
	if got := b[durable.Full].of(64, durable.Ours).Median(); got != 6400 {
		t.Errorf("of: %v", got)
	}
	if got := b.ratio(durable.Full, 64, durable.CTE); got != 128 {
		t.Errorf("ratio: %v", got)
	}
}

// A bar that is met at the lower level only says so in a row of its own.
func TestLivesByLevel(t *testing.T) {
	t.Parallel()
	rate := func(v float64) measure.Rate { return measure.Rate{Rounds: []float64{v}} }
	r := &report{}
	var rows [][]string
	for level, ours := range map[string]float64{durable.Full: 500, durable.Checks: 1500} {
		rows = append(rows, livesRow(r, level, durable.Lives{Form: durable.Form{Workers: 16}, Ours: rate(ours), River: rate(1000)}))
	}
	slices.SortFunc(rows, slices.Compare)
	slices.SortFunc(r.bars, func(a, b bar) int { return strings.Compare(a.what, b.what) })
	if diff := cmp.Diff([][]string{
		{"16 workers", "single calls", "checks", "1500", "1000", "1.5 ×", "4 ×"},
		{"16 workers", "single calls", "full", "500", "1000", "0.5 ×", "1.33 ×"},
	}, rows); diff != "" {
		t.Error(diff)
	}
	want := []bar{
		{"job lives, 16 workers, single calls: ours / River", "≥ 1 ×", "0.5 ×", false},
		{"job lives, 16 workers, single calls: ours / River, level checks", "≥ 1 ×", "1.5 ×", true},
	}
	if diff := cmp.Diff(want, r.bars, cmp.AllowUnexported(bar{})); diff != "" {
		t.Error(diff)
	}
}

// figures are those of a quiet machine, with our time times slower and so many
// allocations.
func figures(slower, allocs float64) pure.Figures {
	f := pure.Figures{Refusal: map[string][]measure.Result{}}
	for _, s := range []struct {
		name, depth string
		ns          float64
	}{{"generated", pure.Full, 23 * slower}, {byHand, pure.Full, 27}, {byHand, pure.Rules, 12}, {stateless, pure.Rules, 370}, {stateless, pure.Bare, 210}, {looplab, pure.Rules, 500}, {looplab, pure.Bare, 340}} {
		f.Subjects = append(f.Subjects, pure.Subject{Name: s.name, Depth: s.depth})
		f.Life = append(f.Life, measure.Result{Name: s.name, Rounds: []float64{s.ns, s.ns * 1.5, s.ns}})
	}
	f.Life[0].Allocs = allocs
	for _, kind := range pure.Refusals {
		f.Put(kind, 0, measure.Result{Rounds: []float64{60}, Allocs: allocsOf(kind) + allocs})
	}
	return f
}

// The guard lets the usual through, and fails when the generated methods become
// four times slower, or allocate once.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slower, allocs float64
		failed         int
	}{{1, 0, 0}, {4, 0, len(floors)}, {1, 1, 1 + len(pure.Refusals)}} {
		var out strings.Builder
		j := &judge{w: &out}
		if err := judgePure(j, figures(c.slower, c.allocs)); err != nil {
			t.Fatal(err)
		}
		if j.failed != c.failed || strings.Count(out.String(), "FAILED") != c.failed {
			t.Errorf("%v times slower, %v allocations: %d failed, want %d\n%s", c.slower, c.allocs, j.failed, c.failed, out.String())
		}
	}
}
