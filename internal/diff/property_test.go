package diff_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/spec"
)

// shipped returns the specifications of the repository by name.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d specifications, want at least 5 (%v)", len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = string(src)
	}
	return all
}

// parse returns the machine of a text, or nil.
func parse(file, src string) *spec.Machine {
	m, found := spec.Parse(file, []byte(src))
	if found.HasErrors() {
		return nil
	}
	return m
}

// A machine that is compared with itself did not change.
func TestNothingChanged(t *testing.T) {
	t.Parallel()
	for name, src := range shipped(t) {
		r := diff.Machines(parse("old.yaml", src), parse("new.yaml", src))
		if len(r.Changes) > 0 || r.Breaking() {
			t.Errorf("%s: %s", name, r.Text())
		}
	}
}

// Whatever is edited: a change of the meaning is noticed in both directions, and
// what does not change the meaning breaks nobody. Places stand in the files.
func TestNoEditGoesUnnoticed(t *testing.T) {
	t.Parallel()
	for name, src := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := parse("old.yaml", src)
			codes := map[string]int{}
			edits, meant, every := 0, 0, 3
			if campaign.On() {
				every = 1
			}
			draw := rand.New(rand.NewPCG(1, 2))
			for _, edited := range edit(src) {
				if draw.IntN(every) > 0 {
					continue
				}
				next := parse("new.yaml", edited)
				if next == nil {
					continue
				}
				edits++
				there, back := diff.Machines(old, next), diff.Machines(next, old)
				places(t, there, src, edited)
				for _, c := range there.Changes {
					codes[c.Code]++
				}
				if old.Hash == next.Hash {
					if there.Breaking() || back.Breaking() {
						t.Errorf("the meaning is the same, and yet:\n%s%s", there.Text(), changedLines(src, edited))
					}
					continue
				}
				meant++
				if len(there.Changes) == 0 || len(back.Changes) == 0 {
					t.Errorf("%d changes, %d on the way back, for\n%s", len(there.Changes), len(back.Changes), changedLines(src, edited))
				}
			}
			if small := len(old.States) == 1; !small && (edits < 80/every || meant < 16/every || len(codes) < 7) {
				t.Errorf("%d edits were understood, %d changed the meaning, %d codes: want more", edits, meant, len(codes))
			}
			t.Logf("%d edits, %d of the meaning: %v", edits, meant, codes)
		})
	}
}

// places holds every place to its file.
func places(t *testing.T, r *diff.Report, old, next string) {
	t.Helper()
	for _, c := range r.Changes {
		if c.Message == "" || c.Old.IsZero() && c.New.IsZero() || c.Breaking() != (c.Code != "" && c.Code != "FSM709") {
			t.Fatalf("a change without a place, or with the wrong class: %+v", c)
		}
		if c.Old.Line > strings.Count(old, "\n")+1 || c.New.Line > strings.Count(next, "\n")+1 {
			t.Fatalf("%+v stands behind the end", c)
		}
	}
}

// edit returns the text without each line, and with words replaced by others of
// the file and by near numbers and operators.
func edit(src string) []string {
	lines := strings.Split(src, "\n")
	with := func(i int, replaced ...string) string {
		return strings.Join(slices.Concat(lines[:i], replaced, lines[i+1:]), "\n")
	}
	words := strings.FieldsFunc(src, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", c) })
	swaps := [][2]string{{"true", "false"}, {"<", "<="}, {"<=", "<"}, {"==", "!="}, {"required", "optional"}, {"optional ", ""}, {"type: ", "type: optional "},
		{"reject", "record_only"}, {"caller", "operator"}, {"present", "absent"}, {"5", "4"}, {"1", "2"}, {"10m", "1m"}, {"set:", "clear:"}}
	var list []string
	for i, text := range lines {
		code, _, _ := strings.Cut(text, "#")
		if strings.TrimSpace(code) == "" {
			continue
		}
		list = append(list, with(i))
		for _, s := range swaps {
			if strings.Contains(code, s[0]) {
				list = append(list, with(i, strings.Replace(code, s[0], s[1], 1)))
			}
		}
		for n, w := range strings.Fields(code) {
			name := strings.Trim(w, "[]{},:")
			if len(name) < 3 {
				continue
			}
			for k := range 2 {
				list = append(list, with(i, strings.Replace(code, name, words[(i*31+n*7+k*101)%len(words)], 1)))
			}
			list = append(list, with(i, strings.Replace(code, name+", ", "", 1)), with(i, strings.Replace(code, ", "+name, "", 1)))
		}
	}
	return list
}

// changedLines shows what an edit did.
func changedLines(old, next string) string {
	a, b := strings.Split(old, "\n"), strings.Split(next, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return "- " + strings.Join(a, "\n- ") + "\n+ " + strings.Join(b, "\n+ ")
}

// The kind of a state is for pictures: nobody has to know that it changed.
func TestKindIsNoChange(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, src := range shipped(t) {
		bare := regexp.MustCompile(`(?m)^    kind: \w+\n`).ReplaceAllString(src, "")
		seen += len(src) - len(bare)
		for _, pair := range [][2]string{{src, bare}, {bare, src}} {
			if r := diff.Machines(parse("old.yaml", pair[0]), parse("new.yaml", pair[1])); len(r.Changes) > 0 {
				t.Errorf("%s: %s", name, r.Text())
			}
		}
	}
	if seen == 0 {
		t.Error("no shipped machine has a kind: this test sees nothing")
	}
}
