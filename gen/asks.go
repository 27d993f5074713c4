package gen

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// asking lists the branches of an operation that have effects, or a step behind them. An
// event says by its number which of them was taken, from 1.
func asking(o *spec.Operation) []*spec.Branch {
	return slices.DeleteFunc(slices.Clone(o.Choose), func(b *spec.Branch) bool { return len(b.Asks) == 0 && b.Then == nil })
}

// asksByBranch reports whether what a step asks for, or what follows it, depends on the branch
// of some operation.
func asksByBranch(m *spec.Machine) bool {
	return slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return len(asking(o)) > 0 })
}

// asks adds to the description of an operation the effects that its steps ask for, and what
// follows them.
func (s *store) asks(o *spec.Operation, pair func(name string, value jen.Code)) {
	if len(o.Asks) > 0 {
		pair("Asks", s.effectInfos(o.Asks))
	}
	if o.Then != nil {
		pair("Then", jen.Lit(o.Then.Operation.Name))
	}
	if len(o.Places) > 0 {
		pair("Places", jen.Index().Add(raw("*fsmimpl.Place[%s]", s.n.Record)).ValuesFunc(func(g *jen.Group) {
			for _, p := range o.Places {
				fields := []jen.Code{jen.Id("States").Op(":").Add(raw(stringsExpr(storedStates(p.States))))}
				if len(p.Enter) > 0 {
					fields = append(fields, jen.Id("Enter").Op(":").Id("enter"+spec.GoName(p.Name)))
				}
				if len(p.Exit) > 0 {
					fields = append(fields, jen.Id("Exit").Op(":").Id("exit"+spec.GoName(p.Name)))
				}
				line(g, len(o.Places) > 1).Values(fields...)
			}
			if len(o.Places) > 1 {
				g.Line()
			}
		}))
	}
	branches := asking(o)
	if len(branches) == 0 {
		return
	}
	pair("Branches", jen.Index().Add(raw("fsmimpl.Branch[%s]", s.n.Record)).ValuesFunc(func(g *jen.Group) {
		for _, b := range branches {
			g.Line().ValuesFunc(func(g *jen.Group) {
				if len(b.Asks) > 0 {
					g.Id("Asks").Op(":").Add(s.effectInfos(b.Asks))
				}
				if b.Then != nil {
					g.Id("Then").Op(":").Lit(b.Then.Operation.Name)
				}
			})
		}
		g.Line()
	}))
}

// borders adds what is performed when a record enters or leaves a state or a group.
func (s *store) borders(f *jen.File) {
	add := func(word, when string, p *spec.Place, list []*spec.Effect) {
		if len(list) == 0 {
			return
		}
		name := word + spec.GoName(p.Name)
		f.Line()
		f.Add(doc(fmt.Sprintf("%s is performed when a step %s %s.", name, when, p.Name))).
			Var().Id(name).Op("=").Add(s.effectInfos(list))
	}
	for _, p := range s.m.Places() {
		add("enter", "enters", p, p.Enter)
		add("exit", "leaves", p, p.Exit)
	}
}

// effectInfos describes effects to the engine.
func (s *store) effectInfos(list []*spec.Effect) *jen.Statement {
	return jen.Index().Add(raw("*fsmimpl.EffectInfo[%s]", s.n.Record)).ValuesFunc(func(g *jen.Group) {
		for _, e := range list {
			line(g, len(list) > 1).Add(s.effectInfo(e))
		}
		if len(list) > 1 {
			g.Line()
		}
	})
}

// effectInfo describes an effect to the engine.
func (s *store) effectInfo(e *spec.Effect) *jen.Statement {
	fields := []jen.Code{jen.Id("Name").Op(":").Lit(e.Name)}
	if e.Atomic {
		fields = append(fields, jen.Id("Atomic").Op(":").True())
	}
	if e.Then != nil {
		fields = append(fields, jen.Id("Then").Op(":").Lit(e.Then.Operation.Name))
	}
	if e.Attempts > 0 {
		fields = append(fields, jen.Id("Attempts").Op(":").Lit(e.Attempts))
	}
	if e.Failed != nil {
		fields = append(fields, jen.Id("Failed").Op(":").Lit(e.Failed.Operation.Name))
	}
	if len(e.Key) > 0 {
		fields = append(fields, jen.Id("Key").Op(":").Func().Params(raw("j *%s", s.n.Record)).String().Block(
			jen.Return(s.keyText(e)),
		))
	}
	if e.Other != nil {
		fields = append(fields, jen.Id("Other").Op(":").Add(s.otherStep(e.Other)))
		for i := range fields {
			fields[i] = jen.Line().Add(fields[i])
		}
		fields = append(fields, jen.Line())
	}
	return jen.Values(fields...)
}

// otherStep describes a step of another machine's record to the engine.
func (s *store) otherStep(x *spec.OtherStep) *jen.Statement {
	fields := []jen.Code{jen.Id("Machine").Op(":").Lit(x.Use.Name), jen.Id("Operation").Op(":").Lit(x.Do)}
	if len(x.Passes) > 0 {
		fields = append(fields,
			jen.Id("Passes").Op(":").Index().Add(raw("fsmimpl.Argument")).ValuesFunc(func(g *jen.Group) {
				for _, p := range x.Passes {
					kind := p.Field.Field.Type.Kind
					if kind == spec.KindCounter || kind == spec.KindSequence {
						kind = spec.KindInt
					}
					text := fmt.Sprintf("{Column: driver.Column{Name: %q, Kind: driver.%s}", p.Input, kindName(kind))
					if kind == spec.KindDuration {
						text += ", Length: true"
					}
					g.Add(raw(text + "}"))
				}
			}),
			jen.Id("Inputs").Op(":").Func().Params(raw("j *%s", s.n.Record)).Map(jen.String()).Any().Block(
				jen.Return(jen.Map(jen.String()).Any().ValuesFunc(func(g *jen.Group) {
					for _, p := range x.Passes {
						g.Lit(p.Input).Op(":").Add(raw(s.passed(p.Field.Field)))
					}
				})),
			))
	}
	if len(fields) > 2 {
		for i := range fields {
			fields[i] = jen.Line().Add(fields[i])
		}
		fields = append(fields, jen.Line())
	}
	return jen.Op("&").Add(raw("fsmimpl.Other[%s]", s.n.Record)).Values(fields...)
}

// passed is the value of a field as rows hold it.
func (s *store) passed(f *spec.Field) string {
	switch f {
	case s.m.ID:
		return "j.ID"
	case s.m.Rev:
		return "j.Rev"
	}
	return s.rows.storedColumn(f)
}
