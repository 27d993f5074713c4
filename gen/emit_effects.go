package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// In a package of the pure layer alone an event lists the effects that its step asks for. It
// knows them by its states, and by a number where the operation or its branch asks for some.

// stepPath is how a step is decided: by an operation without branches, or by one of its branches.
type stepPath struct {
	op     *spec.Operation
	branch *spec.Branch
}

// askingPaths lists the paths on which an operation or a branch has effects. An event of a
// pure package says by its number which of them was taken, from 1.
func askingPaths(m *spec.Machine) (list []stepPath) {
	for _, v := range m.Moves() {
		p := stepPath{v.Operation, v.Branch}
		own := len(v.Operation.Asks) > 0 || v.Branch != nil && len(v.Branch.Asks) > 0
		if own && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// effectName is the constant of an effect.
func effectName(e *spec.Effect) string { return "Effect" + spec.GoName(e.Name) }

// effects adds what a package of the pure layer alone has of effects; nothing where there are none.
func (p *pure) effects(f *jen.File) {
	all := p.m.AllAsks()
	if !p.n.alone || all == nil {
		return
	}
	f.Line()
	f.Add(doc("The effects, in the order of the specification.")).Const().DefsFunc(func(g *jen.Group) {
		for _, e := range all {
			g.Id(effectName(e)).Op("=").Lit(e.Name)
		}
	})
	f.Line()
	f.Add(doc(fmt.Sprintf("Effects does the work outside the record, when [Event.Perform] is called. It gets the %s as the step left it.", p.n.Record))).
		Type().Id("Effects").InterfaceFunc(func(g *jen.Group) {
		for _, e := range all {
			users, _ := askedBy(p.m, p.n, e)
			method := spec.MethodName(e.Name)
			g.Add(docIndented(1, fmt.Sprintf("%s is the effect of %s.", method, askers(users, "of")))).
				Id(method).Params(raw(p.n.Record), raw("Event"))
		}
	})
	p.effectTable(f)
	f.Line()
	f.Add(doc("Effects lists the effects that the step asks for, in the order in which they are performed. All events share the list: do not change it.")).
		Func().Params(raw("e Event")).Id("Effects").Params().Index().String().Block(jen.Return(raw("effectsOf[%s]",
		p.moveOf("e.path", "e.From", "e.To"))))
	f.Line()
	f.Add(doc("Perform performs the effects that the step asks for, in their order. Nothing calls it but the program.")).
		Func().Params(raw("e Event")).Id("Perform").Params(raw("record %s, fx Effects", p.n.Record)).Block(
		jen.For(raw("_, name := range e.Effects()")).Block(jen.Switch(raw("name")).BlockFunc(func(g *jen.Group) {
			for _, e := range all {
				g.Case(raw(effectName(e))).Block(raw("fx.%s(record, e)", spec.MethodName(e.Name)))
			}
		})),
	)
}

// moveOf writes a key of the table of effects.
func (p *pure) moveOf(path, from, to string) string {
	parts := []string{from, to}
	if len(p.paths) > 0 {
		parts = append([]string{path}, parts...)
	}
	return "move{" + strings.Join(parts, ", ") + "}"
}

// effectTable adds the effects of each step that asks for any.
func (p *pure) effectTable(f *jen.File) {
	f.Line()
	f.Add(doc("move is what the effects of a step depend on.")).Type().Id("move").StructFunc(func(g *jen.Group) {
		if len(p.paths) > 0 {
			g.Id("path").Int()
		}
		g.Add(raw("from, to State"))
	})
	f.Line()
	told := map[string]bool{}
	f.Add(doc("effectsOf has the effects of each step that asks for any.")).
		Var().Id("effectsOf").Op("=").Map(jen.Id("move")).Index().String().ValuesFunc(func(g *jen.Group) {
		for _, v := range p.m.Moves() {
			from := "0"
			if v.From != nil {
				from = p.n.state(v.Source())
			}
			number := slices.Index(p.paths, stepPath{v.Operation, v.Branch}) + 1
			key := strings.TrimPrefix(p.moveOf(fmt.Sprint(number), from, p.n.state(v.To)), "move")
			var names []string
			for _, e := range v.Asked() {
				names = append(names, effectName(e))
			}
			if names == nil || told[key] {
				continue
			}
			told[key] = true
			g.Line().Add(raw("%s: {%s}", key, strings.Join(names, ", ")))
		}
		g.Line()
	})
}
