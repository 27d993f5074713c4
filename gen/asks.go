package gen

import (
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
	if len(e.Key) > 0 {
		fields = append(fields, jen.Id("Key").Op(":").Func().Params(raw("j *%s", s.n.Record)).String().Block(
			jen.Return(s.keyText(e)),
		))
	}
	return jen.Values(fields...)
}
