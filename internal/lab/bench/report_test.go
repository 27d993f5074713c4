package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/pure"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 0.126: "0.13", 3: "3", 9.96: "9.96", 12.34: "12.3",
		10: "10", 123.4: "123", 9999: "9999", 123456: "123 456"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
	for n, want := range map[int]string{7: "7", 1000: "1 000", 1234567: "1 234 567", 20034: "20 034"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

// A row is met up to its limit by all of its figures, in its own direction.
func TestRows(t *testing.T) {
	t.Parallel()
	var r report
	r.atMost("a", "first", 1.1, " ×", figure{"x", 1.1}, figure{"y", 0.2})
	r.atMost("c", "again", 1, "", figure{"", 2})
	r.atMost("b", "second", 1.1, " ×", figure{"x", 1}, figure{"y", 1.11})
	r.atLeast("c", "third", 6, "", figure{"", 6})
	r.atLeast("c", "fourth", 6, "", figure{"", 5.9})
	r.atMost("e", "fifth", 1, "")
	r.left("sixth", "there is none")
	text := r.page(options{rounds: 1}, time.Second, "0")
	_, text, _ = strings.Cut(text, "|---|--:|---|---|\n")
	if r.figures["met"] != "2" || r.figures["bars"] != "6" {
		t.Errorf("%s of %s are met", r.figures["met"], r.figures["bars"])
	}
	want := `| first | ≤ 1.1 × | x 1.1 ×, y 0.2 × | met |
| again | ≤ 1 | 2 | **missed** |
| second | ≤ 1.1 × | x 1 ×, y 1.11 × | **missed** |
| third | ≥ 6 | 6 | met |
| fourth | ≥ 6 | 5.9 | **missed** |
| fifth | ≤ 1 |  | **missed** |
| sixth | – | not measured: there is none | – |

## Why rows are missed

- *again; fourth:* nobody has said why.
- *second:* nobody has said why.
- *fifth:* nobody has said why.
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

// Documents have the sentences that figures are written into, and keep those that were not
// measured.
func TestFill(t *testing.T) {
	t.Parallel()
	got, err := filled([]byte("of 3\nor 4 µs, 5"), `of (?P<a>\d) or (?P<b>\d+) µs, (?P<c>\d)`,
		map[string]string{"a": "12", "b": "99"})
	if want := "of 12\nor 99 µs, 5"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for doc, sentences := range documents {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", doc))
		for _, s := range sentences {
			if err == nil {
				text, err = filled(text, s, nil)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// Ratios are of figures of the same round; the share is of the caller who got the least.
func TestRatios(t *testing.T) {
	t.Parallel()
	a := &side{rounds: []turn{{10, 1, 1}, {30, 2, 2}, {50, 9, 1}}, each: []int{1, 2, 3}}
	b := &side{rounds: []turn{{10, 1, 0}, {10, 1, 1}, {10, 3, 1}}}
	if got := a.to(b, rate); got != 3 {
		t.Errorf("rate: %v", got)
	}
	if got := a.to(b, turn.both); got != 2 {
		t.Errorf("cost: %v", got)
	}
	if got := a.share(); got != 0.5 {
		t.Errorf("share: %v", got)
	}
}

// quiet returns the figures of a quiet machine, with our time times slower and so many
// allocations.
func quiet(slower, allocs float64) pure.Figures {
	f := pure.Figures{Refusal: map[string][]measure.Result{}}
	for _, s := range []struct {
		name, depth string
		ns          float64
	}{{"generated", pure.Full, 23 * slower}, {"methods by hand", pure.Full, 20}, {"switch by hand", pure.Rules, 12},
		{"qmuntal/stateless", pure.Rules, 370}, {"qmuntal/stateless", pure.Bare, 210},
		{"looplab/fsm", pure.Rules, 500}, {"looplab/fsm", pure.Bare, 340}} {
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
		if err := judgePure(j, quiet(c.slower, c.allocs)); err != nil {
			t.Fatal(err)
		}
		if j.failed != c.failed || strings.Count(out.String(), "FAILED") != c.failed {
			t.Errorf("%v times slower, %v allocations: %d failed, want %d\n%s", c.slower, c.allocs, j.failed, c.failed,
				out.String())
		}
	}
}

// A median is no longer than what nine of ten keep to, and a folder that is not there has none.
func TestDisk(t *testing.T) {
	t.Parallel()
	p50, p90, err := diskSyncs(t.TempDir())
	if err != nil || p50 <= 0 || p90 < p50 {
		t.Errorf("%v, %v, %v", p50, p90, err)
	}
	if _, _, err := diskSyncs("/no/such/folder"); err == nil {
		t.Error("a folder that is not there is measured")
	}
}
