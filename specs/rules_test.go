// Package specs_test holds the six machines of this folder to the documents
// they are written after: rule by rule (RULES.md) and by the transition tables.
// It does not test what the compiler makes of them.
package specs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// machines are the specifications of this folder and the number of the
// document that each is written after.
var machines = []struct{ name, source string }{
	{"execution", "000"},
	{"job", "000"},
	{"jobstate", "001"},
	{"lifecycle", "002"},
	{"ingest", "003"},
	{"task", "004"},
}

func TestRulesStandInTheFiles(t *testing.T) {
	t.Parallel()
	page := readFile(t, "RULES.md")
	all := parseRules(page)
	for _, m := range machines {
		rules := all[m.name]
		if len(rules) < 5 {
			t.Errorf("%s: RULES.md has %d rules; is the table broken?", m.name, len(rules))
		}
		paths := 0
		for _, r := range rules {
			paths += len(r.paths)
		}
		t.Logf("%s: %d rules, %d paths", m.name, len(rules), paths)
		for _, p := range checkRules(m.source, rules, readFile(t, m.name+".yaml")) {
			t.Errorf("%s.yaml: %s", m.name, p)
		}
	}
}

// TestRulesNoticeEveryChange mutates a copy of each file at every path of
// every rule: without the line, with another value, and without the citation
// the rule must be reported.
func TestRulesNoticeEveryChange(t *testing.T) {
	t.Parallel()
	all := parseRules(readFile(t, "RULES.md"))
	for _, m := range machines {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			text := readFile(t, m.name+".yaml")
			lines := strings.Split(text, "\n")
			for _, r := range all[m.name] {
				for _, p := range r.paths {
					at, ok := find(lines, p.path)
					if !ok {
						t.Errorf("%s: no such path", p.path)
						continue
					}
					deleted := slices.Delete(slices.Clone(lines), at.line, at.end)
					expectRule(t, m.source, r, "without "+p.path, deleted)

					if p.value != "" {
						changed := slices.Clone(lines)
						changed[at.line] = lines[at.line][:at.col] + "x" + lines[at.line][at.col:]
						expectRule(t, m.source, r, "another value at "+p.path, changed)
					}

					uncited := slices.Clone(lines)
					for _, n := range near(lines, p.path) {
						uncited[n] = strings.ReplaceAll(uncited[n], m.source+":", "line ")
					}
					expectRule(t, m.source, r, "no citation at "+p.path, uncited)
				}
			}

			foreign := append(slices.Clone(lines), "# "+m.source+":999")
			if got := checkRules(m.source, all[m.name], strings.Join(foreign, "\n")); len(got) == 0 {
				t.Errorf("a citation of line 999, which is no rule, is not noticed")
			}
		})
	}
}

func expectRule(t *testing.T, source string, r rule, what string, lines []string) {
	t.Helper()
	for _, p := range checkRules(source, []rule{r}, strings.Join(lines, "\n")) {
		if p.rule == r.line {
			return
		}
	}
	t.Errorf("rule %s:%s (RULES.md:%d): %s: not noticed", source, r.lines, r.line, what)
}

// TestRulesNameTests demands the tests that RULES.md names, in the folder that follows
// them in brackets.
func TestRulesNameTests(t *testing.T) {
	t.Parallel()
	lists := regexp.MustCompile("((?:`Test[A-Za-z0-9]+` )+)\\(([a-z/]+)\\)")
	name := regexp.MustCompile("Test[A-Z][A-Za-z0-9]+")
	page := readFile(t, "RULES.md")
	named := 0
	for _, list := range lists.FindAllStringSubmatch(page, -1) {
		for _, test := range name.FindAllString(list[1], -1) {
			named++
			files, err := filepath.Glob(filepath.Join("..", list[2], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(f string) bool { return strings.Contains(readFile(t, f), "\nfunc "+test+"(t *testing.T)") }) {
				t.Errorf("%s is in no test of %s", test, list[2])
			}
		}
	}
	if all := len(name.FindAllString(page, -1)); named != all || all == 0 {
		t.Errorf("%d of %d tests are named with their folder", named, all)
	}
}

// TestRulesResolutions holds the resolutions that files and rows name to the
// last table of RULES.md.
func TestRulesResolutions(t *testing.T) {
	t.Parallel()
	page := readFile(t, "RULES.md")
	head, table, ok := strings.Cut(page, "\n## Resolutions\n")
	if !ok {
		t.Fatal("RULES.md has no section Resolutions")
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (C\d+) \|`).FindAllStringSubmatch(table, -1) {
		known[m[1]] = true
	}
	if len(known) != 32 {
		t.Errorf("RULES.md lists %d resolutions; want 32", len(known))
	}
	name := regexp.MustCompile(`\bC\d+\b`)
	used := map[string]bool{}
	for _, r := range parseRules(head) {
		for _, row := range r {
			for _, c := range name.FindAllString(row.otherwise, -1) {
				used[c] = true
				if !known[c] {
					t.Errorf("RULES.md:%d: %s is no resolution", row.line, c)
				}
			}
		}
	}
	for c := range known {
		if !used[c] {
			t.Errorf("no rule names the resolution %s", c)
		}
	}
	for _, m := range machines {
		for i, line := range strings.Split(readFile(t, m.name+".yaml"), "\n") {
			_, comment := splitComment(line)
			for _, c := range name.FindAllString(comment, -1) {
				if !known[c] {
					t.Errorf("%s.yaml:%d: %s is no resolution", m.name, i+1, c)
				}
			}
		}
	}
}

// rule is one row of a table of RULES.md.
type rule struct {
	line      int    // of RULES.md
	lines     string // "36-38, 90": lines of the source
	paths     []rulePath
	otherwise string
}

// rulePath is a path into a specification and the value that must stand there;
// an empty value asks for the key only.
type rulePath struct{ path, value string }

// problem is a difference between RULES.md and a file; rule is its line in
// RULES.md, 0 when the file cites what no rule knows.
type problem struct {
	rule int
	text string
}

func (p problem) String() string {
	if p.rule == 0 {
		return p.text
	}
	return fmt.Sprintf("RULES.md:%d: %s", p.rule, p.text)
}

var (
	sectionForm = regexp.MustCompile(`^## \d{3} → (\w+)\.yaml$`)
	linesForm   = regexp.MustCompile(`^\d+(-\d+)?(, \d+(-\d+)?)*$`)
	codeForm    = regexp.MustCompile("`([^`]+)`")
	reasonForm  = regexp.MustCompile(`^(built-in|generated|runtime|not expressible): .`)
	pathForm    = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*|\[\d+\])*$`)
	citeForm    = regexp.MustCompile(`\b(\d{3}):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)`)
)

// parseRules returns the rows of RULES.md by the machine.
func parseRules(page string) map[string][]rule {
	out := map[string][]rule{}
	machine := ""
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "## ") {
			machine = ""
			if m := sectionForm.FindStringSubmatch(line); m != nil {
				machine = m[1]
			}
		}
		if machine == "" || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| source |") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(strings.ReplaceAll(cells[j], "\x00", "|"))
		}
		r := rule{line: i + 1}
		if len(cells) == 6 {
			r.lines, r.otherwise = cells[1], cells[4]
			for _, m := range codeForm.FindAllStringSubmatch(cells[3], -1) {
				path, value, _ := strings.Cut(m[1], ":")
				r.paths = append(r.paths, rulePath{path, strings.TrimSpace(value)})
			}
		}
		out[machine] = append(out[machine], r)
	}
	return out
}

// checkRules compares rows with the text of a specification.
func checkRules(source string, rules []rule, text string) []problem {
	lines := strings.Split(text, "\n")
	var out []problem
	report := func(r int, format string, args ...any) {
		out = append(out, problem{r, fmt.Sprintf(format, args...)})
	}
	known := map[int][]int{} // lines of the source that a rule ties to a line of the file
	for _, r := range rules {
		if !linesForm.MatchString(r.lines) {
			report(r.line, "cannot read the row: lines %q; expected e.g. `| 36-38, 90 | rule | paths | otherwise |`", r.lines)
			continue
		}
		want := expand(r.lines)
		if len(r.paths) == 0 && !reasonForm.MatchString(r.otherwise) {
			report(r.line, "the rule stands nowhere, and %q is no reason; expected `built-in: ...`, `generated: ...`, `runtime: ...` or `not expressible: ...`", r.otherwise)
		}
		found := map[int]bool{}
		for _, p := range r.paths {
			if !pathForm.MatchString(p.path) {
				report(r.line, "cannot read the path %q", p.path)
				continue
			}
			at, ok := find(lines, p.path)
			if !ok {
				report(r.line, "%s is not in the file", p.path)
				continue
			}
			if p.value != "" && at.value != p.value {
				report(r.line, "%s is %q; want %q", p.path, at.value, p.value)
			}
			cited := false
			for _, n := range near(lines, p.path) {
				known[n] = append(known[n], want...)
				for _, c := range cites(lines[n], source) {
					if slices.Contains(want, c) {
						cited, found[c] = true, true
					}
				}
			}
			if !cited {
				report(r.line, "no comment at %s cites %s:%s", p.path, source, r.lines)
			}
		}
		for _, n := range want {
			if len(r.paths) > 0 && !found[n] {
				report(r.line, "no comment at one of the paths cites %s:%d", source, n)
			}
		}
	}
	for i, line := range lines {
		for _, c := range cites(line, source) {
			if !slices.Contains(known[i], c) && !header(lines, i) {
				report(0, "line %d cites %s:%d, but no rule of RULES.md ties that line to this place", i+1, source, c)
			}
		}
	}
	return out
}

// header reports whether line i belongs to the comment that opens the file and
// explains what a citation is.
func header(lines []string, i int) bool {
	for _, line := range lines[:i+1] {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// cites returns the lines of the source that the comment of a line names.
func cites(line, source string) []int {
	_, comment := splitComment(line)
	var out []int
	for _, m := range citeForm.FindAllStringSubmatch(comment, -1) {
		if m[1] == source {
			out = append(out, expand(m[2])...)
		}
	}
	return out
}

// expand turns "36-38, 90" into 36, 37, 38, 90.
func expand(lines string) []int {
	var out []int
	for part := range strings.SplitSeq(lines, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, _ := strconv.Atoi(low)
		to := from
		if isRange {
			to, _ = strconv.Atoi(high)
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
