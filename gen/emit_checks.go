package gen

import (
	"fmt"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// classify adds the table of states and operations as one function.
func classify(f *jen.File, m *spec.Machine, n *names) {
	f.Line()
	f.Add(doc("Classify says what an operation does to a record in a state: it is a transition (guards and branches decide further), it is recorded and changes nothing, or it is refused. A creation is refused in every state.")).
		Func().Id("Classify").Params(raw("s State, op Operation")).Add(raw("fsmimpl.Class")).BlockFunc(func(g *jen.Group) {
		var cases []jen.Code
		for _, o := range m.Operations {
			var moves, records []jen.Code
			for i, class := range m.Row(o) {
				switch class {
				case spec.Transition:
					moves = append(moves, raw(n.state(m.States[i])))
				case spec.RecordOnly:
					records = append(records, raw(n.state(m.States[i])))
				}
			}
			var inner []jen.Code
			if moves != nil {
				inner = append(inner, jen.Case(moves...).Block(jen.Return(raw("fsmimpl.ClassTransition"))))
			}
			if records != nil {
				inner = append(inner, jen.Case(records...).Block(jen.Return(raw("fsmimpl.ClassRecordOnly"))))
			}
			if inner != nil {
				cases = append(cases, jen.Case(raw(n.op(o).Const)).Block(jen.Switch(raw("s")).Block(inner...)))
			}
		}
		if cases != nil {
			g.Switch(raw("op")).Block(cases...)
		}
		g.Return(raw("fsmimpl.ClassReject"))
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
