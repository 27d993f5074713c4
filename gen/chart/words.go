package chart

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// folded makes one line of s.
func folded(s string) string { return strings.Join(strings.Fields(s), " ") }

// firstSentence returns s up to its first full stop that ends a sentence.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i]
	}
	return strings.TrimSuffix(s, ".")
}

// cut shortens s to at most n characters, at the end of a word.
func cut(s string, n int) string {
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

// list writes names after label, in lines of about width characters; no names
// are no lines.
func list(label string, names []string, width int) []string {
	if len(names) == 0 {
		return nil
	}
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
	switch {
	case p.Some:
		text = "at least one other record"
	case !p.None:
		text = fmt.Sprintf("fewer than %s other records", p.Number())
	}
	own, whose := p.Told()
	if len(own) > 0 {
		text += " with the same " + strings.Join(own, ", ")
	}
	return text + whose + " in " + strings.Join(stateNames(p.In), ", ")
}

func factsSentence(fs []*spec.Fact) string {
	return strings.Join(spec.FactTexts(fs), " and ")
}

// ruleSentence says when a projection rule holds; later rules have others before them.
func ruleSentence(r *spec.ProjectionRule, later bool) string {
	var parts []string
	add := func(word string, in []spec.StateRef) {
		if len(in) > 0 {
			parts = append(parts, word+" "+strings.Join(stateNames(in), ", "))
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

func stateNames(rs []spec.StateRef) []string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.State.Name
	}
	return names
}

func fieldNames(rs []spec.FieldRef) []string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = r.Field.Name
	}
	return names
}

// neverSentence says what a forbidden move forbids, and why.
func neverSentence(f *spec.Forbidden) string {
	s := f.From.State.Name + " → " + f.To.State.Name
	if f.After {
		s = f.From.State.Name + " → … → " + f.To.State.Name
	}
	if f.Reason != "" {
		s += ": " + f.Reason
	}
	return s
}

// Meaning says what a guard asks for.
func Meaning(g *spec.Guard) string { return guardSentence(g) }
