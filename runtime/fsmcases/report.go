package fsmcases

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

var refusingGuard = regexp.MustCompile(`refused guard (\S+)`)

// see names the lines of the specification that speak of a case: its operation, and the guard
// of a refusal that came or that should have come.
func (p *Package[R]) see(c *Case, got string) string {
	text := p.where("operations", c.Do)
	for _, guard := range refusingGuard.FindAllStringSubmatch(c.Want+"\n"+got, -1) {
		if at := p.where("guards", guard[1]); !strings.Contains(text, at) {
			text += at
		}
	}
	return text
}

// where names the line on which the specification begins to speak of something: of lines
// that have the name as a key the first that stands in no other one. It is empty where the
// specification does not lie beside the package.
func (p *Package[R]) where(section, name string) string {
	text, err := os.ReadFile(filepath.FromSlash(p.Spec))
	if err != nil || name == "" {
		return ""
	}
	key := regexp.MustCompile(`(^|[\s{,])["']?` + regexp.QuoteMeta(name) + `["']?\s*:`)
	in, found, depth := false, 0, 0
	for i, line := range strings.Split(string(text), "\n") {
		rest := strings.TrimLeft(line, " ")
		if rest == "" || rest[0] == '#' {
			continue
		}
		indent := len(line) - len(rest)
		if indent == 0 && rest[0] != '}' {
			in = strings.HasPrefix(rest, section+":")
		}
		if in && (found == 0 || indent < depth) && key.MatchString(line) {
			found, depth = i+1, indent
		}
	}
	if found == 0 {
		return ""
	}
	return fmt.Sprintf("\n\tsee %s:%d (%s)", p.Spec, found, name)
}
