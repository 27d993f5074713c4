package validate_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens and RULES.md instead of comparing with them")

// code is how a code looks.
var code = regexp.MustCompile(`^FSM[0-9]{3}$`)

// want is a comment on the line where a finding is expected.
var want = regexp.MustCompile(`# want (FSM[0-9]{3})`)

func read(t testing.TB, file string) []byte {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// golden compares got with a file, or writes the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(read(t, file)), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run `go test ./internal/validate -update` when it is meant:\n%s", file, diff)
	}
}

// render writes findings as the goldens hold them: everything a reader is
// told, without the snippet.
func render(found spec.Diagnostics) []byte {
	var b bytes.Buffer
	for _, d := range found {
		fmt.Fprintln(&b, d)
		if d.Before != "" {
			fmt.Fprintf(&b, "    before: %s\n", d.Before)
		}
		if d.After != "" {
			fmt.Fprintf(&b, "    after:  %s\n", d.After)
		}
		for _, r := range d.Related {
			fmt.Fprintf(&b, "    %s: %s\n", r.Pos, r.Message)
		}
		if d.Hint != "" {
			fmt.Fprintf(&b, "    hint: %s\n", d.Hint)
		}
	}
	return b.Bytes()
}

// findingsOnly leaves out what is a fact about the machine and no finding.
func findingsOnly(found spec.Diagnostics) spec.Diagnostics {
	return slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info })
}

// fixtures lists the files of a rule that begin with the prefix.
func fixtures(t *testing.T, code, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", code, prefix+"*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A rule cannot be in the table without a reason, an example that it refuses,
// one that it lets pass, and a message that somebody has looked at.
func TestRuleTable(t *testing.T) {
	t.Parallel()
	var codes, names []string
	for _, r := range validate.Rules {
		if !code.MatchString(r.Code) {
			t.Errorf("code %q: want FSM and three digits", r.Code)
		}
		if r.Name == "" || len(r.Doc) < 80 {
			t.Errorf("%s: want a name and a text that says why it matters", r.Code)
		}
		if r.Severity != spec.Error && r.Severity != spec.Warning && r.Severity != spec.Info {
			t.Errorf("%s: severity %s", r.Code, r.Severity)
		}
		if len(fixtures(t, r.Code, "bad")) == 0 || len(fixtures(t, r.Code, "ok")) == 0 {
			t.Errorf("%s: want testdata/%[1]s/bad.yaml and ok.yaml", r.Code)
		}
		if len(r.Bad()) == 0 || len(r.Good()) == 0 {
			t.Errorf("%s: the examples are not embedded", r.Code)
		}
		if got, ok := validate.Explain(r.Code); !ok || got.Name != r.Name {
			t.Errorf("Explain(%q) = %q, %t", r.Code, got.Name, ok)
		}
		codes, names = append(codes, r.Code), append(names, r.Name)
	}
	if !slices.IsSorted(codes) {
		t.Errorf("the rules are not in the order of their codes: %v", codes)
	}
	for _, list := range [][]string{codes, slices.Sorted(slices.Values(names))} {
		if n := len(slices.Compact(slices.Clone(list))); n != len(list) {
			t.Errorf("%d of %d codes or names are there twice: %v", len(list)-n, len(list), list)
		}
	}
	if _, ok := validate.Explain("FSM000"); ok {
		t.Error("FSM000 has an explanation")
	}
	dirs, err := filepath.Glob("testdata/FSM*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if _, ok := validate.Explain(filepath.Base(dir)); !ok {
			t.Errorf("%s belongs to no rule", dir)
		}
	}
}

// The page of a finding shows an example with this finding and no other, and one
// with none at all: not even a warning. Both can be read at a glance.
func TestExplained(t *testing.T) {
	t.Parallel()
	const width = 72
	for _, r := range validate.Rules {
		t.Run(r.Code, func(t *testing.T) {
			t.Parallel()
			_, found := r.Check("bad.yaml", []byte(r.Bad()))
			if r.Severity != spec.Info {
				found = findingsOnly(found)
			}
			for _, d := range found {
				if d.Code != r.Code {
					t.Errorf("the bad example has another finding: %s", d)
				}
			}
			if len(found) == 0 {
				t.Errorf("the bad example has no finding:\n%s", r.Bad())
			}
			// What `check --strict` looks at, with --model for the model's findings.
			if m, found := r.Check("good.yaml", []byte(r.Good())); m == nil || len(findingsOnly(found)) > 0 {
				t.Errorf("the good example has findings:\n%s", render(found))
			}
			page := r.Page(width)
			for name, text := range map[string]string{"old": r.Old(), "bad": r.Bad(), "good": r.Good()} {
				lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				if len(lines) > 35 {
					t.Errorf("the %s example has %d lines, want at most 35", name, len(lines))
				}
				for _, line := range lines {
					if len(line) > 100 {
						t.Errorf("the %s example has a line of %d characters, want at most 100: %s", name, len(line), line)
					}
					if line = strings.ReplaceAll(line, "\u2028", "<U+2028>"); !strings.Contains(page, line+"\n") {
						t.Errorf("the page does not show %q", line)
					}
				}
			}
			if !strings.Contains(page, "["+r.Code+"]") {
				t.Error("the page does not show what is reported")
			}
			doc, _, _ := strings.Cut(page, "\nBad:\n")
			doc, _, _ = strings.Cut(doc, "\nBefore:\n")
			for line := range strings.Lines(doc) {
				if len(strings.TrimSuffix(line, "\n")) > width {
					t.Errorf("a line is longer than %d characters: %s", width, line)
				}
			}
			if got, want := strings.Fields(doc), strings.Fields(fmt.Sprintf("%s: %s (%s) %s", r.Code, r.Name, r.Severity, r.Doc)); !slices.Equal(got, want) {
				t.Errorf("words (-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

// Every code that parsing can report is explained.
func TestParsedCodesAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range spec.Codes {
		if r, ok := validate.Explain(c.ID); !ok || r.Run != nil {
			t.Errorf("%s (%s): explained %t, run by validate %t", c.ID, c.Title, ok, r.Run != nil)
		}
	}
}

// A bad fixture gives findings of its rule only, on the lines that say so, and
// with the messages of the golden beside it.
func TestBadFixtures(t *testing.T) {
	t.Parallel()
	for _, r := range validate.Rules {
		for _, file := range fixtures(t, r.Code, "bad") {
			t.Run(filepath.ToSlash(file), func(t *testing.T) {
				t.Parallel()
				src := read(t, file)
				_, found := r.Check(filepath.Base(file), src)
				if r.Severity != spec.Info {
					found = findingsOnly(found)
				}
				var wanted, got []string
				for i, line := range strings.Split(string(src), "\n") {
					if m := want.FindStringSubmatch(line); m != nil {
						wanted = append(wanted, fmt.Sprintf("%s line %d", m[1], i+1))
					}
				}
				for _, d := range found {
					got = append(got, fmt.Sprintf("%s line %d", d.Code, d.Pos.Line))
					if d.Severity != r.Severity {
						t.Errorf("%s: want severity %s", d, r.Severity)
					}
					if d.Hint == "" {
						t.Errorf("%s: the finding says nothing about the fix", d)
					}
				}
				if diff := cmp.Diff(wanted, slices.Compact(got)); diff != "" || len(wanted) == 0 {
					t.Errorf("findings (-want +got):\n%s\n%s", diff, render(found))
				}
				golden(t, strings.TrimSuffix(file, ".yaml")+".golden", render(found))
			})
		}
	}
}

// A good fixture gives no finding at all: the fix must not bring the next
// complaint.
func TestGoodFixtures(t *testing.T) {
	t.Parallel()
	for _, r := range validate.Rules {
		for _, file := range fixtures(t, r.Code, "ok") {
			t.Run(filepath.ToSlash(file), func(t *testing.T) {
				t.Parallel()
				m, found := r.Check(filepath.Base(file), read(t, file))
				if found = findingsOnly(found); len(found) > 0 || m == nil {
					t.Errorf("want no finding, got\n%s", render(found))
				}
			})
		}
	}
}

func TestShippedSpecificationsHaveNoFinding(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d specifications, want at least 5 (%v)", len(files), err)
	}
	for _, file := range files {
		if m, found := validate.Source(filepath.Base(file), read(t, file)); len(findingsOnly(found)) > 0 || m == nil {
			t.Errorf("%s", render(found))
		}
	}
}

// A machine's name is a package, a folder and the beginning of its tables.
func TestReservedMachineNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		reserved bool
	}{
		{"func", true}, {"string", true}, {"any", true}, {"main", true}, {"internal", true}, {"vendor", true}, {"testdata", true},
		{"documentation", true}, {"door_test", true}, {"fsm", true}, {"fsm_meta", true}, {"fsm_made", true}, {"sqlite_door", true}, {"pg_door", true}, {"pg_class", true},
		{"door", false}, {"test", false}, {"fsm_door", false}, {"time", false}, {"errors", false}, {"sqlite", false}, {"pg", false}, {"pgdoor", false},
	}
	good, _ := validate.Explain("FSM018")
	for _, tt := range tests {
		src := strings.Replace(good.Good(), "machine: door", "machine: "+tt.name, 1)
		_, found := validate.Source("x.yaml", []byte(src))
		reserved := len(found) == 1 && found[0].Code == "FSM018" && found[0].Pos == spec.Pos{Line: 2, Col: 10} && found[0].Len == len(tt.name)
		if reserved != tt.reserved || !tt.reserved && len(found) > 0 {
			t.Errorf("machine %s: findings %s", tt.name, render(found))
		}
	}
}

// Findings do not depend on the order in which maps are walked.
func TestRunIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, r := range validate.Rules {
		for _, file := range fixtures(t, r.Code, "bad") {
			src := read(t, file)
			_, first := validate.Source(file, src)
			for range 3 {
				if _, again := validate.Source(file, src); !cmp.Equal(render(first), render(again)) {
					t.Errorf("%s: findings differ:\n%s\n%s", file, render(first), render(again))
				}
			}
		}
	}
}

func TestRulesDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	golden(t, "RULES.md", validate.Document())
}

// TestCases demands the codes that the first line of a case names.
func TestCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d cases (%v), want at least 10", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, found := validate.Source(file, src)
		var got []string
		for _, d := range found {
			if d.Severity == spec.Error {
				got = append(got, d.Code)
			}
		}
		slices.Sort(got)
		line, _, _ := strings.Cut(string(src), "\n")
		if got, want := strings.Join(slices.Compact(got), " "), strings.TrimPrefix(line, "# refused for "); got != want {
			t.Errorf("%s is refused for %s, want %s", file, got, want)
		}
	}
}
