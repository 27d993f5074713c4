package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// hoverAt tells what stands at a place: what a name means, what a key is for, what a code finds.
func hoverAt(d *document, p at) (*hover, error) {
	if !d.specification {
		return nil, nil
	}
	word, where := d.wordAt(p.Position)
	var parts []string
	for _, n := range d.namesAt(p.Position) {
		if text := d.describe(n); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if rule, known := validate.Explain(word); known {
		parts = append(parts, fmt.Sprintf("**%s** %s (%s)\n\n%s", rule.Code, rule.Name, rule.Severity, rule.Doc))
	}
	if len(parts) == 0 {
		if c := d.cursorAt(where.End); c.key && word != "" {
			if doc := docOf(append(slices.Clone(c.path), word)); doc != "" {
				parts = append(parts, fmt.Sprintf("`%s`: %s", word, doc))
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return &hover{markup{"markdown", strings.Join(parts, "\n\n---\n\n")}, &where}, nil
}

// page is a text about a name, made of lines.
type page struct{ lines []string }

// line adds a paragraph.
func (p *page) line(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// doc adds what the author says.
func (p *page) doc(texts ...string) {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			p.line("%s", t)
		}
	}
}

// list adds a line when there is something to list.
func (p *page) list(what string, names []string) {
	if len(names) > 0 {
		p.line("%s: %s", what, enough(names))
	}
}

// enough lists names, the first ones of many.
func enough(names []string) string {
	const most = 12
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return "`" + strings.Join(names, "`, `") + "`" + more
}

func (p *page) stored(name, stored string) {
	if name != stored {
		p.line("Stored as `%s`.", stored)
	}
}

// describe tells what a name means; empty where the machine does not have it.
func (d *document) describe(n spec.Name) string {
	m := d.machine()
	if m == nil {
		return ""
	}
	p := &page{}
	switch n.Kind {
	case spec.StateName:
		if s := m.State(n.Text); s != nil {
			p.state(m, s)
		}
	case spec.FieldName:
		if f := m.Field(n.Text); f != nil {
			p.field(m, f)
		}
	case spec.GuardName:
		p.guard(m, n.Text)
	case spec.OperationName:
		if o := m.Operation(n.Text); o != nil {
			p.operation(m, o)
		}
	case spec.InputName, spec.WordName:
		p.input(m, n)
	case spec.GroupName:
		for _, g := range only(m.Groups, func(g *spec.Group) bool { return g.Name == n.Text }) {
			p.line("**state group** `%s`", g.Name)
			p.doc(g.Doc)
			p.list("States", each(g.States, func(s *spec.State) string { return s.Name }))
		}
	case spec.UniqueName:
		for _, u := range only(m.Unique, func(u *spec.Unique) bool { return u.Name == n.Text }) {
			p.line("**unique** `%s`, refuses with `%s`", u.Name, u.Error)
			p.doc(u.Message)
			p.list("No other record has the same", fieldsOf(u.Fields))
			p.list("Among those in", statesOf(u.In))
		}
	default:
		p.line("**%s** `%s`", n.Kind, n.Text)
	}
	if len(p.lines) > 0 && n.Kind != spec.OperationName {
		for _, u := range d.source().users(n) {
			p.list(u.what, u.names)
		}
	}
	return strings.Join(p.lines, "\n\n")
}

// each makes a list of another one.
func each[T, R any](list []T, do func(T) R) []R {
	out := make([]R, len(list))
	for i, x := range list {
		out[i] = do(x)
	}
	return out
}

func fieldsOf(refs []spec.FieldRef) []string {
	return each(refs, func(r spec.FieldRef) string { return r.Field.Name })
}

func statesOf(refs []spec.StateRef) []string {
	return each(refs, func(r spec.StateRef) string { return r.State.Name })
}

// state tells what a state promises, and how records come and go.
func (p *page) state(m *spec.Machine, s *spec.State) {
	kind := "state"
	switch {
	case s.Terminal:
		kind = "terminal state"
	case s.Final:
		kind = "final state"
	}
	p.line("**%s** `%s`", kind, s.Name)
	p.doc(s.Doc)
	p.list("Present", fieldsOf(s.Present))
	p.list("Absent", fieldsOf(s.Absent))
	p.list("Should be present", fieldsOf(s.ShouldPresent))
	p.list("Should be absent", fieldsOf(s.ShouldAbsent))
	p.list("Holds", spec.FactTexts(slices.Concat(s.Invariant, m.Invariant)))
	var in, out []string
	for _, v := range m.Moves() {
		if v.To == s && v.Source() != s && !slices.Contains(in, v.Operation.Name) {
			in = append(in, v.Operation.Name)
		}
		if v.Source() == s && v.To != s && v.To != nil {
			if way := v.Operation.Name + " → " + v.To.Name; !slices.Contains(out, way) {
				out = append(out, way)
			}
		}
	}
	p.list("Comes by", in)
	p.list("Leaves by", out)
	p.stored(s.Name, s.Stored())
}

// field tells the type of a field and who changes it.
func (p *page) field(m *spec.Machine, f *spec.Field) {
	text := f.Type.String()
	if len(f.Per) > 0 {
		text += " per " + strings.Join(each(f.Per, func(f *spec.Field) string { return f.Name }), ", ")
	}
	if f.Default != nil {
		text += ", default " + f.Default.Text
	}
	built := ""
	if f.Builtin {
		built = ", built in"
	}
	p.line("**field** `%s`: `%s`%s", f.Name, text, built)
	p.doc(f.Doc)
	var by []string
	for _, o := range m.Operations {
		if slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return b.Effects.Changes(f) }) || o.Effects.Changes(f) {
			by = append(by, o.Name)
		}
	}
	p.list("Changed by", by)
	p.stored(f.Name, f.Stored())
}

func (p *page) guard(m *spec.Machine, name string) {
	for _, g := range m.Guards {
		if g.Name == name {
			p.line("**guard** `%s`, refuses with `%s`", g.Name, g.Error)
			p.doc(g.Doc, g.Message)
			p.line("Holds when `%s`", chart.Meaning(g))
		}
	}
}

// operation tells what a call is, needs and does.
func (p *page) operation(m *spec.Machine, o *spec.Operation) {
	by := map[spec.Actor]string{spec.BySystem: " by the system", spec.ByOperator: " by an operator"}[o.By]
	inputs := each(o.Inputs, func(in *spec.Input) string { return in.Name + " " + in.Type.String() })
	p.line("**operation** `%s(%s)`%s", o.Name, strings.Join(inputs, ", "), by)
	p.doc(o.Doc)
	var to []string
	for _, v := range o.Moves() {
		if v.To != nil && !slices.Contains(to, v.To.Name) {
			to = append(to, v.To.Name)
		}
	}
	p.list("Creates", statesOf(o.Creates))
	p.list("From", statesOf(o.From))
	p.list("To", to)
	p.list("Recorded only in", statesOf(o.RecordOnlyIn))
	p.list("Requires", each(o.Require, func(q *spec.Requirement) string { return q.Guard.Name }))
	p.list("Fired", each(o.Triggers, func(t spec.Trigger) string { return t.Text }))
	if n := cellsOf(m, o); n != "" {
		p.line("%s", n)
	}
	p.line("Event: `%s`", o.Event)
	p.stored(o.Name, o.Stored())
}

// input tells the type of an input, or of which type a word is.
func (p *page) input(m *spec.Machine, n spec.Name) {
	word := func(t spec.Type) bool {
		declared := func(v *spec.EnumValue) bool { return v.Name == n.Text && v.Pos == n.Decl }
		return n.Kind == spec.WordName && slices.ContainsFunc(t.Values, declared)
	}
	for _, f := range m.Fields {
		if word(f.Type) {
			p.line("**value** `%s` of the field `%s`: `%s`", n.Text, f.Name, f.Type)
			return
		}
	}
	for _, o := range m.Operations {
		for _, in := range o.Inputs {
			switch {
			case word(in.Type):
				p.line("**value** `%s` of the input `%s`: `%s`", n.Text, in.Name, in.Type)
				return
			case n.Kind == spec.InputName && in.Name == n.Text && in.Pos == n.Decl:
				p.line("**input** `%s` of `%s`: `%s`", in.Name, o.Name, in.Type)
				p.doc(in.Doc)
				return
			}
		}
	}
}

// user is a kind of declaration with those that name something.
type user struct {
	what  string
	names []string
}

// users are the declarations that name something, by their kinds.
func (v *version) users(n spec.Name) []user {
	labels := map[spec.NameKind]string{
		spec.StateName: "In states", spec.GuardName: "In guards", spec.UniqueName: "In unique", spec.LookupName: "In look-ups",
		spec.OperationName: "In operations", spec.FieldName: "In fields", spec.GroupName: "In groups",
	}
	var within spec.Name
	var list []user
	for _, o := range v.read().Names {
		if o.Declares && labels[o.Kind] != "" {
			within = o
		}
		if !o.Same(n) || o.Declares || within.Text == "" || !v.inside(o.Pos, within.Pos) {
			continue
		}
		i := slices.IndexFunc(list, func(u user) bool { return u.what == labels[within.Kind] })
		if i < 0 {
			i, list = len(list), append(list, user{what: labels[within.Kind]})
		}
		if !slices.Contains(list[i].names, within.Text) {
			list[i].names = append(list[i].names, within.Text)
		}
	}
	return list
}

// inside reports whether no key of the root stands between a place and a declaration above it.
func (v *version) inside(at, declared spec.Pos) bool {
	for n := declared.Line; n < at.Line; n++ { // the line behind the declaration's, counted from 0
		if l := v.line(n); l != "" && l[0] != ' ' && l[0] != '#' && l[0] != '}' && l[0] != '-' {
			return false
		}
	}
	return true
}
