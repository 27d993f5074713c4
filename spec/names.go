package spec

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// NameKind says what a name of the file names.
type NameKind string

// The kinds of names.
const (
	StateName     NameKind = "state"
	GroupName     NameKind = "state group"
	FieldName     NameKind = "field"
	InputName     NameKind = "input"
	WordName      NameKind = "value"
	GuardName     NameKind = "guard"
	UniqueName    NameKind = "unique"
	LookupName    NameKind = "look-up"
	OperationName NameKind = "operation"
	ProbeName     NameKind = "probe"
	DerivedName   NameKind = "projected state"
)

// Name is a name that stands at a place of the file.
type Name struct {
	Pos  Pos
	Len  int // characters to mark
	Kind NameKind
	Text string // what is named
	Decl Pos    // where it is declared; zero for what is built in

	Declares bool // it is declared here
	Bare     bool // the word `input` alone, which means the input called Text
	Hidden   bool // the name cannot be replaced here: its text is not in the file as it is
}

// Same reports whether two names name the same.
func (n Name) Same(o Name) bool { return n.Kind == o.Kind && n.Decl == o.Decl && n.Text == o.Text }

// Reading is what an editor needs of a file, whatever is wrong with it.
type Reading struct {
	Machine *Machine // nil where a finding is an error
	Found   Diagnostics
	Draft   *Machine // what could be bound, with holes where there are errors; nil when the text is no YAML
	Names   []Name   // that are bound, by their places; a place may name several, in a guard that several operations use
}

// Read is [Parse] for editors: it tells also what stands where. It never panics,
// whatever src holds.
func Read(file string, src []byte) Reading {
	r := &reporter{file: file, naming: true}
	m := r.parse(src)
	r.finish()
	out := Reading{Found: r.found, Draft: m, Names: r.names}
	slices.SortStableFunc(out.Names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Kind, b.Kind))
	})
	out.Names = slices.Compact(out.Names)
	if m != nil {
		m.File = file
		if !r.found.HasErrors() {
			m.Hash = hashMachine(m)
			out.Machine = m
		}
	}
	return out
}

// note remembers that a word names something, for [Read].
func (r *reporter) note(w word, named any) {
	if !r.naming || !w.given() {
		return
	}
	n := Name{Pos: w.pos, Hidden: w.shift < 0 || w.quoted}
	switch v := named.(type) {
	case *State:
		if n.Kind, n.Text, n.Decl = StateName, v.Name, v.Pos; w.group != nil {
			n.Kind, n.Text, n.Decl, n.Hidden = GroupName, w.group.Name, w.group.Pos, false
		}
	case *Group:
		n.Kind, n.Text, n.Decl = GroupName, v.Name, v.Pos
	case *Field:
		n.Kind, n.Text, n.Decl = FieldName, v.Name, v.Pos
	case *Input:
		if n.Kind, n.Text, n.Decl = InputName, v.Name, v.Pos; v.Field != nil {
			n.Kind, n.Decl = FieldName, v.Field.Pos
		}
	case *EnumValue:
		n.Kind, n.Text, n.Decl = WordName, v.Name, v.Pos
	case *Guard:
		n.Kind, n.Text, n.Decl = GuardName, v.Name, v.Pos
	case *Unique:
		n.Kind, n.Text, n.Decl = UniqueName, v.Name, v.Pos
	case *Lookup:
		n.Kind, n.Text, n.Decl = LookupName, v.Name, v.Pos
	case *Operation:
		n.Kind, n.Text, n.Decl = OperationName, v.Name, v.Pos
	case *Use:
		return // it is a name of the other file
	case *Probe:
		n.Kind, n.Text, n.Decl = ProbeName, v.Name, v.Pos
	case ProjectedState:
		n.Kind, n.Text, n.Decl = DerivedName, v.Name, v.Pos
	}
	n.Declares = n.Pos == n.Decl
	r.keep(n, w)
}

// keep adds a name with the place of its own characters: not its quotes, and not what stands
// before a dot.
func (r *reporter) keep(n Name, w word) {
	long, short := utf8.RuneCountInString(w.text), utf8.RuneCountInString(n.Text)
	at := w
	switch n.Bare = w.text == "input"; {
	case n.Hidden || w.group != nil:
	case n.Bare:
		at = w.part(0, long, w.text)
	case strings.HasSuffix(w.text, n.Text):
		at = w.part(long-short, short, n.Text)
	default: // a word in single quotes
		n.Hidden = true
	}
	n.Pos, n.Len = at.pos, max(at.size, 1)
	r.names = append(r.names, n)
}
