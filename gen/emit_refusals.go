package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// allowed lists the states in which the operation may move a record, as a Go text.
func allowed(m *spec.Machine, o *spec.Operation) string {
	var in []string
	for i, class := range m.Row(o) {
		if class == spec.Transition {
			in = append(in, m.States[i].Name)
		}
	}
	return strconv.Quote(strings.Join(in, ", "))
}

// ends reports whether some state is terminal.
func ends(m *spec.Machine) bool {
	return slices.ContainsFunc(m.States, func(s *spec.State) bool { return s.Terminal })
}

// callers adds the functions that look at who calls, and why.
func (p *pure) callers(f *jen.File) {
	n, j := p.n, p.n.self
	if p.used["asked"] || p.used["operated"] {
		f.Line()
		f.Add(doc("asked refuses a call whose actor cannot be one.")).
			Func().Params(p.n.receives("*")).Id("asked").Params(raw("op, actor string")).Error().Block(
			jen.If(raw(`actor == ""`)).Block(jen.Return(raw("%s.refuse(op, %s)", j, n.of("fsm.ErrActorMissing")))),
			jen.If(raw("err := %s(actor)", n.of("driver.CheckID")), raw("err != nil")).Block(jen.Return(raw(`%s.refuseInput(op, "actor", err.Error())`, j))),
			jen.Return(jen.Nil()),
		)
		p.used["refuseInput"] = true
	}
	if p.used["operated"] {
		f.Line()
		f.Add(doc("operated refuses a call of an operator who is nobody, or gives no reason.")).
			Func().Params(p.n.receives("*")).Id("operated").Params(raw("op, actor, reason string")).Error().Block(
			jen.If(raw(`actor != "" && reason == ""`)).Block(jen.Return(raw("%s.refuse(op, %s)", j, n.of("fsm.ErrReasonMissing")))),
			jen.If(raw("err := %s.asked(op, actor)", j), raw("err != nil")).Block(jen.Return(raw("err"))),
			jen.If(raw("err := %s(reason)", n.of("driver.CheckText")), raw("err != nil")).Block(jen.Return(raw(`%s.refuseInput(op, "reason", err.Error())`, j))),
			jen.Return(jen.Nil()),
		)
	}
}

// refusals adds the functions that make refusals.
func (p *pure) refusals(f *jen.File) {
	n, j := p.n, p.n.self
	method := func(text, name, params string, body ...jen.Code) {
		f.Line()
		f.Add(doc(text)).
			Func().Params(p.n.receives("*")).Id(name).Params(raw(params)).Add(raw("*" + n.of("fsm.Refusal"))).Block(body...)
	}
	id := ""
	if p.keeps["ID"] {
		id = "ID: " + j + ".ID, "
	}
	method("refuse refuses an operation. A record without a state is one that a creation makes.",
		"refuse", "op string, code "+n.of("fsm.Code"),
		jen.Return(raw("&%s{Code: code, Machine: %q, Operation: op, %sState: %s(stateNames[:], %s.State)}",
			n.of("fsm.Refusal"), p.m.Name, id, n.of("fsmimpl.InState"), j)))
	over := []jen.Code{raw("refusal := %s.refuse(op, %s)", j, n.of("fsm.ErrWrongState"))}
	if ends(p.m) {
		over = append(over, jen.If(raw("%s.State.Terminal()", j)).Block(raw("refusal.Code = "+n.of("fsm.ErrTerminal"))))
	}
	method("refuseState refuses an operation that is possible in other states than the record's.",
		"refuseState", "op, allowed string", append(over, raw("refusal.Allowed = allowed"), jen.Return(raw("refusal")))...)
	if p.used["refuseGuard"] {
		method("refuseGuard refuses by a guard, with the values that it looked at.",
			"refuseGuard", "op, guard, message string, cause error, values ...any",
			raw("refusal := %s.refuse(op, %s)", j, n.of("fsm.ErrGuard")),
			raw("refusal.Guard, refusal.Message, refusal.Cause = guard, message, cause"),
			raw("refusal.Values = %s(values...)", n.of("fsmimpl.Values")),
			jen.Return(raw("refusal")))
	}
	if p.used["refuseInput"] {
		method("refuseInput refuses an input that cannot be taken.",
			"refuseInput", "op, name, problem string",
			raw("refusal := %s.refuse(op, %s)", j, n.of("fsm.ErrInvalidInput")), raw("refusal.Name, refusal.Message = name, problem"), jen.Return(raw("refusal")))
	}
	if p.used["refuseRule"] {
		method("refuseRule refuses a step after which the record would break a rule, or could not hold a value.",
			"refuseRule", "op string, code "+n.of("fsm.Code")+", name string",
			raw("refusal := %s.refuse(op, code)", j), raw("refusal.Name = name"), jen.Return(raw("refusal")))
	}
}

// guardValues are the arguments that tell what a guard looks at.
func (e *operationEmitter) guardValues(r *spec.Requirement) string {
	var args []string
	add := func(name, value string, t spec.Type) {
		if !told(t) {
			return
		}
		if t.Kind == spec.KindEnum || t.Optional && t.Kind != spec.KindString && t.Kind != spec.KindTime && t.Kind != spec.KindDuration {
			value += ".String()"
		}
		if pair := fmt.Sprintf(", %q, %s", name, value); !slices.Contains(args, pair) {
			args = append(args, pair)
		}
	}
	if g := r.Guard; g.Peers != nil {
		add("others", "peers."+e.n.peer(g), spec.Type{Kind: spec.KindInt})
	}
	for _, f := range toldFacts(r) {
		for _, t := range f.Names() {
			switch {
			case t.Field != nil && creates(e.o) && f == r.Limit:
				limit := e.s.limit(e.o, t)
				if limit.here == maybe {
					limit.val = limit.opt + ".String()"
				}
				add(t.Field.Name, limit.val, spec.Type{Kind: spec.KindInt})
			case t.Field != nil:
				add(t.Field.Name, e.n.self+"."+e.n.field(t.Field), t.Field.Type)
			case t.Kind == spec.TermInput:
				add("input."+t.Input.Name, "in."+e.n.input(t.Input), t.Input.Type)
			case t.Kind == spec.TermActor:
				add("actor", "actor", spec.Type{Kind: spec.KindString})
			case t.Kind == spec.TermNow:
				add("now", "now", spec.Type{Kind: spec.KindTime})
			}
		}
	}
	return strings.Join(args, "")
}

// toldFacts are the facts of whose terms a refusal tells: those of the guard, or its limit.
func toldFacts(r *spec.Requirement) []*spec.Fact {
	if r.Limit != nil {
		return []*spec.Fact{r.Limit}
	}
	return spec.Leaves(r.When)
}

// toldBy are the names of what guardValues tells, in their order.
func toldBy(r *spec.Requirement) (names []string) {
	if r.Guard.Peers != nil {
		names = append(names, "others")
	}
	for _, t := range toldTerms(r) {
		names = append(names, ToldAs(t))
	}
	return names
}

// toldTerms are the terms whose values a refusal tells, in their order.
func toldTerms(r *spec.Requirement) (list []spec.Term) {
	for _, f := range toldFacts(r) {
		for _, t := range f.Names() {
			var typ spec.Type
			switch {
			case t.Field != nil:
				typ = t.Field.Type
			case t.Kind == spec.TermInput:
				typ = t.Input.Type
			case t.Kind != spec.TermActor && t.Kind != spec.TermNow:
				continue
			}
			if told(typ) && !slices.ContainsFunc(list, func(x spec.Term) bool { return ToldAs(x) == ToldAs(t) }) {
				list = append(list, t)
			}
		}
	}
	return list
}

// ToldAs is the name under which a refusal tells the value of a term.
func ToldAs(t spec.Term) string {
	switch {
	case t.Field != nil:
		return t.Field.Name
	case t.Kind == spec.TermInput:
		return "input." + t.Input.Name
	}
	return t.Text
}

// told reports whether values of the type are told in a refusal: none that may be long.
func told(t spec.Type) bool { return t.Kind != spec.KindJSON && t.Kind != spec.KindSet }

func (e *operationEmitter) refuseState() *jen.Statement {
	return e.fail("refuseState", ", %s", allowed(e.m, e.o))
}

// guardRefusal refuses by the machine's own error. The message is handed over
// when another guard gave the error its text.
func (e *operationEmitter) guardRefusal(guard, name, message, values string) *jen.Statement {
	x := e.n.error(name)
	if phrase(message) == phrase(x.Message) {
		message = ""
	}
	return e.fail("refuseGuard", ", %q, %q, %s%s", guard, phrase(message), x.Var, values)
}
