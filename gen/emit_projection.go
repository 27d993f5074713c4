package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// projectedStates lists the states of the derived machine: those of the rules
// in the order of their first rule, then the reserved ones.
func projectedStates(p *spec.Projection) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, r := range p.Rules {
		add(r.State.Name)
	}
	for _, s := range p.Reserved {
		add(s.Name)
	}
	return names
}

// projection adds the derived machine: its states, its record, and the pure
// function over the records of one group.
func projection(f *jen.File, m *spec.Machine, n *names) error {
	p := m.Projection
	t := projectionType(p)
	enum(f, n, t)
	projectedMoves(f, p, t)
	f.Line()
	f.Add(doc(fmt.Sprintf("%s is derived from all %s records with the same %s; it is stored nowhere.", p.Entity, m.Entity, list(fieldNames(p.Key), "and")))).
		Type().Id(p.Entity).StructFunc(func(g *jen.Group) {
		for _, k := range p.Key {
			g.Id(n.field(k.Field)).Add(raw(n.fieldType(k.Field))).Tag(tag(k.Field.Name, k.Field.Type.Optional)).Comment("zero without records")
		}
		g.Id("State").Id(t.name).Tag(tag("state", false))
		for _, x := range p.Fields {
			g.Id(spec.GoName(x.Name)).Add(raw(n.aggregateType(x))).Tag(tag(x.Name, x.Agg != "count")).Comment("// " + aggregateNote(x))
		}
	})
	body, err := projectBody(m, n, t)
	if err != nil {
		return err
	}
	project := n.ours("package", "Project")
	f.Line()
	f.Add(doc(fmt.Sprintf("%s derives the %s of the given records, which must be all that have one %s. The first rule that holds wins:%s",
		project, p.Entity, list(fieldNames(p.Key), "and"), ruleTexts(p)))).
		Func().Id(project).Params(raw("records []%s", n.Record)).Id(p.Entity).Block(body...)
	return nil
}

func projectionType(p *spec.Projection) *enumType {
	name := p.Entity + "State"
	t := &enumType{
		name:  name,
		doc:   []string{fmt.Sprintf("%s is the derived state of %s. The zero %s is no state.", name, withArticle(p.Entity), name)},
		block: "The derived states, in the order of the rules.",
		noun:  "state",
	}
	for _, s := range projectedStates(p) {
		text := ""
		if slices.ContainsFunc(p.Reserved, func(r spec.ProjectedState) bool { return r.Name == s }) {
			text = "Reserved: no rule leads here."
		}
		t.consts = append(t.consts, enumConst{name + spec.GoName(s), s, s, text})
	}
	return t
}

// projectedMoves adds the edges of the derived machine.
func projectedMoves(f *jen.File, p *spec.Projection, t *enumType) {
	if len(p.Transitions) == 0 {
		return
	}
	constant := func(name string) string { return t.name + spec.GoName(name) }
	f.Line()
	f.Add(doc(fmt.Sprintf("Leads reports whether one step of a record may move the %s from s to next. Staying is no move.", p.Entity))).
		Func().Params(raw("s %s", t.name)).Id("Leads").Params(raw("next %s", t.name)).Bool().BlockFunc(func(g *jen.Group) {
		var cases []jen.Code
		for _, from := range projectedStates(p) {
			var to []string
			for _, x := range p.Transitions {
				if x.From.Name == from {
					to = append(to, "next == "+constant(x.To.Name))
				}
			}
			if to != nil {
				cases = append(cases, jen.Case(raw(constant(from))).Block(jen.Return(raw(strings.Join(to, " || ")))))
			}
		}
		g.Switch(raw("s")).Block(cases...)
		g.Return(raw("false"))
	})
}

func ruleTexts(p *spec.Projection) string {
	var b strings.Builder
	for _, r := range p.Rules {
		var when []string
		group := func(word string, refs []spec.StateRef) {
			if len(refs) > 0 {
				when = append(when, word+" "+list(stateNames(states(refs)), "or"))
			}
		}
		group("any is", r.Any)
		group("all are", r.All)
		group("none is", r.None)
		if r.AtLeast > 0 {
			when = append(when, fmt.Sprintf("at least %d of them", r.AtLeast))
		}
		if when == nil {
			when = []string{"otherwise"}
		}
		fmt.Fprintf(&b, "\n  - %s: %s", r.State.Name, strings.Join(when, ", "))
	}
	return b.String()
}

// aggregateType is the type of an aggregate. The largest of no records is absent.
func (n *names) aggregateType(x *spec.ProjectionField) string {
	if x.Agg == "count" {
		return "int64"
	}
	return n.of("fsm.Optional") + "[" + n.goType(x.Field.Type, nil) + "]"
}

func aggregateNote(x *spec.ProjectionField) string {
	if x.Agg == "count" {
		return "how many records there are"
	}
	return fmt.Sprintf("the %s %s; absent without one", map[string]string{"max": "largest", "min": "smallest"}[x.Agg], x.Field.Name)
}

func projectBody(m *spec.Machine, n *names, t *enumType) ([]jen.Code, error) {
	p := m.Projection
	code := []jen.Code{raw("var p %s", p.Entity)}
	if len(p.Key) > 0 {
		var keys []jen.Code
		for _, k := range p.Key {
			keys = append(keys, raw("p.%s = records[0].%s", n.field(k.Field), n.field(k.Field)))
		}
		code = append(code, jen.If(raw("len(records) > 0")).Block(keys...))
	}
	var loop []jen.Code
	for _, x := range p.Fields {
		goName := "p." + spec.GoName(x.Name)
		if x.Agg == "count" {
			code = append(code, raw("%s = int64(len(records))", goName))
			continue
		}
		loop = append(loop, aggregate(n, x, goName))
	}
	if loop != nil {
		code = append(code, jen.For(raw("_, r := range records")).Block(loop...))
	}
	rules, err := projectRules(n, p, t)
	if err != nil {
		return nil, err
	}
	return append(append(code, rules...), jen.Return(raw("p"))), nil
}

// aggregate keeps the largest or smallest value that is there.
func aggregate(n *names, x *spec.ProjectionField, target string) jen.Code {
	value := n.variable(x.Field.Type, nil, "r."+n.field(x.Field))
	best := operand{kind: x.Field.Type.Kind, here: maybe, opt: target, val: target + ".Or(" + n.zero(x.Field.Type.Kind) + ")"}
	op := spec.Gt
	if x.Agg == "min" {
		op = spec.Lt
	}
	better := and(there(value), or(isPresent(best).not(), compare(op, value, best)))
	assign := n.of("fsm.Some") + "(" + value.val + ")"
	if value.here == maybe {
		assign = value.opt
	}
	return jen.If(raw(better.String())).Block(raw("%s = %s", target, assign))
}

func projectRules(n *names, p *spec.Projection, t *enumType) ([]jen.Code, error) {
	counts := func(refs []spec.StateRef) string {
		var consts []string
		for _, s := range distinct(states(refs)) {
			consts = append(consts, n.state(s))
		}
		return "in(" + strings.Join(consts, ", ") + ")"
	}
	var cases []jen.Code
	usesIn := false
	for i, r := range p.Rules {
		var parts []cond
		if r.Any != nil {
			parts = append(parts, call(counts(r.Any)+" > 0"))
		}
		if r.All != nil {
			parts = append(parts, call("len(records) > 0"), call(counts(r.All)+" == len(records)"))
		}
		if r.None != nil {
			parts = append(parts, call(counts(r.None)+" == 0"))
		}
		if r.AtLeast > 0 {
			parts = append(parts, call(fmt.Sprintf("%s >= %d", counts(slices.Concat(r.Any, r.All)), r.AtLeast)))
		}
		assign := raw("p.State = %s%s", t.name, spec.GoName(r.State.Name))
		if parts == nil {
			if cases == nil {
				return []jen.Code{assign}, nil
			}
			cases = append(cases, jen.Default().Block(assign))
			if i != len(p.Rules)-1 {
				return nil, fmt.Errorf("projection: the rules below the bare one for %s are never looked at", r.State.Name)
			}
			break
		}
		usesIn = true
		cases = append(cases, jen.Case(raw(and(parts...).String())).Block(assign))
	}
	var code []jen.Code
	if usesIn {
		code = append(code, raw("in").Op(":=").Func().Params(raw("states ...State")).Int().Block(
			raw("n := 0"),
			jen.For(raw("_, r := range records")).Block(
				jen.If(jen.Qual("slices", "Contains").Call(raw("states"), raw("r.State"))).Block(raw("n++")),
			),
			jen.Return(raw("n")),
		))
	}
	return append(code, jen.Switch().Block(cases...)), nil
}
