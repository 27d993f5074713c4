package validate_test

import (
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Edits that findings of the fixtures carry take the finding away and bring no
// error that was not there.
func TestFixesOfFixtures(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, r := range validate.Rules {
		for _, file := range fixtures(t, r.Code, "bad") {
			tried += tryFixes(t, filepath.Base(file), read(t, file))
		}
	}
	if tried < 3 {
		t.Errorf("%d fixes were tried, want at least 3", tried)
	}
}

var longWord = regexp.MustCompile(`[a-z][a-z_]{3,}`)

// A slip in any word of a sound machine: with the edits of its findings the
// machine is sound again.
func TestFixesOfSlips(t *testing.T) {
	t.Parallel()
	machines, slips := 2, 6
	if campaign.On() {
		machines, slips = 40, 60
	}
	tried, sound := 0, 0
	for seed := uint64(1); sound < machines; seed++ {
		r := rand.New(rand.NewPCG(seed, 36))
		text := fuzzmachines.Random(r)
		if _, found := validate.Source("a.yaml", []byte(text)); found.HasErrors() {
			continue
		}
		sound++
		words := longWord.FindAllStringIndex(text, -1)
		for range slips {
			w := words[r.IntN(len(words))]
			i := w[0] + 1 + r.IntN(w[1]-w[0]-1)
			slip := text[:i] + string(rune('a'+r.IntN(26))) + text[i+r.IntN(2):]
			if r.IntN(10) == 0 {
				slip = regexp.MustCompile(` (==|>=|<=|!=) `).ReplaceAllStringFunc(text, func(s string) string {
					return map[string]string{" == ": " = ", " >= ": " => ", " <= ": " =< ", " != ": " <> "}[s]
				})
			}
			tried += tryFixes(t, "a.yaml", []byte(slip))
		}
	}
	if tried < machines*slips/4 {
		t.Errorf("%d fixes were tried for %d slips, want at least a quarter", tried, machines*slips)
	}
	t.Logf("%d slips, %d fixes", machines*slips, tried)
}

// tryFixes applies each fix of a file alone, and then all until none is left.
func tryFixes(t *testing.T, file string, src []byte) int {
	t.Helper()
	_, was := validate.Source(file, src)
	n := 0
	for _, d := range was {
		if len(d.Fix) == 0 {
			continue
		}
		n++
		next, _ := spec.Diagnostics{d}.Fixed(src)
		parsed, is := validate.Source(file, next)
		for _, f := range is {
			same := func(o spec.Diagnostic) bool { return o.Code == f.Code && o.Message == f.Message }
			if f.Severity == spec.Error && !slices.ContainsFunc(was, same) && parsed == nil {
				t.Errorf("%v: its edit leads to %v\n%s", d, f, next)
			}
		}
	}
	text := src
	for range 10 {
		_, found := validate.Source(file, text)
		next, k := found.Fixed(text)
		if k == 0 {
			return n
		}
		text = next
	}
	t.Errorf("%s: edits have no end", file)
	return n
}
