package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// can adds the question whether an operation is possible in the record's state.
func (p *pure) can(f *jen.File) {
	cases := map[string][]jen.Code{} // by what they assign
	var order []string
	for _, o := range p.m.Operations {
		var in []string
		for i, class := range p.m.Row(o) {
			if class != spec.Reject {
				in = append(in, p.n.self+".State == "+p.n.state(p.m.States[i]))
			}
		}
		if creates(o) || in == nil {
			continue
		}
		key := strings.Join(in, " || ") + ", " + allowed(p.m, o)
		if cases[key] == nil {
			order = append(order, key)
		}
		cases[key] = append(cases[key], raw(p.n.op(o).Const))
	}
	f.Line()
	name := p.n.ours("record", "Can")
	f.Add(doc(fmt.Sprintf("%s reports whether an operation is possible in the state of the %s: nil, or the refusal that its method returns. It does not look at guards and inputs; to try these, call the method on a copy.", name, p.n.Record))).
		Func().Params(p.n.receives("")).Id(name).Params(raw("operation string")).Error().BlockFunc(func(g *jen.Group) {
		if order != nil {
			g.Add(raw(`possible, allowed := false, ""`))
			g.Switch(raw("operation")).BlockFunc(func(g *jen.Group) {
				for _, key := range order {
					g.Case(cases[key]...).Block(raw("possible, allowed = %s", key))
				}
			})
			g.If(raw("possible")).Block(jen.Return(jen.Nil()))
		}
		p.named(g)
		if order == nil {
			g.Return(raw(`%s.refuseState(operation, "")`, p.n.self))
		} else {
			g.Return(raw("%s.refuseState(operation, allowed)", p.n.self))
		}
	})
}

// possible adds the operations of each state: those of which Can says that they are possible.
func (p *pure) possible(f *jen.File) {
	in := make([][]string, len(p.m.States))
	for _, o := range p.m.Operations {
		for i, class := range p.m.Row(o) {
			if !creates(o) && class != spec.Reject {
				in[i] = append(in[i], p.n.op(o).Const)
			}
		}
	}
	f.Line()
	f.Add(doc("possibleIn has the operations that are possible in each state.")).
		Var().Id("possibleIn").Op("=").Index(raw("...")).Index().String().ValuesFunc(func(g *jen.Group) {
		for i, s := range p.m.States {
			g.Line().Add(raw("%s: {%s}", p.n.state(s), strings.Join(in[i], ", ")))
		}
		g.Line()
	})
	name := p.n.ours("record", "Possible")
	f.Line()
	f.Add(doc(fmt.Sprintf("%s lists the operations that are possible in the state of the %s, as %s says, in the order of the specification. "+
		"All records share the list: do not change it.", name, p.n.Record, p.n.ours("record", "Can")))).
		Func().Params(p.n.receives("")).Id(name).Params().Index().String().Block(
		jen.If(raw("!%s.State.Valid()", p.n.self)).Block(jen.Return(jen.Nil())),
		jen.Return(raw("possibleIn[%s.State]", p.n.self)),
	)
}

// check adds the function that looks at a record, whoever wrote it.
func (p *pure) check(f *jen.File) {
	m, n := p.m, p.n
	violation := n.of("fsm.Violation")
	s := scope{n: n, self: n.self}
	f.Line()
	f.Add(doc(fmt.Sprintf("%s lists the rules that %s breaks. Operations refuse one that breaks a MUST rule.", n.ours("package", "Check"), withArticle(n.Record)))).
		Func().Id(n.ours("package", "Check")).Params(n.receives("")).Index().Add(raw(violation)).BlockFunc(func(g *jen.Group) {
		g.Add(raw("var found []%s", violation))
		g.If(raw("!%s.State.Valid()", n.self)).Block(
			jen.Return(raw("append(found, %s{Rule: %q, Must: true, Message: %q})", violation, "state", "the record is in no state of the machine")),
		)
		for _, b := range s.fieldRules(m) {
			g.Add(jen.If(raw(b.when.String())).Block(raw("found = append(found, %s{Rule: %q, Must: true})", violation, b.rule)))
		}
		if p.ruled || p.should {
			g.Add(raw(n.self + ".rules").Call(jen.Func().Params(raw("rule string, must bool")).Bool().Block(
				raw("found = append(found, %s{Rule: rule, Must: must})", violation),
				jen.Return(jen.True()),
			)))
		}
		g.Return(raw("found"))
	})
}

// ruleList adds the rules that records are held to, written once.
func (p *pure) ruleList(f *jen.File) {
	m, n := p.m, p.n
	if !p.ruled && !p.should {
		return
	}
	s := scope{n: n, self: n.self}
	var texts []string
	cases := make(map[string][]jen.Code)
	for _, st := range m.States {
		text := s.stateRules(m, st)
		if text == "" {
			continue
		}
		if cases[text] == nil {
			texts = append(texts, text)
		}
		cases[text] = append(cases[text], raw(n.state(st)))
	}
	f.Line()
	f.Add(doc("rules hands over each rule of its state that the record breaks, MUST before SHOULD, until it is told to stop.")).
		Func().Params(n.receives("*")).Id("rules").Params(raw("broken func(rule string, must bool) bool")).Bool().BlockFunc(func(g *jen.Group) {
		for _, b := range s.boundRules(m) { // of all states
			g.If(raw(and(b.when, call(fmt.Sprintf("!broken(%q, true)", b.rule))).String())).Block(jen.Return(jen.False()))
		}
		if texts != nil {
			g.Switch(raw(n.self + ".State")).BlockFunc(func(g *jen.Group) {
				for _, text := range texts {
					g.Case(cases[text]...).Block(jen.Return(raw(text)))
				}
			})
		}
		g.Return(jen.True())
	})
	if !p.ruled {
		return
	}
	f.Line()
	f.Add(doc("broken returns the first MUST rule that the record breaks, or nothing.")).
		Func().Params(n.receives("*")).Id("broken").Params().Params(raw("first string")).Block(
		raw(n.self+".rules").Call(jen.Func().Params(raw("rule string, must bool")).Bool().Block(
			jen.If(raw("must")).Block(raw("first = rule")),
			jen.Return(raw("!must")),
		)),
		jen.Return(raw("first")),
	)
}

// moved adds the rules over a step.
func (p *pure) moved(f *jen.File) {
	if !p.kept {
		return
	}
	s := scope{n: p.n, self: p.n.self, before: "before"}
	f.Line()
	f.Add(doc("moved returns the first rule over a step that the record breaks after the one before it, or nothing.")).
		Func().Params(p.n.receives("*")).Id("moved").Params(raw("before *%s", p.n.Record)).String().BlockFunc(func(g *jen.Group) {
		g.Switch().BlockFunc(func(g *jen.Group) {
			for _, x := range p.m.Kept() {
				if broken := s.fact(x).not(); broken.kind != condFalse {
					g.Case(raw(broken.String())).Block(jen.Return(jen.Lit(x.Text)))
				}
			}
		})
		g.Return(jen.Lit(""))
	})
}

// boundRules lists the bounds of numbers, which hold in every state.
func (s scope) boundRules(m *spec.Machine) (found []broken) {
	for _, f := range m.Fields {
		if c := s.outside(f); c.kind != condFalse {
			found = append(found, broken{rule: f.Name, when: c})
		}
	}
	return found
}

// stateRules is one expression that hands over the rules of a state, each when it is
// broken: presence, the invariants of the machine and those of the state.
func (s scope) stateRules(m *spec.Machine, st *spec.State) string {
	var lines []string
	add := func(rule string, broken cond, must bool) {
		if broken.kind == condFalse {
			return
		}
		holds := broken.not()
		text := holds.String()
		if holds.kind == condAnd {
			text = "(" + text + ")"
		}
		lines = append(lines, fmt.Sprintf("(%s || broken(%q, %t))", text, rule, must))
	}
	presence := func(refs []spec.FieldRef, present, must bool) {
		for _, r := range refs {
			c, rule := isPresent(s.stored(r.Field)), r.Field.Name+" is absent"
			if present {
				c, rule = c.not(), r.Field.Name+" is present"
			}
			add(rule, c, must)
		}
	}
	presence(st.Present, true, true)
	presence(st.Absent, false, true)
	for _, f := range slices.Concat(m.Invariant, st.Invariant) {
		add(f.Text, s.fact(f).not(), true)
	}
	presence(st.ShouldPresent, true, false)
	presence(st.ShouldAbsent, false, false)
	return strings.Join(lines, " &&\n")
}

// fieldRules lists what the types of the fields promise in every state, and which no
// step can break.
func (s scope) fieldRules(m *spec.Machine) []broken {
	var found []broken
	for _, f := range m.Fields {
		o := s.stored(f)
		var c cond
		switch f.Type.Kind {
		case spec.KindCounter:
			if c = call(o.val + " < 0"); f.Type.Max != nil {
				c = or(c, call(fmt.Sprintf("%s > %d", o.val, *f.Type.Max)))
			}
		case spec.KindSequence:
			c = call(o.val + " < 1")
		case spec.KindEnum:
			c = and(there(o), call("!"+o.val+".Valid()"))
		}
		if c.kind != condFalse {
			found = append(found, broken{f.Name, c})
		}
	}
	return found
}
