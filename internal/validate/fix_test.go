package validate_test

import (
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
	tried := map[string]int{}
	for _, r := range validate.Rules {
		for _, file := range fixtures(t, r.Code, "bad") {
			tryFixes(t, filepath.Base(file), read(t, file), tried)
		}
	}
	for _, code := range []string{"FSM001", "FSM004", "FSM010", "FSM011", "FSM028", "FSM107", "FSM109", "FSM301", "FSM404", "FSM607"} {
		if tried[code] == 0 {
			t.Errorf("no fixture of %s has an edit", code)
		}
	}
}

var (
	longWord = regexp.MustCompile(`[a-z][a-z_]{3,}`)
	compared = regexp.MustCompile(` (==|>=|<=|!=) `)
	nameList = regexp.MustCompile(`(present|absent|clear|from|record_only_in|changed_by|require): \[([a-z_, ]+)\]`)
	oneFrom  = regexp.MustCompile(`from: ([a-z_]+)\n`)
	counter  = regexp.MustCompile(`\{type: counter, changed_by: \[[a-z_, ]+\]\}`)
	required = regexp.MustCompile(`(?m)^  ([a-z_]+): '?(string|int|bool|time)`)
	head     = regexp.MustCompile(`(?m)^otherwise: reject$`)
	ofStep   = regexp.MustCompile(`(?m)^    (from|creates): .*$`)
)

// slips are the faults of hands: a letter, or a sign of another language.
var slips = []planting{
	func(r *rand.Rand, text string) string {
		return replaced(r, text, longWord, func(w []string) string {
			i := 1 + r.IntN(len(w[0])-1)
			return w[0][:i] + string(rune('a'+r.IntN(26))) + w[0][i+r.IntN(2):]
		})
	},
	func(r *rand.Rand, text string) string {
		return replaced(r, text, compared, func(sign []string) string {
			return map[string]string{" == ": " = ", " >= ": " => ", " <= ": " =< ", " != ": " <> "}[sign[0]]
		})
	},
}

// neglects are what somebody forgets, or writes in vain.
var neglects = []planting{
	func(r *rand.Rand, text string) string { // a list has one less
		return replaced(r, text, nameList, func(list []string) string {
			names := strings.Split(list[2], ", ")
			i := r.IntN(len(names))
			return list[1] + ": [" + strings.Join(slices.Delete(names, i, i+1), ", ") + "]"
		})
	},
	func(r *rand.Rand, text string) string { // a list has one more, of its kind
		all := nameList.FindAllStringSubmatch(text, -1)
		return replaced(r, text, nameList, func(list []string) string {
			same := slices.DeleteFunc(slices.Clone(all), func(o []string) bool { return o[1] != list[1] })
			more := strings.Split(same[r.IntN(len(same))][2], ", ")
			return list[1] + ": [" + list[2] + ", " + more[r.IntN(len(more))] + "]"
		})
	},
	func(r *rand.Rand, text string) string { // a state promises what is always there
		always := []string{"created_at", "updated_at"}
		for _, f := range required.FindAllStringSubmatch(text, -1) {
			always = append(always, f[1])
		}
		return replaced(r, text, regexp.MustCompile(`present: \[([a-z_, ]+)\]`), func(list []string) string {
			return "present: [" + always[r.IntN(len(always))] + ", " + list[1] + "]"
		})
	},
	func(r *rand.Rand, text string) string { // an operation comes from one state more
		all := oneFrom.FindAllStringSubmatch(text, -1)
		return replaced(r, text, oneFrom, func(from []string) string {
			return "from: [" + from[1] + ", " + all[r.IntN(len(all))][1] + "]\n"
		})
	},
	func(r *rand.Rand, text string) string { // nobody says who changes a counter
		return replaced(r, text, counter, func([]string) string { return []string{"counter", "{type: counter}"}[r.IntN(2)] })
	},
	func(r *rand.Rand, text string) string { // something is allowed in vain
		code := []string{"FSM601", "FSM208", "FSM106"}[r.IntN(3)]
		if r.IntN(2) == 0 {
			return replaced(r, text, head, func(line []string) string { return line[0] + "\nallow: {" + code + ": 'it is meant, so'}" })
		}
		return replaced(r, text, ofStep, func(line []string) string {
			return line[0] + "\n    # people know\n    allow:\n      " + code + ": it is meant\n      FSM303: it is meant"
		})
	},
}

// planting plants a fault in a text; where the text has no place for it, it stays as it is.
type planting func(r *rand.Rand, text string) string

// replaced replaces one of the places of a form.
func replaced(r *rand.Rand, text string, form *regexp.Regexp, by func(found []string) string) string {
	places := form.FindAllStringSubmatchIndex(text, -1)
	if len(places) == 0 {
		return text
	}
	p := places[r.IntN(len(places))]
	var found []string
	for i := 0; i < len(p); i += 2 {
		found = append(found, text[p[i]:p[i+1]])
	}
	return text[:p[0]] + by(found) + text[p[1]:]
}

// A slip of the hand, or a line that somebody forgot or wrote in vain, in a sound
// random machine: with the edits of its findings, no error is there that was not.
func TestFixesOfSlips(t *testing.T) {
	t.Parallel()
	first, machines, faults := uint64(45), 6, 2 // quick ones
	if campaign.On() {
		first, machines, faults = 1, 20, 8
	}
	tried := map[string]int{}
	for seed := first; machines > 0; seed++ {
		r := rand.New(rand.NewPCG(seed, 36))
		text := fuzzmachines.Random(r)
		if strings.Contains(text, "\nprojection:") {
			continue // counting its groups takes seconds, and no edit is about them
		}
		if _, found := validate.Source("a.yaml", []byte(text)); found.HasErrors() {
			continue
		}
		machines--
		for i := range faults {
			for _, plant := range slices.Concat(slips, neglects) {
				faulty := plant(r, text)
				if faulty != text {
					tryFixes(t, "a.yaml", []byte(faulty), tried)
				}
				if i%5 == 4 {
					tryFixes(t, "a.yaml", []byte(strings.ReplaceAll(faulty, "\n", "\r\n")), tried)
				}
			}
		}
	}
	for _, code := range []string{"FSM001", "FSM010", "FSM011", "FSM301", "FSM404", "FSM607"} {
		if tried[code] == 0 {
			t.Errorf("no fault led to an edit of %s", code)
		}
	}
	t.Logf("fixes by code: %v", tried)
}

// tryFixes applies each fix of a file alone: its finding goes, and no error or warning
// comes; only of a machine that nobody could read before, warnings may. Then it makes
// all that need no decision: none of them is left, and no error is there that was not.
func tryFixes(t *testing.T, file string, src []byte, tried map[string]int) {
	t.Helper()
	m, was := validate.Source(file, src)
	was = validate.Tried(file, src, m, was)
	more := func(is spec.Diagnostics, f spec.Diagnostic) int {
		same := func(ds spec.Diagnostics) (n int) {
			for _, o := range ds {
				if o.Code == f.Code && o.Message == f.Message {
					n++
				}
			}
			return n
		}
		return same(is) - same(was)
	}
	fixed := false
	for _, d := range was {
		if len(d.Fix) == 0 {
			continue
		}
		fixed = true
		tried[d.Code]++
		next, _ := spec.Diagnostics{d}.Fixed(src)
		_, is := validate.Source(file, next)
		if more(is, d) >= 0 {
			t.Errorf("%v: its edit %v leaves it\n%s", d, d.Fix, next)
		}
		for _, f := range is {
			if more(is, f) > 0 && (f.Severity == spec.Error || f.Severity == spec.Warning && m != nil) {
				t.Errorf("%v: its edit %v leads to %v\n%s", d, d.Fix, f, next)
			}
		}
	}
	if !fixed {
		return
	}
	all := validate.Fixed(file, src)
	after, is := validate.Source(file, all)
	for _, f := range validate.Tried(file, all, after, is) {
		if len(f.Fix) > 0 && !validate.Choice(f) {
			t.Errorf("%v: its edit is left\n%s", f, all)
		}
		if f.Severity == spec.Error && more(is, f) > 0 {
			t.Errorf("all edits lead to %v\n%s\nbefore:\n%s", f, all, src)
		}
	}
}
