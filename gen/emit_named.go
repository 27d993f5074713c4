package gen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// named adds what programs need that call an operation by its name: what it says to people, and
// how its inputs make a call.
func (s *store) named(o *spec.Operation, pair func(name string, value jen.Code)) {
	if o.Doc != "" {
		pair("Doc", jen.Lit(folded(o.Doc)))
	}
	lines := func(name, typ string, texts []string) {
		if texts == nil {
			return
		}
		pair(name, jen.Index().Add(raw(typ)).ValuesFunc(func(g *jen.Group) {
			for _, text := range texts {
				line(g, len(texts) > 1).Add(raw(text))
			}
			if len(texts) > 1 {
				g.Line()
			}
		}))
	}
	var rules, takes []string
	for _, r := range rulesOf(o) {
		rules = append(rules, fmt.Sprintf("{Name: %q, Text: %q}", r.Name, r.Text))
	}
	for _, in := range o.Inputs {
		takes = append(takes, argumentInfo(o, in))
	}
	lines("Rules", "fsmimpl.Rule", rules)
	lines("Takes", "fsmimpl.Argument", takes)
	if o.By == spec.BySystem && (s.engineCalls(o) || hasSource(o) || interp.Internal(s.m, o)) {
		return
	}
	c := s.n.op(o)
	rd, id := "_", "_"
	if len(o.Inputs) > 0 {
		rd = "rd"
	}
	if creates(o) {
		id = "id"
	}
	head := fmt.Sprintf("func(%s *fsmimpl.Reading, %s string, c fsmimpl.Caller) fsmimpl.Call[%s]", rd, id, s.n.Record)
	call := fmt.Sprintf("return %s(nil, %s)", c.Call, callArgs(o, c, "id", "in", "fsm.Call(c)"))
	if len(o.Inputs) == 0 {
		pair("Make", raw("%s { %s }", head, call))
		return
	}
	pair("Make", raw(head).BlockFunc(func(g *jen.Group) {
		g.Add(raw("var in %s", c.Input))
		for _, in := range o.Inputs {
			g.Add(raw("fsmimpl.%s(rd, &in.%s)", reader(in.Type), s.n.input(in)))
		}
		g.Add(raw(call))
	}))
}

// rulesOf lists the guards of an operation in the order in which they are asked.
func rulesOf(o *spec.Operation) (rules []RuleFact) {
	for _, r := range o.Require {
		rules = append(rules, RuleFact{r.Guard.Name, guardMeaning(r.Guard), toldTerms(r)})
	}
	return rules
}

// argumentInfo describes an input to who calls the operation by its name.
func argumentInfo(o *spec.Operation, in *spec.Input) string {
	text := fmt.Sprintf("{Column: driver.Column{Name: %[1]q, Stored: %[1]q, Kind: driver.%[2]s", in.Name, kindName(in.Type.Kind))
	if in.Type.Optional {
		text += ", Optional: true"
	}
	text += valuesInfo(in.Type) + "}"
	if note := noteOf(o, in); note != "" {
		text += fmt.Sprintf(", Doc: %q", note)
	}
	if in.Type.Kind == spec.KindDuration {
		text += ", Length: true"
	}
	return text + "}"
}

// noteOf says what an input is, as the comments of the generated code do. That it may be absent its type says.
func noteOf(o *spec.Operation, in *spec.Input) string {
	return folded(strings.TrimSuffix(strings.TrimSuffix(inputNote(o, in), "may be absent"), "; "))
}

// notesOf are the notes of all inputs.
func notesOf(o *spec.Operation) (list []string) {
	for _, in := range o.Inputs {
		list = append(list, noteOf(o, in))
	}
	return list
}

// folded is a text of the specification on one line.
func folded(text string) string { return strings.Join(strings.Fields(text), " ") }
