package validate

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// The first fixture of each rule is its example: what `fsmgen explain` shows is
// what the tests run.
//
//go:embed testdata/FSM*/bad.yaml testdata/FSM*/ok.yaml testdata/FSM*/old.yaml
var examples embed.FS

// Bad returns a specification in which the rule finds something. A comment
// names the code on the guilty line.
func (r Rule) Bad() string { return r.example("bad.yaml") }

// Good returns the mended specification.
func (r Rule) Good() string { return r.example("ok.yaml") }

// Old returns the version that [Rule.Bad] and [Rule.Good] are compared with, for
// a rule about changes; else it is empty.
func (r Rule) Old() string { return r.example("old.yaml") }

func (r Rule) example(file string) string {
	text, err := examples.ReadFile("testdata/" + r.Code + "/" + file)
	if err != nil {
		return "" // the test of the table refuses a rule without examples
	}
	return string(text)
}

// Finding returns what is reported for [Rule.Bad], one line per finding.
func (r Rule) Finding() string {
	_, found := r.Check("bad.yaml", []byte(r.Bad()))
	var b strings.Builder
	for _, d := range found {
		if d.Severity == spec.Info && r.Severity != spec.Info {
			continue // a fact about the machine, which the example is not about
		}
		fmt.Fprintln(&b, d)
		if d.Before != "" {
			fmt.Fprintf(&b, "    before: %s\n", d.Before)
		}
		if d.After != "" {
			fmt.Fprintf(&b, "    after:  %s\n", d.After)
		}
		if d.Hint != "" {
			fmt.Fprintf(&b, "    hint: %s\n", d.Hint)
		}
	}
	return b.String()
}

// Document returns RULES.md: every rule with its reason, and an example that
// was run.
func Document() []byte {
	var b bytes.Buffer
	b.WriteString("# What `fsmgen check` and `fsmgen diff` find\n\n" +
		"Generated from the rule table by `go test ./internal/validate -update`; do not edit.\n" +
		"`fsmgen explain CODE` prints one of these pages. Codes are stable and never used again for something else.\n\n" +
		"| code | severity | finds |\n|---|---|---|\n")
	for _, r := range Rules {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(r.Code), r.Severity, r.Name)
	}
	for _, r := range Rules {
		fmt.Fprintf(&b, "\n## %s\n\n%s (%s).\n\n%s\n", r.Code, capital(r.Name), r.Severity, r.Doc)
		if r.Changes {
			fmt.Fprintf(&b, "\nThe old version:\n\n```yaml\n%s```\n\nThe new one:\n", r.Old())
		}
		fmt.Fprintf(&b, "\n```yaml\n%s```\n\n```text\n%s```\n\nMended:\n\n```yaml\n%s```\n", visible.Replace(r.Bad()), r.Finding(), r.Good())
	}
	b.WriteString(proofNotes)
	return b.Bytes()
}

// visible shows the character that the example of FSM009 hides.
var visible = strings.NewReplacer("\u2028", "<U+2028>")

// capital makes the first letter a capital; names are ASCII.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
