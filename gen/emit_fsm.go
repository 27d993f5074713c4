package gen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// pureFile returns the pure layer: types, operations, checks.
func pureFile(m *spec.Machine, n *names, _ Options) ([]byte, error) {
	f := newFile(n)
	f.PackageComment(strings.TrimRight(doc(packageDoc(m, n)...).GoString(), "\n"))
	if !n.alone {
		handshake(f)
	}
	enum(f, n, stateType(m, n))
	stateMethods(f, m, n)
	constants(f, m, n)
	for _, e := range n.enums {
		enum(f, n, valueType(e))
	}
	sentinels(f, n)
	p := newPure(m, n)
	p.record(f)
	p.event(f)
	p.effects(f)
	for _, o := range m.Operations {
		input(f, n, o)
		peers(f, m, n, o)
		if err := p.operation(f, o); err != nil {
			return nil, err
		}
	}
	p.can(f)
	p.possible(f)
	p.byName(f)
	p.check(f)
	p.ruleList(f)
	if m.Projection != nil && !n.alone {
		if err := projection(f, m, n); err != nil {
			return nil, err
		}
	}
	p.steps(f)
	p.callers(f)
	p.refusals(f)
	p.values(f)
	return render(f)
}

func packageDoc(m *spec.Machine, n *names) []string {
	first := fmt.Sprintf("Package %s is the machine of %s.", n.Package, n.Record)
	if m.Doc != "" {
		first = fmt.Sprintf("Package %s is the machine of %s: %s", n.Package, n.Record, lead(sentence(m.Doc)))
	}
	if n.alone {
		return append([]string{first,
			fmt.Sprintf("Its operations are methods of %s and functions that make one. They do no input or output, know no clock, "+
				"and leave the record as it is when they refuse.", n.Record)}, leftOut(m))
	}
	return []string{first,
		fmt.Sprintf("The pure layer is the methods of %s and the functions that make one. They do no input or output, know no clock, "+
			"and leave the record as it is when they refuse. The durable layer is Machine: the same operations over a store. Begin with [%s] and [%s].",
			n.Record, n.ours("package", "Migrate"), n.ours("package", "Open"))}
}

// leftOut lists what of a machine the pure layer leaves out.
func leftOut(m *spec.Machine) string {
	text := ""
	for _, l := range validate.LeftOut(m) {
		text += "\n  - " + l.What
	}
	if text == "" {
		return ""
	}
	return "The specification has more, which needs a store:" + text
}

// handshake makes the package fail to compile against another generation of
// the runtime.
func handshake(f *jen.File) {
	f.Add(doc("If this does not compile, runtime and generator have drifted apart: update github.com/fsmgen/fsmgen and run `go generate` again.")).
		Const().Id("_").Op("=").Add(raw("fsmimpl.Generated2"))
}

// constants adds the names of the operations and of the events, as the log has them.
func constants(f *jen.File, m *spec.Machine, n *names) {
	f.Line()
	logged := func(text, member string) *jen.Statement {
		if n.alone {
			return doc(text + ".")
		}
		return doc(text + ": the values of " + member + ".")
	}
	f.Add(logged("The operations, in the order of the specification", "fsm.Event.Operation")).
		Const().DefsFunc(func(g *jen.Group) {
		for _, o := range m.Operations {
			g.Id(n.op(o).Const).Op("=").Lit(o.Stored())
		}
	})
	f.Line()
	f.Add(logged("The events, in the order of the operations that write them", "fsm.Event.Name")).
		Const().DefsFunc(func(g *jen.Group) {
		for _, e := range n.events {
			g.Id(e.Const).Op("=").Lit(e.Stored)
		}
	})
}

// stateMethods adds what only states have.
func stateMethods(f *jen.File, m *spec.Machine, n *names) {
	f.Line()
	f.Add(doc("States returns all states, in the order of the specification.")).
		Func().Id("States").Params().Index().Id("State").Block(
		jen.Return(raw("%s[State](%s[:])", n.of("fsmimpl.All"), stateType(m, n).table("Names"))),
	)
	f.Line()
	stateOf := n.ours("package", "StateOf")
	f.Add(doc(fmt.Sprintf("%s returns the state of the %s that a refused call found%s. "+
		"It reports false if err names no state.", stateOf, n.Record, map[bool]string{false: ", or its newer state"}[n.alone]))).
		Func().Id(stateOf).Params(raw("err error")).Params(raw("State"), jen.Bool()).Block(
		jen.Return(raw("%s[State](%s[:], %q, err)", n.of("fsmimpl.StateOf"), stateType(m, n).table("Names"), m.Name)),
	)
	var terminal []string
	for _, s := range m.States {
		if s.Terminal {
			terminal = append(terminal, "s == "+n.state(s))
		}
	}
	f.Line()
	stateMethod(f.Add(doc("Terminal reports whether no operation leaves the state.")), "Terminal", terminal)
	var final []string
	for _, s := range m.States {
		if s.Final {
			final = append(final, "s == "+n.state(s))
		}
	}
	if final != nil {
		f.Line()
		stateMethod(f.Add(doc("Final reports whether a record in the state is finished, though an operation may leave it.")), "Final", final)
	}
	for _, g := range m.Groups {
		f.Line()
		group(f, g, n)
	}
}

// group adds the question whether a state is in a group.
func group(f *jen.File, g *spec.Group, n *names) {
	var names, terms []string
	for _, s := range g.States {
		names, terms = append(names, s.Name), append(terms, "s == "+n.state(s))
	}
	method := groupMethod(g)
	text := []string{fmt.Sprintf("%s reports whether the state is %s.", method, brief(names, "or"))}
	if g.Doc != "" {
		text = append(text, sentence(g.Doc))
	}
	stateMethod(f.Add(doc(text...)), method, terms)
}

// groupMethod is the method that asks whether a state is in a group.
func groupMethod(g *spec.Group) string { return "In" + spec.GoName(g.Name) }

func stateMethod(f *jen.Statement, name string, terms []string) {
	if terms == nil {
		f.Func().Params(raw("State")).Id(name).Params().Bool().Block(jen.Return(raw("false")))
		return
	}
	f.Func().Params(raw("s State")).Id(name).Params().Bool().Block(jen.Return(raw(strings.Join(terms, " || "))))
}

// steps adds what ends an accepted call.
func (p *pure) steps(f *jen.File) {
	text := "step takes a step that was decided on a copy of the record."
	if p.ruled || p.kept {
		text = "step takes a step that was decided on a copy of the record, unless the copy breaks a rule: then somebody else made the record."
	}
	params := "name string"
	if p.ruled || p.kept {
		params = "op, name string"
	}
	f.Line()
	f.Add(doc(text)).Func().Params(p.n.receives("*")).Id("step").ParamsFunc(func(g *jen.Group) {
		g.Add(raw("%s, next *%s, to State", params, p.n.Record))
		if p.keeps["UpdatedAt"] {
			g.Id("now").Qual("time", "Time")
		}
	}).Params(raw("Event"), raw("error")).BlockFunc(func(g *jen.Group) {
		g.Add(raw("next.State = to"))
		if p.keeps["Rev"] {
			g.Add(raw("next.Rev++"))
		}
		if p.keeps["UpdatedAt"] {
			g.If(raw("now.After(next.UpdatedAt)")).Block(raw("next.UpdatedAt = now"))
		}
		if p.ruled {
			p.used["refuseRule"] = true
			g.If(raw("rule := next.broken()"), raw(`rule != ""`)).Block(
				jen.Return(raw("Event{}, %s.refuseRule(op, %s, rule)", p.n.self, p.n.of("fsm.ErrInvariant"))))
		}
		if p.kept {
			p.used["refuseRule"] = true
			g.If(raw("rule := next.moved(%s)", p.n.self), raw(`rule != "" && %s.State.Valid()`, p.n.self)).Block( // a creation is no step
				jen.Return(raw("Event{}, %s.refuseRule(op, %s, rule)", p.n.self, p.n.of("fsm.ErrInvariant"))))
		}
		g.Add(raw("event := Event{Name: name, From: %s.State, To: to}", p.n.self))
		g.Add(raw("*%s = *next", p.n.self))
		g.Return(raw("event, nil"))
	})
	p.moved(f)
	if p.used["note"] {
		f.Line()
		f.Add(doc("note is the event of a call that is recorded and changes nothing; guard is the guard that failed, if it was one.")).
			Func().Params(p.n.receives("*")).Id("note").Params(raw("name, guard string")).Id("Event").Block(
			jen.Return(raw("Event{Name: name, From: %[1]s.State, To: %[1]s.State, RecordOnly: true, Guard: guard}", p.n.self)),
		)
	}
}

// values adds the functions that look at values.
func (p *pure) values(f *jen.File) {
	for _, c := range p.n.conversions(p.m) {
		f.Line()
		f.Add(doc(fmt.Sprintf("%s returns the same word as a %s.", converter(c.from, c.to), c.to.Type))).
			Func().Id(converter(c.from, c.to)).Params(raw("v %s", c.from.Type)).Id(c.to.Type).Block(
			jen.Switch(raw("v")).BlockFunc(func(g *jen.Group) {
				for i, w := range c.from.Values {
					g.Case(raw(c.from.Consts[i])).Block(jen.Return(raw(c.to.word(w.Name))))
				}
			}),
			jen.Return(raw("0")),
		)
	}
}
