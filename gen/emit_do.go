package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// callable lists the operations that can be called by their names.
func (p *pure) callable() []*spec.Operation {
	ops := slices.DeleteFunc(slices.Clone(p.m.Operations), creates)
	if !p.n.alone || len(ops) == 0 {
		return nil
	}
	return ops
}

// callMember is a part of what a call by name brings.
type callMember struct{ name, typ, comment, sent string } // sent: where a test has it

// callMembers lists what calls by name bring.
func (p *pure) callMembers(ops []*spec.Operation) (list []callMember) {
	add := func(reads func(*spec.Operation) bool, x callMember) {
		if slices.ContainsFunc(ops, reads) {
			list = append(list, x)
		}
	}
	add(needsActor, callMember{"Actor", "string", "who calls", "c.Actor"})
	add(func(o *spec.Operation) bool { return o.By == spec.ByOperator }, callMember{"Reason", "string", "of an operator", "c.Reason"})
	add(p.asksNow, callMember{"Now", "time.Time", "", "c.Now()"})
	add(func(o *spec.Operation) bool { return len(o.Inputs) > 0 },
		callMember{"Inputs", "map[string]any", "by name, of the types that the method takes; a word may be its text", "inputs"})
	add(func(o *spec.Operation) bool { return p.n.op(o).Peers != "" },
		callMember{"Peers", "map[string]int64", "by guard: how many others it counts", "c.Peers"})
	return list
}

// byName adds the call of an operation by its name, to a package of the pure layer alone.
func (p *pure) byName(f *jen.File) {
	ops := p.callable()
	if ops == nil {
		return
	}
	call, do := p.n.ours("package", "Call"), p.n.ours("record", "Do")
	brings := map[string]bool{}
	var members []jen.Code
	for _, x := range p.callMembers(ops) {
		brings[x.name] = true
		if x.typ == "time.Time" {
			members = append(members, jen.Id(x.name).Qual("time", "Time"))
			continue
		}
		members = append(members, raw("%s %s", x.name, x.typ).Comment(x.comment))
	}
	inputs, counts := brings["Inputs"], brings["Peers"]
	params := "operation string"
	refuses := []string{"an unknown operation"}
	if members != nil {
		f.Line()
		f.Add(doc(fmt.Sprintf("%s is what [%s.%s] hands to the method of an operation.", call, p.n.Record,
			do))).Type().Id(call).Struct(members...)
		params += ", call " + call
		if inputs {
			refuses = append(refuses, "an input that is unknown, missing or of another type")
		}
		if brings["Now"] {
			refuses = append(refuses, "a time that is missing")
		}
		if counts {
			refuses = append(refuses, "a count that is missing")
		}
	}
	const unknown = "no operation on a record has that name"
	p.used["refuseInput"] = true
	f.Line()
	f.Add(doc(fmt.Sprintf("%s calls the method of an operation by its name, one of the Op constants. It refuses %s with %s. It makes no record.",
		do, list(refuses, "and"), p.n.of("fsm.ErrInvalidInput")))).
		Func().Params(p.n.receives("*")).Id(do).Params(raw(params)).Params(raw("Event"), raw("error")).BlockFunc(func(g *jen.Group) {
		read := inputs || counts || brings["Now"] // something may be missing
		if read {
			from := ""
			if inputs {
				from = "inputs: call.Inputs"
			}
			g.Add(raw("sent := %s{%s}", p.n.of("callInputs"), from))
		}
		g.Switch(raw("operation")).BlockFunc(func(g *jen.Group) {
			for _, o := range ops {
				g.Case(raw(p.n.op(o).Const)).Block(p.sent(o, read)...)
			}
			if read {
				g.Default().Block(raw("sent.wrong(%q, %q)", "operation", unknown))
			}
		})
		if !read {
			g.Return(raw("Event{}, %s.refuseInput(operation, %q, %q)", p.n.self, "operation", unknown))
			return
		}
		p.named(g)
		g.Return(raw("Event{}, %s.refuseInput(operation, sent.name, sent.problem)", p.n.self))
	})
}

// sent calls the method of an operation with what a call by name brings.
func (p *pure) sent(o *spec.Operation, read bool) (code []jen.Code) {
	c, now := p.n.op(o), ""
	fill := func(name, typ string, fields []string) {
		code = append(code, raw("%s := %s{%s}", name, typ, strings.Join(fields, ", ")))
	}
	if c.Input != "" {
		var fields []string
		for _, in := range o.Inputs {
			fields = append(fields, p.n.input(in)+": "+p.sentInput(in))
		}
		fill("in", c.Input, fields)
	}
	if c.Peers != "" {
		var fields []string
		for _, g := range peerGuards(o) {
			fields = append(fields, fmt.Sprintf("%s: %s(&sent, call.Peers, %q)", p.n.peer(g), p.n.of("countOf"), g.Name))
		}
		fill("peers", c.Peers, fields)
	}
	if p.asksNow(o) {
		now = "call.Now"
		code = append(code, raw("%s(&sent, call.Now)", p.n.of("needTime")))
	}
	method := raw("%s.%s(%s)", p.n.self, c.Method, pureArgs(c, o, "in", "peers", "call.Actor", "call.Reason", now))
	if !read {
		return append(code, jen.Return(method))
	}
	return append(code, jen.If(raw("sent.complete()")).Block(jen.Return(method)))
}

// sentInput is an input that a call by name brings.
func (p *pure) sentInput(in *spec.Input) string {
	typ := p.n.goType(in.Type, p.n.inputType(in))
	if !in.Type.Optional {
		return fmt.Sprintf("%s[%s](&sent, %q)", p.n.of("inputOf"), typ, in.Name)
	}
	text := fmt.Sprintf("%s[%s](&sent, %q)", p.n.of("optionalInputOf"), typ, in.Name)
	if !isOptional(in.Type) { // a set, which is absent when it is empty
		text += ".Or(" + typ + "{})"
	}
	return text
}

// named adds what turns the stored word of an operation into its name.
func (p *pure) named(g *jen.Group) {
	for _, o := range p.m.Operations {
		if o.Stored() != o.Name {
			g.If(raw("operation == %s", p.n.op(o).Const)).Block(raw("operation = %q // as the specification calls it", o.Name))
		}
	}
}
