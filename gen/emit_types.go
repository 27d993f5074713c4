package gen

import (
	"fmt"
	"slices"
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
	f.Add(doc("The machine's own refusals; errors.Is finds them in the *" + n.of("fsm.Refusal") + " that a call returns.")).
		Var().DefsFunc(func(g *jen.Group) {
		for _, e := range n.errors {
			g.Add(docIndented(1, e.doc())).Id(e.Var).Op("=").Add(raw("%s(%q, %q)", n.of("fsmimpl.NewError"), e.Name, e.text()))
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

// builtin is a field that the records of all machines have.
type builtin struct{ name, typ, json, note string }

// builtins are those of the package. Without a store nobody reads id and revision, nor a
// time that no fact reads.
func (n *names) builtins(m *spec.Machine) (list []builtin) {
	for _, b := range []builtin{
		{"ID", "string", "id", ""},
		{"State", "State", "state", ""},
		{"Rev", "int64", "rev", "1 after the creation, one more after each transition"},
		{"CreatedAt", "time.Time", "created_at", ""},
		{"UpdatedAt", "time.Time", "updated_at", "of the last transition"},
	} {
		i := slices.IndexFunc(m.Builtin, func(f *spec.Field) bool { return f.Name == b.json })
		if !n.alone || b.name == "State" || i >= 0 && reads(m, m.Builtin[i]) {
			list = append(list, b)
		}
	}
	return list
}

// record adds the type of the record with the methods that every record has.
func (p *pure) record(f *jen.File) {
	m, n := p.m, p.n
	f.Line()
	times := ""
	if p.timed() {
		times = "Times are UTC, cut to microseconds."
	}
	if len(lasting(m)) > 0 {
		times = strings.TrimSpace(times + " Durations are whole microseconds.")
	}
	f.Add(doc(fmt.Sprintf("%s is one record of the machine. Change it by its methods only: they keep its rules.", n.Record), times)).
		Type().Id(n.Record).StructFunc(func(g *jen.Group) {
		for _, b := range n.builtins(m) {
			x := g.Id(b.name).Add(typeCode(b.typ)).Tag(tag(b.json, false))
			if b.note != "" {
				x.Comment(b.note)
			}
		}
		if len(m.Fields) > 0 {
			g.Line()
		}
		for _, x := range m.Fields {
			text := jen.Null()
			if x.Doc != "" {
				text = docIndented(1, fieldDoc(n, x))
			}
			g.Add(text).Id(n.field(x)).Add(typeCode(n.fieldType(x))).Tag(tag(x.Name, x.Type.Optional))
		}
	})
	p.jsonMethods(f)
	same := n.ours("record", "Equal")
	if p.keeps["ID"] {
		ref := n.ours("record", "Ref")
		text := fmt.Sprintf("Ref returns id and revision, so that %s is a target of Machine's operations.", withArticle(n.Record))
		if ref != "Ref" {
			text = ref + " returns id and revision, the target of Machine's operations."
		}
		f.Line()
		f.Add(doc(text)).
			Func().Params(n.receives("")).Id(ref).Params().Add(raw("fsm.Ref")).Block(
			jen.Return(raw("fsm.Ref{ID: %[1]s.ID, Rev: %[1]s.Rev}", n.self)),
		)
	}
	f.Line()
	f.Add(doc(same + " reports whether both records are the same in every field; times are compared as instants.")).
		Func().Params(n.receives("")).Id(same).Params(raw("other %s", n.Record)).Bool().Block(equal(m, n)...)
}

// timed reports whether the record holds times.
func (p *pure) timed() bool {
	return p.keeps["CreatedAt"] || p.keeps["UpdatedAt"] ||
		slices.ContainsFunc(p.m.Fields, func(f *spec.Field) bool { return f.Type.Kind == spec.KindTime })
}

// fieldDoc is the doc text of a field. It starts with the field's name.
func fieldDoc(n *names, f *spec.Field) string {
	return n.field(f) + ": " + lead(sentence(f.Doc))
}

// equal compares field by field where == does not compare values. Fields that
// are compared by == come first.
func equal(m *spec.Machine, n *names) []jen.Code {
	j := n.self
	var terms []string
	for _, b := range n.builtins(m) {
		if b.typ == "time.Time" {
			terms = append(terms, fmt.Sprintf("%s.%s.Equal(other.%s)", j, b.name, b.name))
		} else {
			terms = append(terms, fmt.Sprintf("%s.%s == other.%s", j, b.name, b.name))
		}
	}
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
func (p *pure) event(f *jen.File) {
	f.Line()
	f.Add(doc("Event says what a call did to a record.")).
		Type().Id("Event").StructFunc(func(g *jen.Group) {
		g.Id("Name").String().Comment("one of the Event constants")
		g.Id("From").Id("State").Comment("zero for a creation")
		g.Id("To").Id("State")
		g.Id("RecordOnly").Bool().Comment("the call is recorded and changes nothing")
		g.Id("Guard").String().Comment("with RecordOnly: the guard that failed, if it was one")
		if len(p.paths) > 0 {
			g.Id("path").Int().Comment("of those that effectsOf numbers; 0: none")
		}
		if !p.n.alone && asksByBranch(p.m) {
			g.Id("branch").Int().Comment("that was taken, of those that have effects or a step behind them")
		}
	})
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
				g.Id(n.input(in)).Add(typeCode(n.inputGoType(in)))
			case above:
				g.Add(docIndented(1, n.input(in)+": "+note+".")).Id(n.input(in)).Add(typeCode(n.inputGoType(in)))
			default:
				g.Id(n.input(in)).Add(typeCode(n.inputGoType(in))).Comment("// " + note)
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
	case in.Type.Kind == spec.KindString && hi != nil && *lo == *hi:
		notes = append(notes, fmt.Sprintf("%d characters", *lo))
	case in.Type.Kind == spec.KindString && hi != nil:
		notes = append(notes, fmt.Sprintf("%d to %d characters", *lo, *hi))
	case in.Type.Kind == spec.KindString && lo != nil:
		notes = append(notes, fmt.Sprintf("at least %d characters", *lo))
	case in.Type.Kind == spec.KindDuration:
		if *lo > 0 || *hi < spec.MaxSpan {
			notes = append(notes, "from "+spec.SpanText(*lo)+" to "+spec.SpanText(*hi))
		}
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
	who := "Machine counts them under a lock."
	if n.alone {
		who = "The caller counts them, and lets nobody move them until the call is over."
	}
	f.Add(doc(fmt.Sprintf("%s is what %s must know of other records. %s", c.Peers, c.Method, who))).
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
	return "how many other records" + groupText(g.Peers) + " are " + list(stateNames(states(g.Peers.In)), "or")
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
