package gen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// sentinels adds one error variable per error name.
func sentinels(f *jen.File, n *names) {
	if len(n.errors) == 0 {
		return
	}
	f.Line()
	f.Add(doc("The machine's own refusals; errors.Is finds them in the *" + n.refusal() + " that a call returns.")).
		Var().DefsFunc(func(g *jen.Group) {
		for _, e := range n.errors {
			made := raw("fsmimpl.NewError(%q, %q)", e.Name, e.text())
			if n.alone {
				made = jen.Qual("errors", "New").Call(jen.Lit(e.text()))
			}
			g.Add(docIndented(1, e.doc())).Id(e.Var).Op("=").Add(made)
		}
	})
}

// doc says who refuses with the error, and what the guards say about themselves.
func (e *sentinel) doc() string {
	text := fmt.Sprintf("%s is the refusal of %s.", e.Var, list(e.Users, "and"))
	for _, d := range e.Docs {
		text += " " + sentence(d)
	}
	return text
}

// text is what the error says: the specification's message, or its name.
func (e *sentinel) text() string {
	if e.Message != "" {
		return lead(phrase(e.Message))
	}
	return strings.ReplaceAll(e.Name, "_", " ")
}

// tag writes the name of a field in JSON.
func tag(name string, omit bool) map[string]string {
	if omit {
		name += ",omitzero"
	}
	return map[string]string{"json": name}
}

// record adds the type of the record with the methods that every record has.
func record(f *jen.File, m *spec.Machine, n *names) {
	f.Line()
	f.Add(doc(
		fmt.Sprintf("%s is one record of the machine. Change it by its methods only: they keep its rules.", n.Record),
		"Times are UTC, cut to microseconds.")).
		Type().Id(n.Record).StructFunc(func(g *jen.Group) {
		g.Id("ID").String().Tag(tag("id", false))
		g.Id("State").Id("State").Tag(tag("state", false))
		g.Id("Rev").Int64().Tag(tag("rev", false)).Comment("1 after the creation, one more after each transition")
		g.Id("CreatedAt").Qual("time", "Time").Tag(tag("created_at", false))
		g.Id("UpdatedAt").Qual("time", "Time").Tag(tag("updated_at", false)).Comment("of the last transition")
		if len(m.Fields) > 0 {
			g.Line()
		}
		for _, x := range m.Fields {
			if x.Doc != "" {
				g.Add(docIndented(1, fieldDoc(n, x))).Id(n.field(x)).Add(raw(n.fieldType(x))).Tag(tag(x.Name, x.Type.Optional))
			} else {
				g.Id(n.field(x)).Add(raw(n.fieldType(x))).Tag(tag(x.Name, x.Type.Optional))
			}
		}
	})
	f.Line()
	ref, same := n.ours("record", "Ref"), n.ours("record", "Equal")
	text := fmt.Sprintf("Ref returns id and revision, so that %s is a target of Machine's operations.", withArticle(n.Record))
	if ref != "Ref" {
		text = ref + " returns id and revision, the target of Machine's operations."
	}
	f.Add(doc(text)).
		Func().Params(n.receives("")).Id(ref).Params().Add(raw("fsm.Ref")).Block(
		jen.Return(raw("fsm.Ref{ID: %[1]s.ID, Rev: %[1]s.Rev}", n.self)),
	)
	f.Line()
	f.Add(doc(same + " reports whether both records are the same in every field; times are compared as instants.")).
		Func().Params(n.receives("")).Id(same).Params(raw("other %s", n.Record)).Bool().Block(equal(m, n)...)
}

// fieldDoc is the doc text of a field. It starts with the field's name.
func fieldDoc(n *names, f *spec.Field) string {
	return n.field(f) + ": " + lead(sentence(f.Doc))
}

// equal compares field by field where == does not compare values. Fields that
// are compared by == come first.
func equal(m *spec.Machine, n *names) []jen.Code {
	j := n.self
	terms := []string{j + ".ID == other.ID", j + ".State == other.State", j + ".Rev == other.Rev",
		j + ".CreatedAt.Equal(other.CreatedAt)", j + ".UpdatedAt.Equal(other.UpdatedAt)"}
	for _, f := range m.Fields {
		a := j + "." + n.field(f)
		b := "other." + n.field(f)
		switch {
		case f.Type.Kind == spec.KindTime && isOptional(f.Type):
			terms = append(terms, fmt.Sprintf("%s.Present() == %s.Present()", a, b),
				fmt.Sprintf("%s.Or(time.Time{}).Equal(%s.Or(time.Time{}))", a, b))
		case f.Type.Kind == spec.KindTime, f.Type.Kind == spec.KindSet:
			terms = append(terms, a+".Equal("+b+")")
		default:
			terms = append(terms, a+" == "+b)
		}
	}
	return []jen.Code{jen.Return(raw(strings.Join(terms, " &&\n")))}
}

// event adds the type of what a pure method did.
func event(f *jen.File) {
	f.Line()
	f.Add(doc("Event says what a call did to a record.")).
		Type().Id("Event").Struct(
		jen.Id("Name").String().Comment("one of the Event constants"),
		jen.Id("From").Id("State").Comment("zero for a creation"),
		jen.Id("To").Id("State"),
		jen.Id("RecordOnly").Bool().Comment("the call is recorded and changes nothing"),
		jen.Id("Guard").String().Comment("with RecordOnly: the guard that failed, if it was one"),
	)
}

// input adds the struct of an operation's inputs.
func input(f *jen.File, n *names, o *spec.Operation) {
	c := n.op(o)
	if c.Input == "" {
		return
	}
	f.Line()
	f.Add(doc(fmt.Sprintf("%s holds the inputs of %s.", c.Input, c.Method))).
		Type().Id(c.Input).StructFunc(func(g *jen.Group) {
		const widest = 60 // behind a field
		above := false
		for _, in := range o.Inputs {
			above = above || len(inputNote(o, in)) > widest
		}
		for _, in := range o.Inputs {
			note := inputNote(o, in)
			switch {
			case note == "":
				g.Id(n.input(in)).Add(raw(n.inputGoType(in)))
			case above:
				g.Add(docIndented(1, n.input(in)+": "+note+".")).Id(n.input(in)).Add(raw(n.inputGoType(in)))
			default:
				g.Id(n.input(in)).Add(raw(n.inputGoType(in))).Comment("// " + note)
			}
		}
	})
}

// hasRequestID reports whether a caller of the durable form gives a request id.
// The system makes its own.
func hasRequestID(m *spec.Machine, o *spec.Operation) bool {
	return m.RequestID != spec.None && o.By != spec.BySystem
}

// set returns the field that an operation sets to an input; nil where there is none.
func set(o *spec.Operation, in *spec.Input) *spec.Field {
	for _, e := range allEffects(o) {
		for _, a := range e.Set {
			if a.Value.Input == in {
				return a.Field
			}
		}
	}
	return nil
}

// inputNote says what an input is: by its own text or by that of the field that it is
// set into or compared with, and within which bounds.
func inputNote(o *spec.Operation, in *spec.Input) string {
	text := in.Doc
	for _, f := range fieldsMeeting(o, in) {
		if text == "" && (f.Name == in.Name || f == set(o, in)) {
			text = f.Doc
		}
	}
	for _, e := range allEffects(o) {
		for _, a := range e.Add {
			if text == "" && a.Value.Input == in {
				text = "what is added to " + a.Field.Name
			}
		}
	}
	if f := set(o, in); text == "" && f != nil && f.Name != in.Name {
		text = "the new " + f.Name
	}
	var notes []string
	if text != "" {
		notes = append(notes, phrase(lead(text)))
	}
	switch lo, hi := inputBounds(o, in); {
	case lo != nil && hi != nil:
		notes = append(notes, fmt.Sprintf("from %d to %d", *lo, *hi))
	case lo != nil && *lo == 0:
		notes = append(notes, "not negative")
	case lo != nil:
		notes = append(notes, fmt.Sprintf("at least %d", *lo))
	case hi != nil:
		notes = append(notes, fmt.Sprintf("at most %d", *hi))
	}
	if isOptional(in.Type) {
		notes = append(notes, "may be absent")
	}
	return strings.Join(notes, "; ")
}

// peers adds what an operation must know of other records.
func peers(f *jen.File, m *spec.Machine, n *names, o *spec.Operation) {
	c := n.op(o)
	if c.Peers == "" {
		return
	}
	f.Line()
	f.Add(doc(fmt.Sprintf("%s is what %s must know of other records. Machine counts them under a lock.", c.Peers, c.Method))).
		Type().Id(c.Peers).StructFunc(func(g *jen.Group) {
		for _, x := range peerGuards(o) {
			g.Id(n.peer(x)).Int64().Comment("// " + peerNote(x))
		}
		for _, x := range sequences(m, o) {
			g.Id(n.sequence(m, x)).Int64().Comment("// " + sequenceNote(x))
		}
	})
}

func peerNote(g *spec.Guard) string {
	note := "how many other records"
	if same := fieldNames(g.Peers.Same); len(same) > 0 {
		note += " with the same " + list(same, "and")
	}
	return note + " are " + list(stateNames(states(g.Peers.In)), "or")
}

func sequenceNote(f *spec.Field) string {
	note := "the next " + f.Name
	if len(f.Per) > 0 {
		var per []string
		for _, p := range f.Per {
			per = append(per, p.Name)
		}
		note += " for the same " + list(per, "and")
	}
	return note + ", from 1"
}
