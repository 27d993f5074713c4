package gen

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/spec"
)

// guardWidth is the number of characters after which the guards of an
// operation stand on a line of their own each.
const guardWidth = 32

// boxWidth is the number of characters after which a list in the box of a state
// goes on in the next line.
const boxWidth = 40

// mermaidState returns an id that no legal state name can turn into a keyword of
// Mermaid: names are [a-z][a-z0-9_]*, and no keyword begins with "s_".
func mermaidState(s *spec.State) string { return "s_" + s.Name }

// mermaidEscape returns s as text that Mermaid shows as it is, inside a label, a note
// or a state's description. Everything but letters, digits, spaces and a few
// harmless signs becomes an entity code: `:` and `;` end a label, `#` begins an
// entity, `<` a tag, `%%` a comment, and `*`, `_` and backticks are markup.
func mermaidEscape(s string) string {
	var b strings.Builder
	rs := []rune(foldedLine(s))
	for i, r := range rs {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" .,()[]=+!?/'-→≤≥", r):
			b.WriteRune(r)
		case r == '_' && i > 0 && mermaidWord(rs[i-1]) && i+1 < len(rs) && mermaidWord(rs[i+1]):
			b.WriteRune(r) // inside a name it is no markup
		case r == '_':
			b.WriteString("#8203;#95;") // after a space of no width neither
		case r == '*':
			b.WriteRune('∗') // no entity helps: markup is read after they are
		default:
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return endNote.ReplaceAllString(b.String(), "$1#32;$2")
}

func mermaidWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// endNote is what ends a note, in any case and wherever it stands.
var endNote = regexp.MustCompile(`(?i)(end) (note)`)

// foldedLine makes one line of s.
func foldedLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// firstSentence returns s up to its first full stop that ends a sentence.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i]
	}
	return strings.TrimSuffix(s, ".")
}

// cutTitle shortens s to at most n characters, at the end of a word.
func cutTitle(s string, n int) string {
	rs := []rune(s)
	if len(rs) <= n {
		return s
	}
	end := n - 1
	for end > n/2 && rs[end] != ' ' {
		end--
	}
	return strings.TrimRight(string(rs[:end]), " ,;:.") + "…"
}

// yamlQuoted returns s as a double-quoted YAML scalar; JSON's form is one.
func yamlQuoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(b)
}

// guardLabel returns the names of the guards in brackets.
func guardLabel(rs []*spec.Requirement) []string {
	if len(rs) == 0 {
		return nil
	}
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.Guard.Name
	}
	one := "[" + strings.Join(names, ", ") + "]"
	if len(one) <= guardWidth {
		return []string{one}
	}
	for i := range names {
		if i < len(names)-1 {
			names[i] += ","
		}
	}
	names[0] = "[" + names[0]
	names[len(names)-1] += "]"
	return names
}

// mermaidList writes names after label, in lines of about width characters.
func mermaidList(label string, names []string, width int) []string {
	var lines []string
	line := label
	for i, n := range names {
		if i < len(names)-1 {
			n += ","
		}
		if i > 0 {
			if len(line)+1+len(n) > width {
				lines = append(lines, line)
				line = ""
			} else {
				line += " "
			}
		}
		line += n
	}
	return append(lines, line)
}

// guardSentence says what a guard asks for.
func guardSentence(g *spec.Guard) string {
	if g.Peers == nil {
		return factsSentence(g.When)
	}
	p := g.Peers
	text := "no other record"
	if !p.None {
		text = fmt.Sprintf("fewer than %d other records", p.Than)
	}
	if len(p.Same) > 0 {
		text += " with the same " + strings.Join(fieldRefNames(p.Same), ", ")
	}
	return text + " in " + strings.Join(stateRefNames(p.In), ", ")
}

func factsSentence(fs []*spec.Fact) string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Text
	}
	return strings.Join(texts, " and ")
}

// ruleSentence says when a projection rule holds; later rules have others before them.
func ruleSentence(r *spec.ProjectionRule, later bool) string {
	var parts []string
	add := func(word string, in []spec.StateRef) {
		if len(in) > 0 {
			parts = append(parts, word+" "+strings.Join(stateRefNames(in), ", "))
		}
	}
	add("any in", r.Any)
	add("all in", r.All)
	add("none in", r.None)
	if r.AtLeast > 0 {
		parts = append(parts, fmt.Sprintf("at least %d", r.AtLeast))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case later:
		return "otherwise"
	}
	return "always"
}

// emptyGroupState returns the derived state of a key that has no record: where the
// derived machine starts.
func emptyGroupState(p *spec.Projection) string {
	for _, r := range p.Rules {
		if len(r.Any) == 0 && len(r.All) == 0 && r.AtLeast == 0 {
			return r.State.Name
		}
	}
	return ""
}

// projectedNames lists the derived states: first those that the moves name,
// in the order in which a record walks them, then the rest.
func projectedNames(p *spec.Projection) []string {
	var names []string
	seen := make(map[string]bool)
	add := func(s spec.ProjectedState) {
		if !seen[s.Name] {
			seen[s.Name] = true
			names = append(names, s.Name)
		}
	}
	for _, t := range p.Transitions {
		add(t.From)
		add(t.To)
	}
	for _, r := range p.Rules {
		add(r.State)
	}
	for _, s := range p.Reserved {
		add(s)
	}
	return names
}

func statesMeet(a, b []spec.StateRef) bool {
	for _, x := range a {
		for _, y := range b {
			if x.State == y.State {
				return true
			}
		}
	}
	return false
}

func stateRefNames(rs []spec.StateRef) []string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.State.Name
	}
	return names
}

func fieldRefNames(rs []spec.FieldRef) []string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.Field.Name
	}
	return names
}
