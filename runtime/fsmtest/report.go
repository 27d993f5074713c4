package fsmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// report prints the first few failures of one kind of test, and how many there were: one
// fault has many faces.
type report struct {
	*testing.T
	failed int
}

// mostShown is how many failures of one kind are printed.
const mostShown = 2

// Errorf notes a failure.
func (r *report) Errorf(format string, args ...any) {
	r.Helper()
	if r.failed++; r.failed <= mostShown {
		r.T.Errorf(format, args...)
	}
}

func (r *report) done() {
	if r.failed > mostShown {
		r.T.Errorf("... and %d more", r.failed-mostShown)
	}
}

// see names the lines of the specification that speak of a case: its operation, and the guard
// of a refusal that came or that should have come.
func (p *Package[R]) see(c *Case, got string) string {
	text := p.where("operations", c.Do)
	seen := map[string]bool{}
	for _, refusal := range []string{c.Want, got} {
		_, rest, _ := strings.Cut(refusal, "refused guard ")
		guard, _, _ := strings.Cut(rest, " ")
		if guard != "" && !seen[guard] {
			seen[guard] = true
			text += p.where("guards", guard)
		}
	}
	return text
}

// where names the line on which the specification begins to speak of something; empty where the
// specification does not lie beside the package.
func (p *Package[R]) where(section, name string) string {
	if p.Spec == "" || name == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.FromSlash(p.Spec))
	if err != nil {
		return ""
	}
	if n := lineOf(strings.Split(string(text), "\n"), section, name); n > 0 {
		return fmt.Sprintf("\n\tsee %s:%d (%s)", p.Spec, n, name)
	}
	return ""
}

// lineOf returns the number of the line on which a section of a specification begins to
// speak of a name; 0 where it is not found. Of lines that have the name as a key it is the
// first that stands in no other one.
func lineOf(lines []string, section, name string) int {
	key := regexp.MustCompile(`(^|[\s{,])["']?` + regexp.QuoteMeta(name) + `["']?\s*:`)
	in, found, depth := false, 0, 0
	for i, line := range lines {
		rest := strings.TrimLeft(line, " ")
		if rest == "" || rest[0] == '#' {
			continue
		}
		indent := len(line) - len(rest)
		if indent == 0 && rest[0] != '}' {
			if in {
				break
			}
			in = strings.HasPrefix(rest, section+":")
		}
		if in && (found == 0 || indent < depth) && key.MatchString(line) {
			found, depth = i+1, indent
		}
	}
	return found
}
