package gen

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// lookups adds a method for each `lookup`.
func (s *store) lookups(f *jen.File) {
	for _, l := range s.m.Lookups {
		name := spec.MethodName(l.Name)
		var params []jen.Code
		var values, names []string
		for _, r := range l.Fields {
			param := lookupParam(r.Field, names)
			names = append(names, param)
			enum := s.n.fieldEnum(r.Field)
			params = append(params, raw("%s %s", param, s.n.goType(r.Field.Type, enum)))
			values = append(values, s.rows.column(plain(r.Field.Type.Kind, enum, param), true))
		}
		text := []string{name + " returns " + s.lookupDoc(l)}
		if l.Doc != "" {
			text = append(text, sentence(l.Doc))
		}
		f.Line()
		one := s.m.OneRecord(l)
		call, result := "Page", raw("[]%s, fsm.Page, error", s.n.Record)
		if one {
			call, result = "Find", raw("%s, error", s.n.Record)
		} else {
			params = append(params, raw("page fsm.Page"))
		}
		params = append([]jen.Code{ctx()}, params...)
		f.Add(doc(text...)).Func().Params(raw("m *Machine")).Id(name).Params(params...).Params(result).
			BlockFunc(func(g *jen.Group) {
				g.Id("l").Op(":=").Add(raw("fsmimpl.Lookup")).Values(s.lookupFields(l)...)
				args := fmt.Sprintf("ctx, &l, []any{%s}", strings.Join(values, ", "))
				if !one {
					args += ", page"
				}
				g.Return(raw("m.core.%s(%s)", call, args))
			})
	}
}

// derived adds the method that reads the records of a group and derives the projection from them.
func (s *store) derived(f *jen.File) {
	p := s.m.Projection
	if p == nil {
		return
	}
	params := []jen.Code{ctx()}
	var values, names []string
	for _, k := range p.Key {
		param, enum := lookupParam(k.Field, names), s.n.fieldEnum(k.Field)
		names = append(names, param)
		params = append(params, raw("%s %s", param, s.n.goType(k.Field.Type, enum)))
		values = append(values, s.rows.column(plain(k.Field.Type.Kind, enum, param), true))
	}
	name, key := p.Entity, list(fieldNames(p.Key), "and")
	f.Line()
	f.Add(doc(fmt.Sprintf("%s derives the %s from the stored records with this %s, all read at one moment: see [%s]. "+
		"Without any it returns fsm.ErrNotFound. A record among them that breaks a rule is an error. "+
		"In a transaction of yours, do not decide on it what you write there: other transactions may change those records meanwhile.", name, p.Entity, key, s.n.ours("package", "Project")))).
		Func().Params(raw("m *Machine")).Id(name).Params(params...).Params(raw("%s, error", p.Entity)).Block(
		raw("l := fsmimpl.Lookup{Name: %q, Columns: %s}", "projection", stringsExpr(storedFields(refFields(p.Key)))),
		raw("records, err := m.core.Group(ctx, &l, []any{%s})", strings.Join(values, ", ")),
		jen.If(raw("err != nil")).Block(jen.Return(raw("%s{}, err", p.Entity))),
		jen.Do(func(x *jen.Statement) {
			project := s.n.ours("package", "Project")
			if !slices.ContainsFunc(p.Rules, func(r *spec.ProjectionRule) bool { return limitOf(s.m, r) != nil }) {
				x.Return(raw("%s(records), nil", project))
				return
			}
			x.Add(raw("p := %s(records)", project)).Line()
			x.Comment("Open may have been given another limit.").Line()
			x.Add(raw("err = p.State.UnmarshalText([]byte(m.core.ProjectedState(records)))")).Line()
			x.Return(raw("p, err"))
		}),
	)
}

// lookupParam names the parameter for a field's value, which shadows nothing that the
// method needs and is none of the other parameters.
func lookupParam(f *spec.Field, others []string) string {
	first, rest, _ := strings.Cut(f.Name, "_")
	name := first + spec.GoName(rest)
	used := append([]string{"ctx", "page", "m", "l", "records", "err", "fsm", "fsmimpl", "driver", "context", "time"}, others...)
	for slices.Contains(used, name) || types.Universe.Lookup(name) != nil || token.IsKeyword(name) {
		name += "Value"
	}
	return name
}

func (s *store) lookupFields(l *spec.Lookup) []jen.Code {
	pair := func(name string, value string) jen.Code { return jen.Line().Id(name).Op(":").Add(raw("%s", value)) }
	fields := []jen.Code{
		pair("Name", fmt.Sprintf("%q", l.Name)),
		pair("Columns", stringsExpr(storedFields(refFields(l.Fields)))),
	}
	if states := lookupStates(s.m, l); states != nil {
		fields = append(fields, pair("States", stringsExpr(storedStates(states))))
	}
	if len(l.Order) > 0 {
		var order []string
		for _, o := range l.Order {
			order = append(order, orderExpr(o, nil))
		}
		fields = append(fields, pair("Order", "[]driver.Order{"+strings.Join(order, ", ")+"}"))
	}
	return append(fields, jen.Line())
}

// lookupStates returns the states whose records a look-up finds; nil: all.
func lookupStates(m *spec.Machine, l *spec.Lookup) []*spec.State {
	if len(l.In) == 0 || len(l.In) == len(m.States) {
		return nil
	}
	return refStates(l.In)
}

// lookupDoc says what a look-up finds, and in which order.
func (s *store) lookupDoc(l *spec.Lookup) string {
	with := list(fieldNames(l.Fields), "and")
	in := ""
	if lookupStates(s.m, l) != nil {
		in = " in state " + list(stateNames(refStates(l.In)), "or")
	}
	if s.m.OneRecord(l) {
		return fmt.Sprintf("the %s%s that has this %s, or fsm.ErrNotFound.", s.n.Record, in, with)
	}
	var keys []string
	for _, o := range l.Order {
		keys = append(keys, o.Field.Name+map[bool]string{true: " (greatest first)"}[o.Descending])
	}
	return fmt.Sprintf("a page of the records%s that have this %s, by %s, and the next page. "+
		"It leaves out a record that breaks a rule; the error names it.",
		in, with, list(append(keys, "id"), "and"))
}
