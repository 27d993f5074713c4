package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// store is the durable layer of one machine in the making.
type store struct {
	m    *spec.Machine
	n    *names
	opt  Options
	rows *rows
}

// storeFile returns the durable layer: the same operations over a store.
func storeFile(m *spec.Machine, n *names, opt Options) ([]byte, error) {
	s := &store{m: m, n: n, opt: opt, rows: &rows{n: n}}
	f := newFile(n)
	f.Anon("embed")
	s.schema(f)
	s.outcome(f)
	s.effects(f)
	s.borders(f)
	s.sources(f)
	s.probes(f)
	s.machine(f)
	s.open(f)
	s.migrate(f)
	s.fold(f)
	for _, o := range m.Operations {
		if !interp.Internal(m, o) {
			s.methods(f, o)
		}
	}
	s.reading(f)
	s.lookups(f)
	s.derived(f)
	s.running(f)
	s.probe(f)
	var failed error
	f.Line()
	f.Add(doc("The operations, as the engine knows them.")).
		Var().DefsFunc(func(g *jen.Group) {
		for i, o := range m.Operations {
			if i > 0 {
				g.Line()
			}
			if err := s.operation(g, o); err != nil && failed == nil {
				failed = err
			}
		}
	})
	if failed != nil {
		return nil, failed
	}
	s.descriptor(f)
	for _, o := range m.Operations {
		if err := s.call(f, o); err != nil {
			return nil, err
		}
	}
	s.encode(f)
	s.decode(f)
	s.stepFunction(f)
	return render(f)
}

// descriptor adds the description of the record to the engine.
func (s *store) descriptor(f *jen.File) {
	f.Line()
	f.Add(doc("descriptor describes the machine to the engine.")).
		Var().Id("descriptor").Op("=").Add(raw("fsmimpl.Descriptor[%s]", s.n.Record)).Values(
		jen.Line().Id("Schema").Op(":").Add(raw("schema")),
		jen.Line().Id("Encode").Op(":").Add(raw("encode")),
		jen.Line().Id("Decode").Op(":").Add(raw("decode")),
		jen.Line().Id("Check").Op(":").Add(raw("func(j *%s) []fsm.Violation { return %s(*j) }", s.n.Record, s.n.ours("package", "Check"))),
		s.moved(),
		jen.Line().Id("Operations").Op(":").Index().Add(raw("*fsmimpl.Operation[%s]", s.n.Record)).ValuesFunc(func(g *jen.Group) {
			const most = 8 // on one line
			for i, o := range s.m.Operations {
				line(g, i%most == 0).Add(raw(s.n.op(o).Desc))
			}
			g.Line()
		}),
		s.projection(),
		s.limits(),
		jen.Line(),
	)
}

// moved says which rule over a step is broken.
func (s *store) moved() jen.Code {
	if len(s.m.Kept()) == 0 {
		return jen.Null()
	}
	return jen.Line().Id("Moved").Op(":").Add(raw("func(before, after *%s) string { return after.moved(before) }", s.n.Record))
}

// limits lists the numbers of the guards with `fewer`.
func (s *store) limits() jen.Code {
	var parts []string
	for _, g := range s.m.Guards {
		if limits(g) {
			parts = append(parts, fmt.Sprintf("%q: %d", g.Name, g.Peers.Than))
		}
	}
	if parts == nil {
		return jen.Null()
	}
	return jen.Line().Id("Limits").Op(":").Add(raw("map[string]int64{" + strings.Join(parts, ", ") + "}"))
}

// limits reports whether a guard is one with `fewer` and a number.
func limits(g *spec.Guard) bool {
	return g.Peers != nil && !g.Peers.None && !g.Peers.Some && g.Peers.Limit == nil
}

// limitOf returns the guard that counts what a rule of the projection counts, up to the
// same number; nil when there is none.
func limitOf(m *spec.Machine, r *spec.ProjectionRule) *spec.Guard {
	in := distinct(states(slices.Concat(r.Any, r.All)))
	for _, g := range m.Guards {
		if limits(g) && g.Peers.Own() && g.Peers.Than == r.AtLeast && slices.Equal(fieldNames(g.Peers.Same), fieldNames(m.Projection.Key)) &&
			slices.Equal(stateNames(in), stateNames(distinct(states(g.Peers.In)))) {
			return g
		}
	}
	return nil
}

// projection describes the derived machine to the audit.
func (s *store) projection() jen.Code {
	p := s.m.Projection
	if p == nil {
		return jen.Null()
	}
	rule := func(g *jen.Group, r *spec.ProjectionRule) {
		parts := []jen.Code{jen.Id("State").Op(":").Lit(r.State.Name)}
		for _, x := range []struct {
			name string
			refs []spec.StateRef
		}{{"Any", r.Any}, {"All", r.All}, {"None", r.None}} {
			if x.refs != nil {
				parts = append(parts, jen.Id(x.name).Op(":").Add(raw(stringsExpr(storedStates(distinct(states(x.refs)))))))
			}
		}
		if r.AtLeast > 0 {
			parts = append(parts, jen.Id("AtLeast").Op(":").Add(raw(fmt.Sprint(r.AtLeast))))
			if g := limitOf(s.m, r); g != nil {
				parts = append(parts, jen.Id("Limit").Op(":").Lit(g.Name))
			}
		}
		g.Line().Values(parts...)
	}
	var key []string
	for _, k := range p.Key {
		key = append(key, k.Field.Stored())
	}
	fields := []jen.Code{
		jen.Line().Id("Entity").Op(":").Lit(p.Entity),
		jen.Line().Id("Key").Op(":").Add(raw(stringsExpr(key))),
		jen.Line().Id("Rules").Op(":").Index().Add(raw("fsmimpl.ProjectionRule")).ValuesFunc(func(g *jen.Group) {
			for _, r := range p.Rules {
				rule(g, r)
			}
			g.Line()
		}),
	}
	if len(p.Transitions) > 0 {
		fields = append(fields, jen.Line().Id("Moves").Op(":").Index().Add(raw("fsmimpl.Move")).ValuesFunc(func(g *jen.Group) {
			for _, t := range p.Transitions {
				g.Line().Values(jen.Id("From").Op(":").Lit(t.From.Name), jen.Id("To").Op(":").Lit(t.To.Name))
			}
			g.Line()
		}))
	}
	return jen.Line().Id("Projection").Op(":").Add(raw("&fsmimpl.Projection")).Values(append(fields, jen.Line())...)
}

// outcome adds the name of what a call leads to.
func (s *store) outcome(f *jen.File) {
	f.Line()
	f.Add(doc(s.n.outcome() + " is the result of a call: the record, its events, and whether the call was a retry.")).
		Type().Id(s.n.outcome()).Op("=").Add(raw("fsm.Outcome[%s]", s.n.Record))
}

// atomic reports whether some effect runs in the store's transaction.
func (s *store) atomic() bool {
	return slices.ContainsFunc(s.m.Performed(), func(e *spec.Effect) bool { return e.Atomic })
}

// effects adds the interface that the application implements.
func (s *store) effects(f *jen.File) {
	list := s.m.Performed()
	if list == nil {
		return
	}
	typ := raw("Effects")
	text := "Effects does the work outside the record. The application implements it."
	if s.atomic() {
		typ = raw("Effects[T any]")
		text += " T is the transaction of the store."
	}
	f.Line()
	f.Add(doc(text)).Type().Add(typ).InterfaceFunc(func(g *jen.Group) {
		for _, e := range list {
			g.Add(docIndented(1, effectDoc(s.m, s.n, e))).Id(spec.MethodName(e.Name)).ParamsFunc(func(g *jen.Group) {
				g.Id("ctx").Qual("context", "Context")
				if e.Atomic {
					g.Add(raw("tx T"))
				}
				event := "e"
				if s.n.self == event {
					event = "event"
				}
				g.Add(s.n.receives(""))
				g.Add(raw("key string"))
				g.Add(raw("%s fsm.Event", event))
			}).Error()
		}
	})
}

// sourced lists the operations whose triggered calls need inputs.
func (s *store) sourced() []*spec.Operation {
	var list []*spec.Operation
	for _, o := range s.m.Operations {
		if hasSource(o) {
			list = append(list, o)
		}
	}
	return list
}

// sources adds the functions that make up the inputs of triggered calls.
func (s *store) sources(f *jen.File) {
	list := s.sourced()
	if list == nil {
		return
	}
	f.Line()
	f.Add(doc("Sources return the inputs of calls that triggers issue. They run before the transaction; their results are checked and logged as any input.")).
		Type().Id("Sources").StructFunc(func(g *jen.Group) {
		for _, o := range list {
			c := s.n.op(o)
			g.Id(c.Method).Func().Params(s.n.receives(""), raw("now time.Time")).Params(raw(c.Input), raw("error"))
		}
	})
}

// probes adds the interface that the audit asks.
func (s *store) probes(f *jen.File) {
	if len(s.m.Probes) == 0 {
		return
	}
	f.Line()
	f.Add(doc("Probes compare records with the world outside the store, for audits alone. Each method reports whether the fact of its name is true.")).
		Type().Id("Probes").InterfaceFunc(func(g *jen.Group) {
		for _, p := range s.m.Probes {
			text := fmt.Sprintf("%s is asked for each %s that is %s.", spec.MethodName(p.Name), s.n.Record, list(stateNames(s.probed(p)), "or"))
			if p.Doc != "" {
				text += " " + sentence(p.Doc)
			}
			g.Add(docIndented(1, text)).Id(spec.MethodName(p.Name)).
				Params(jen.Id("ctx").Qual("context", "Context"), s.n.receives("")).Params(raw("bool"), raw("error"))
		}
	})
}

// probed lists the states of which a probe is asked.
func (s *store) probed(p *spec.Probe) []*spec.State {
	var list []*spec.State
	for _, st := range s.m.States {
		if slices.Contains(st.Probes, p) {
			list = append(list, st)
		}
	}
	return list
}
