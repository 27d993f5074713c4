package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Mutant is one change of one file. Its name does not change when lines move,
// so that a list of names stays valid.
type Mutant struct {
	Number int    // of the switch; from 1, unique within a run of the judges
	File   string // base name
	Line   int
	Func   string // function or variable that it stands in
	Kind   string
	Text   string // what is changed, on one line
	To     string // what it becomes, where the kind does not say it
	nth    int    // among those of one file that are the same in all of the above but the line
	edit   edit
}

// edit replaces the source between two offsets. wrap gets the text that stands
// there, with the edits of its inner parts made.
type edit struct {
	start, end int
	wrap       func(number int, inner string) string
}

// Name says which mutant it is.
func (m *Mutant) Name() string {
	s := m.File + " " + m.Func + " " + m.Kind + " `" + m.Text + "`"
	if m.To != "" {
		s += " -> `" + m.To + "`"
	}
	if m.nth > 1 {
		s += fmt.Sprintf(" #%d", m.nth)
	}
	return s
}

// apply makes all the edits of one file.
func apply(source string, mutants []*Mutant) string {
	sorted := slices.Clone(mutants)
	slices.SortStableFunc(sorted, func(a, b *Mutant) int {
		return cmp.Or(cmp.Compare(a.edit.start, b.edit.start), cmp.Compare(b.edit.end, a.edit.end))
	})
	text, _ := applyRange(source, sorted, 0, len(source))
	return text
}

// applyRange makes the edits that lie in source[start:end], which begin the
// list, and returns the rest of the list.
func applyRange(source string, list []*Mutant, start, end int) (string, []*Mutant) {
	var b strings.Builder
	at := start
	for len(list) > 0 && list[0].edit.start < end {
		m := list[0]
		if m.edit.start < at || m.edit.end > end {
			panic(fmt.Sprintf("mutate: %s overlaps another mutant", m.Name()))
		}
		b.WriteString(source[at:m.edit.start])
		var inner string
		inner, list = applyRange(source, list[1:], m.edit.start, m.edit.end)
		b.WriteString(m.edit.wrap(m.Number, inner))
		at = m.edit.end
	}
	b.WriteString(source[at:end])
	return b.String(), list
}

// OneLine returns the source of a node on one line, cut when it is long.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 90 {
		s = string(r[:90]) + "..."
	}
	return s
}

// Count numbers the mutants that have the same name otherwise.
func Count(list []*Mutant) {
	seen := map[string]int{}
	for _, m := range list {
		m.nth = 0
		key := m.Name()
		seen[key]++
		m.nth = seen[key]
	}
}

// offsets returns where a node stands in its file.
func offsets(fset *token.FileSet, n ast.Node) (start, end int) {
	return fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset
}
