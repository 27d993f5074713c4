package validate

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// The first fixture of each rule is its example: what `fsmgen explain` shows is
// what the tests run.
//
//go:embed testdata/FSM*/bad.yaml testdata/FSM*/ok.yaml testdata/FSM*/old.yaml
var examples embed.FS

// PageOf is the address at which a finding is documented.
func PageOf(code string) string {
	return "https://github.com/fsmgen/fsmgen/blob/main/internal/validate/RULES.md#" + strings.ToLower(code)
}

// Bad returns a specification in which the rule finds something. A comment
// names the code on the guilty line.
func (r Rule) Bad() string { return r.example("bad.yaml") }

// Good returns the fixed specification.
func (r Rule) Good() string { return r.example("ok.yaml") }

// Old returns the version that [Rule.Bad] and [Rule.Good] are compared with, for
// a rule about changes; else it is empty.
func (r Rule) Old() string { return r.example("old.yaml") }

func (r Rule) example(file string) string {
	text, err := examples.ReadFile("testdata/" + r.Code + "/" + file)
	if err != nil {
		return "" // the test of the table refuses a rule without examples
	}
	return strings.ReplaceAll(string(text), "# want FSM", "# FSM")
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

// Page returns what `fsmgen explain` prints: the reason, an example that the rule
// refuses, what is reported for it, and the fixed example, with > before the lines that
// differ. Sentences are wrapped to width characters; examples are as they are.
func (r Rule) Page(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)\n\n%s", r.Code, r.Name, r.Severity, Wrapped(r.Doc, width, ""))
	bad := strings.Split(strings.ReplaceAll(r.Bad(), "# "+r.Code, ""), "\n")
	for i := range bad {
		bad[i] = strings.TrimRight(bad[i], " ")
	}
	example := func(title, text string, fixed bool) {
		fmt.Fprintf(&b, "\n%s:\n\n", title)
		for line := range strings.Lines(visible.Replace(text)) {
			mark := "  "
			if fixed && !slices.Contains(bad, strings.TrimRight(line, " \n")) {
				mark = "> "
			}
			b.WriteString(mark + line)
		}
	}
	if r.Changes {
		example("Before", r.Old(), false)
	}
	example("Bad", r.Bad(), false)
	b.WriteString("\nReported:\n\n")
	for line := range strings.Lines(r.Finding()) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		b.WriteString(Wrapped(line, width, indent+"  "))
	}
	example("Good", r.Good(), true)
	return b.String()
}

// Wrapped breaks a paragraph between words, so that lines have at most width
// characters where their words allow it. Each line begins with the indent.
func Wrapped(text string, width int, indent string) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case used == 0:
			b.WriteString(indent + word)
			used = len(indent) + n
		case used+1+n > width:
			b.WriteString("\n" + indent + word)
			used = len(indent) + n
		default:
			b.WriteString(" " + word)
			used += 1 + n
		}
	}
	return b.String() + "\n"
}

// Markdown returns the page as Markdown, without a heading.
func (r Rule) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s).\n\n%s\n", capital(r.Name), r.Severity, r.Doc)
	if r.Changes {
		fmt.Fprintf(&b, "\nBefore:\n\n```yaml\n%s```\n", r.Old())
	}
	fmt.Fprintf(&b, "\nBad:\n\n```yaml\n%s```\n\nReported:\n\n```text\n%s```\n\nGood:\n\n```yaml\n%s```\n", visible.Replace(r.Bad()), r.Finding(), r.Good())
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
		fmt.Fprintf(&b, "\n## %s\n\n%s", r.Code, r.Markdown())
	}
	b.WriteString(proofNotes)
	return b.Bytes()
}

// visible shows the character that the example of FSM009 hides.
var visible = strings.NewReplacer("\u2028", "<U+2028>")

// capital makes the first letter a capital; names are ASCII.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
