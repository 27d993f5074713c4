package cost_test

import (
	"bufio"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/cost"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// slack is how much more than its cells the work of a machine may grow: hash tables
// double, and logarithms count.
const slack = 1.5

// cells is what the work may grow with.
func cells(m *spec.Machine, source string) float64 {
	branches := 0
	for _, o := range m.Operations {
		branches += len(o.Choose)
	}
	return float64((len(m.States)+len(m.Fields)+branches)*len(m.Operations)) + float64(len(source))/10
}

// parse reads a machine of a shape.
func parse(t *testing.T, s cost.Shape, n int) (*spec.Machine, string) {
	t.Helper()
	source := s.Source(n)
	m, found := spec.Parse(s.Name+".yaml", []byte(source))
	if m == nil || found.HasErrors() {
		t.Fatalf("%s of size %d: %v", s.Name, n, found)
	}
	return m, source
}

// What check and gen allocate, and the bytes that gen writes, grow no faster than
// the cells.
func TestBytesGrowWithCells(t *testing.T) { // not parallel: allocations of other tests would be counted
	small, large := 30, 100
	if campaign.On() {
		small, large = 40, 160
	}
	for _, s := range cost.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			work := func(n int) (allocated, written, size float64) {
				m, source := parse(t, s, n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if validate.Run(m).HasErrors() != s.Refused {
					t.Fatalf("size %d: findings of severity error, or none: %v", n, validate.Run(m))
				}
				if !s.Refused {
					files, err := gen.Generate(m, gen.Options{})
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range files {
						written += float64(len(f.Data))
					}
				}
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc), written, cells(m, source)
			}
			work(small) // what is made once only
			a1, w1, c1 := work(small)
			a2, w2, c2 := work(large)
			t.Logf("cells x%.1f, allocated x%.1f, written x%.1f", c2/c1, a2/a1, w2/max(w1, 1))
			if s.Open != "" {
				t.Logf("known to be open: %s", s.Open)
				return
			}
			if a2/a1 > slack*c2/c1 || w2 > slack*w1*c2/c1 {
				t.Errorf("the cells grow by %.1f, allocations by %.1f (%.0f bytes), written bytes by %.1f (%.0f)", c2/c1, a2/a1, a2, w2/w1, w2)
			}
		})
	}
}

// counted are the packages whose statements are counted.
var counted = []string{"cmd/fsmgen", "spec", "internal/validate", "internal/prove", "internal/count", "internal/interp", "gen", "gen/chart"}

// No line of the compile side is executed more often than the cells grow.
func TestStatementsGrowWithCells(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	const small, large = 80, 320
	root, dir := outside.Root(t), t.TempDir()
	program := filepath.Join(dir, "fsmgen")
	var packages []string
	for _, p := range counted {
		packages = append(packages, "./"+p)
	}
	run(t, root, nil, "go", "build", "-cover", "-covermode=count", "-coverpkg="+strings.Join(packages, ","), "-o", program, "./cmd/fsmgen")
	for _, s := range cost.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			count := func(n int) (map[string]float64, float64) {
				m, source := parse(t, s, n)
				dir := t.TempDir()
				file, counters := filepath.Join(dir, "big.yaml"), filepath.Join(dir, "counters")
				if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(counters, 0o700); err != nil {
					t.Fatal(err)
				}
				args := []string{"gen", "-o", filepath.Join(dir, "out"), file}
				if s.Refused {
					args = []string{"check", file}
				}
				c := exec.Command(program, args...) //nolint:gosec // built above
				c.Env = append(os.Environ(), "GOCOVERDIR="+counters)
				if out, err := c.CombinedOutput(); (err != nil) != s.Refused {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
				text := filepath.Join(dir, "counts")
				run(t, root, nil, "go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+text)
				return statements(t, text), cells(m, source)
			}
			before, c1 := count(small)
			after, c2 := count(large)
			total1, total2 := 0.0, 0.0
			var lines []string
			for line, n := range after {
				total1, total2 = total1+before[line], total2+n
				// A line that runs some times for each cell only does not cost anything yet.
				if n > 150*c2 && n > slack*before[line]*c2/c1 {
					lines = append(lines, line)
				}
			}
			slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(after[b], after[a]) })
			t.Logf("cells x%.1f, statements x%.1f (%.0f, %.0f a cell)", c2/c1, total2/total1, total2, total2/c2)
			report := t.Errorf
			if s.Open != "" {
				t.Logf("known to be open: %s", s.Open)
				report = t.Logf
			}
			for _, line := range lines[:min(len(lines), 10)] {
				report("the cells grow by %.1f, but %s by %.1f, to %.0f", c2/c1, line, after[line]/max(before[line], 1), after[line])
			}
		})
	}
}

// statements reads a coverage profile: how many statements of each block ran.
func statements(t *testing.T, file string) map[string]float64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[string]float64{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if len(words) != 3 {
			continue // the first line
		}
		size, err1 := strconv.ParseFloat(words[1], 64)
		times, err2 := strconv.ParseFloat(words[2], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("%q is no line of a profile", in.Text())
		}
		counts[words[0]] += size * times
	}
	if len(counts) == 0 {
		t.Fatal("nothing was counted")
	}
	return counts
}

func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
