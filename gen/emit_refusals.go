package gen

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// ground is one variable that holds why a call is refused.
type ground struct {
	name   string
	fields string // what stands between the braces
}

// ground notes a ground and returns the name of its variable. Two grounds of one
// name, as those of start with the guard a_b and of start_a with b, are numbered.
func (p *pure) ground(g ground) string {
	name := g.name
	for i := 2; ; i++ {
		at := slices.IndexFunc(p.grounds, func(x ground) bool { return x.name == g.name })
		if at < 0 {
			p.grounds = append(p.grounds, g)
			return g.name
		}
		if p.grounds[at].fields == g.fields {
			return g.name
		}
		g.name = fmt.Sprint(name, i)
	}
}

// refusedOn adds the grounds that are known before a call, so that a refusal is
// small: the states in which each operation is possible, and the guards.
func (p *pure) refusedOn(f *jen.File) {
	if p.used["refuseState"] {
		f.Line()
		f.Add(doc("The states in which an operation is possible, for refusals.")).
			Var().DefsFunc(func(g *jen.Group) {
			for _, o := range p.m.Operations {
				if creates(o) {
					continue
				}
				g.Add().Id(p.n.op(o).Allowed).Op("=").Index().Id("string").ValuesFunc(func(g *jen.Group) {
					for i, class := range p.m.Row(o) {
						if class == spec.Transition {
							g.Lit(p.m.States[i].Name)
						}
					}
				})
			}
		})
		p.stateGrounds(f, "wrongState", "a state in which it is not possible", "ErrWrongState", p.m.Operations)
		if ended := refusedAtTheEnd(p.m); ended != nil {
			p.stateGrounds(f, "terminal", "a terminal state", "ErrTerminal", ended)
		}
	}
	if p.grounds != nil {
		f.Line()
		f.Add(doc("The grounds on which guards refuse an operation.")).
			Var().DefsFunc(func(g *jen.Group) {
			for _, x := range p.grounds {
				g.Add(raw("%s = fsm.Ground{%s}", x.name, x.fields))
			}
		})
	}
}

// stateGrounds adds the table of the grounds on which the operations are refused
// in such a state.
func (p *pure) stateGrounds(f *jen.File, name, states, code string, ops []*spec.Operation) {
	f.Line()
	f.Add(doc(fmt.Sprintf("%s is why an operation is refused in %s.", name, states))).
		Var().Id(name).Op("=").Map(jen.String()).Add(raw("*fsm.Ground")).ValuesFunc(func(g *jen.Group) {
		for _, o := range ops {
			if c := p.n.op(o); !creates(o) {
				g.Line().Add(raw("%s: {Code: fsm.%s, Machine: %q, Operation: %q, Allowed: %s}", c.Const, code, p.m.Name, o.Name, c.Allowed))
			}
		}
		g.Line()
	})
}

// refusedAtTheEnd returns the operations that some terminal state refuses. Others
// are recorded there.
func refusedAtTheEnd(m *spec.Machine) []*spec.Operation {
	var list []*spec.Operation
	for _, o := range m.Operations {
		if !creates(o) && slices.ContainsFunc(m.States, func(s *spec.State) bool { return s.Terminal && m.Class(s, o) == spec.Reject }) {
			list = append(list, o)
		}
	}
	return list
}

// refusals adds the functions that make refusals, one allocation each.
func (p *pure) refusals(f *jen.File) {
	method := func(text, name, params string, body ...jen.Code) {
		f.Line()
		f.Add(doc(text)).
			Func().Params(raw("j *%s", p.n.Record)).Id(name).Params(raw(params)).Add(raw("*fsm.Refusal")).Block(body...)
	}
	if p.used["refuseState"] || p.grounds != nil {
		names := stateType(p.m, p.n).table("Names")
		method("refuseOn refuses on a ground that is known before the call.",
			"refuseOn", "ground *fsm.Ground",
			jen.If(raw("int(j.State) < len(%s)", names)).Block(jen.Return(raw("ground.Refuse(j.ID, &%s[j.State])", names))),
			raw("state := j.State.String() // the specification has no such state"),
			jen.Return(raw("ground.Refuse(j.ID, &state)")))
	}
	if p.used["refuseState"] {
		over := []jen.Code{
			jen.If(raw("ground := wrongState[op]"), raw("ground != nil")).Block(jen.Return(raw("j.refuseOn(ground)"))),
			jen.Return(raw("j.refuse(op, fsm.ErrWrongState)")),
		}
		if refusedAtTheEnd(p.m) != nil {
			over = append([]jen.Code{jen.If(raw("ground := terminal[op]"), raw("ground != nil && j.State.Terminal()")).Block(jen.Return(raw("j.refuseOn(ground)")))}, over...)
		}
		method("refuseState refuses an operation that is not possible in the record's state.",
			"refuseState", "op string", over...)
	}
	method("refuse refuses on a ground of its own: what is wrong with the call or with the record. A record without a state is one that a creation makes.",
		"refuse", "op string, code fsm.Code",
		raw(`state := ""`),
		jen.If(raw("j.State != 0")).Block(raw("state = j.State.String()")),
		jen.Return(raw("(&fsm.Ground{Code: code, Machine: %q, Operation: op}).RefuseOnce(j.ID, state)", p.m.Name)))
	named := func(text, name, params, code string, then *jen.Statement) {
		method(text, name, params, raw("r := j.refuse(op, %s)", code), then, jen.Return(raw("r")))
	}
	if p.used["refuseInput"] {
		named("refuseInput refuses an input that cannot be taken.",
			"refuseInput", "op, name, problem string", "fsm.ErrInvalidInput", raw("r.Name, r.Message = name, problem"))
	}
	if p.used["refuseInvariant"] {
		named("refuseInvariant refuses a step after which the record would break a rule: it was stored by somebody else.",
			"refuseInvariant", "op, rule string", "fsm.ErrInvariant", raw("r.Name = rule"))
	}
	if p.used["refuseOverflow"] {
		named("refuseOverflow refuses a step after which a field would have to hold more than it can.",
			"refuseOverflow", "op, field string", "fsm.ErrOverflow", raw("r.Name = field"))
	}
}
