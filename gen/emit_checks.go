package gen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// can adds the question whether an operation is possible in the record's state.
func (p *pure) can(f *jen.File) {
	cases := map[string][]jen.Code{}
	var order []string
	for _, o := range p.m.Operations {
		var in []string
		for i, class := range p.m.Row(o) {
			if class != spec.Reject {
				in = append(in, "j.State == "+p.n.state(p.m.States[i]))
			}
		}
		if creates(o) || in == nil {
			continue
		}
		key := strings.Join(in, " || ")
		if cases[key] == nil {
			order = append(order, key)
		}
		cases[key] = append(cases[key], raw(p.n.op(o).Const))
	}
	p.used["refuseState"] = true
	f.Line()
	f.Add(doc(fmt.Sprintf("Can reports whether an operation is possible in the state of the %s: nil, or the refusal that its method returns. Guards and inputs are not looked at; to try these, call the method on a copy.", p.n.Record))).
		Func().Params(raw("j %s", p.n.Record)).Id("Can").Params(raw("operation string")).Error().BlockFunc(func(g *jen.Group) {
		if order != nil {
			g.Id("possible").Op(":=").False()
			g.Switch(raw("operation")).BlockFunc(func(g *jen.Group) {
				for _, key := range order {
					g.Case(cases[key]...).Block(raw("possible = %s", key))
				}
			})
			g.If(raw("possible")).Block(jen.Return(jen.Nil()))
		}
		g.Return(raw("j.refuseState(operation)"))
	})
}

// check adds the function that looks at a record, whoever wrote it.
func check(f *jen.File, m *spec.Machine, n *names) {
	s := scope{n: n}
	f.Line()
	f.Add(doc(fmt.Sprintf("Check lists the rules that %s breaks, whoever wrote it. An empty list means that it may be worked on.", withArticle(n.Record)))).
		Func().Id("Check").Params(raw("j %s", n.Record)).Index().Add(raw("fsm.Violation")).BlockFunc(func(g *jen.Group) {
		g.Add(raw("var found []fsm.Violation"))
		g.If(raw("!j.State.Valid()")).Block(
			jen.Return(raw("append(found, fsm.Violation{Rule: %q, Must: true, Message: %q})", "state", "the record is in no state of the machine")),
		)
		for _, b := range s.fieldRules(m) {
			g.Add(violation(b, true))
		}
		for _, fact := range m.Invariant {
			if c := s.fact(fact).not(); c.kind != condFalse {
				g.Add(violation(broken{fact.Text, c}, true))
			}
		}
		var cases []jen.Code
		for _, st := range m.States {
			if code := s.stateRules(st); code != nil {
				cases = append(cases, jen.Case(raw(n.state(st))).Block(code...))
			}
		}
		if cases != nil {
			g.Switch(raw("j.State")).Block(cases...)
		}
		g.Return(raw("found"))
	})
}

func violation(b broken, must bool) *jen.Statement {
	weight := ""
	if must {
		weight = ", Must: true"
	}
	return jen.If(raw(b.when.String())).Block(
		raw("found = append(found, fsm.Violation{Rule: %q%s})", b.rule, weight),
	)
}

// fieldRules lists what the types of the fields promise in every state.
func (s scope) fieldRules(m *spec.Machine) []broken {
	var found []broken
	for _, f := range m.Fields {
		o := s.stored(f)
		var c cond
		switch f.Type.Kind {
		case spec.KindInt:
			c = s.outside(f)
		case spec.KindCounter:
			c = call(o.val + " < 0")
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

// stateRules lists the rules of one state, MUST before SHOULD.
func (s scope) stateRules(st *spec.State) []jen.Code {
	var code []jen.Code
	presence := func(refs []spec.FieldRef, present, must bool) {
		for _, r := range refs {
			c, rule := isPresent(s.stored(r.Field)), r.Field.Name+" is absent"
			if present {
				c, rule = c.not(), r.Field.Name+" is present"
			}
			if c.kind != condFalse {
				code = append(code, violation(broken{rule, c}, must))
			}
		}
	}
	presence(st.Present, true, true)
	presence(st.Absent, false, true)
	for _, f := range st.Invariant {
		if c := s.fact(f).not(); c.kind != condFalse {
			code = append(code, violation(broken{f.Text, c}, true))
		}
	}
	presence(st.ShouldPresent, true, false)
	presence(st.ShouldAbsent, false, false)
	return code
}
