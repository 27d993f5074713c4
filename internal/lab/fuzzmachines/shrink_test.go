package fuzzmachines_test

import (
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// shrink leaves out lines of a machine, each with what is indented below it, and
// items of lists, as long as it is sound and fails: whole declarations first, and at most
// this many tries of sound ones.
func shrink(text string, tries int, sound, fails func(text string) bool) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for _, declarations := range []bool{true, false} {
		for again := true; again; {
			again = false
			for i := len(lines) - 1; i >= 0; i-- {
				if declarations && indent(lines[i]) != 2 {
					continue
				}
				for _, less := range smaller(lines, i) {
					candidate := strings.Join(less, "\n") + "\n"
					if !sound(candidate) {
						continue
					}
					if tries--; tries < 0 {
						return strings.Join(lines, "\n") + "\n"
					}
					if fails(candidate) {
						again = true
						lines = less
						break
					}
				}
				i = min(i, len(lines))
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// smaller are the texts without line i, or without one item of its list.
func smaller(lines []string, i int) [][]string {
	end := i + 1
	for end < len(lines) && indent(lines[end]) > indent(lines[i]) {
		end++
	}
	rest := slices.Concat(lines[:i], lines[end:])
	list := [][]string{rest}
	if name, _, ok := strings.Cut(strings.TrimSpace(lines[i]), ":"); ok && indent(lines[i]) == 2 {
		list = append(list, without(rest, name))
	}
	head, after, ok := strings.Cut(lines[i], "[")
	if items, tail, closed := strings.Cut(after, "]"); ok && closed {
		for at, parts := 0, strings.Split(items, ", "); at < len(parts) && len(parts) > 1; at++ {
			less := slices.Clone(lines)
			less[i] = head + "[" + strings.Join(slices.Delete(slices.Clone(parts), at, at+1), ", ") + "]" + tail
			list = append(list, less)
		}
	}
	return list
}

// without leaves out what names something that is gone: the item of a list, or else
// the whole field, state, guard or operation.
func without(lines []string, name string) []string {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	pair := regexp.QuoteMeta(name) + `\b(: [^,}\]]+)?`
	item := regexp.MustCompile(`, ` + pair + `|\b` + pair + `, `)
	var left []string
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && indent(lines[end]) > 2 {
			end++
		}
		block := slices.Clone(lines[i:end])
		for n := range block {
			block[n] = item.ReplaceAllString(block[n], "")
		}
		if indent(lines[i]) < 2 || !word.MatchString(strings.Join(block, "\n")) {
			left = append(left, block...)
		}
		i = end
	}
	return left
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// smallest is the smallest machine found whose generated tests fail, too, in so many tries. spoil may
// change what is generated, and reports whether it did.
func smallest(t *testing.T, m sound, o gen.Options, tries int, spoil func(sound) bool) string {
	t.Helper()
	var smaller sound
	return shrink(m.text, tries, func(text string) (ok bool) {
		smaller, ok = generated(m.name, text, o)
		return ok && spoil(smaller)
	}, func(string) bool { return len(runMany(t, []sound{smaller})) > 0 })
}

// generated is a machine that passes the check.
func generated(name, text string, o gen.Options) (sound, bool) {
	m, found := validate.Source("random.yaml", []byte(text))
	if m == nil || found.HasErrors() {
		return sound{}, false
	}
	o.Package, o.Spec, o.EngineTests = name, filepath.ToSlash(specOf(name)), true
	files, err := gen.Generate(m, o)
	return sound{name, m.Name, text, files, o.TestStore}, err == nil
}

// TestShrink holds that what is left is sound, still fails, and is small.
func TestShrink(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed < 200; seed++ {
		text := fuzzmachines.Random(rand.New(rand.NewPCG(seed, 3)))
		sound := func(text string) bool {
			_, found := validate.Source("random.yaml", []byte(text))
			return !found.HasErrors()
		}
		tried := 0
		fails := func(text string) bool {
			tried++
			return strings.Contains(text, "unique:")
		}
		if !sound(text) || !fails(text) {
			continue
		}
		small := shrink(text, 40, sound, fails) // as many as a campaign runs tests
		if !sound(small) || !fails(small) || tried > 42 {
			t.Fatalf("what is left does not fail, after %d tries:\n%s", tried, small)
		}
		n, all := strings.Count(small, "\n"), strings.Count(text, "\n")
		if n > all*2/3 {
			t.Errorf("%d lines are left of %d:\n%s", n, all, small)
		}
		t.Logf("%d lines are left of %d:\n%s", n, all, small)
		return
	}
	t.Fatal("no machine has a unique rule")
}

// counts is a step of a counter in generated Go.
var counts = regexp.MustCompile(`(?m)^\t+[a-z]\w*\.[A-Z]\w*\+\+\n`)

// TestShrinkOfAFailure plants a fault into what is generated for each machine: no counter counts. What
// is left of one whose tests fail is small, sound, and fails still.
func TestShrinkOfAFailure(t *testing.T) {
	campaign.Only(t)
	spoil := func(m sound) bool {
		changed := false
		for i, f := range m.files {
			if strings.HasSuffix(f.Name, "_fsm.go") {
				m.files[i].Data = counts.ReplaceAll(f.Data, nil)
				changed = len(m.files[i].Data) < len(f.Data)
			}
		}
		return changed
	}
	for seed := uint64(1); seed < 200; seed++ {
		text := fuzzmachines.Random(rand.New(rand.NewPCG(seed, 3)))
		m, ok := generated("shrunk", text, gen.Options{})
		if !ok || !spoil(m) || len(runMany(t, []sound{m})) == 0 {
			continue
		}
		small := smallest(t, m, gen.Options{}, 30, spoil)
		left, ok := generated("shrunk", small, gen.Options{})
		if !ok || !strings.Contains(small, "increment:") {
			t.Fatalf("what is left is not sound or counts nothing:\n%s", small)
		}
		if len(runMany(t, []sound{left})) > 0 {
			t.Errorf("what is left fails without the fault, too:\n%s", small)
		}
		if !spoil(left) || len(runMany(t, []sound{left})) == 0 {
			t.Errorf("what is left does not fail:\n%s", small)
		}
		lines, all := strings.Count(small, "\n"), strings.Count(text, "\n")
		t.Logf("seed %d: %d lines are left of %d:\n%s", seed, lines, all, small)
		if lines > all*3/4 {
			t.Errorf("%d lines are left of %d", lines, all)
		}
		return
	}
	t.Fatal("no machine fails without its counters")
}
