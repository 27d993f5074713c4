package gen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// Lengths are time.Duration in Go, and numbers of microseconds everywhere else.

// countOfUnit writes a length in a unit.
func countOfUnit(n time.Duration, unit string) string { return fmt.Sprintf("%d * %s", n, unit) }

// span is a constant length of microseconds.
func (n *names) span(micros int64) operand {
	o := plain(spec.KindDuration, nil, strings.TrimPrefix(durationExpr(time.Duration(micros)*time.Microsecond), "1 * "))
	if micros == spec.MaxSpan {
		o.val = n.of("fsmimpl.MaxDuration")
	}
	o.num = &micros
	return o
}

// number is a constant of a kind.
func (n *names) number(kind spec.Kind, v int64) operand {
	if kind == spec.KindDuration {
		return n.span(v)
	}
	o := plain(spec.KindInt, nil, strconv.FormatInt(v, 10))
	o.num = &v
	return o
}

// backoff is a length that grows with a counter.
func (s scope) backoff(b *spec.Backoff, of func(spec.Term) operand) operand {
	base, longest := of(b.Base), of(b.Max)
	o := plain(spec.KindDuration, nil, fmt.Sprintf("%s(%s, %s, %s)", s.n.of("fsmimpl.Backoff"), base.val, longest.val,
		of(spec.Term{Kind: spec.TermField, Field: b.By}).val))
	if base.here == absent || longest.here == absent {
		o.here = absent
	}
	if o.with = and(there(base), there(longest)); o.with.kind == condTrue {
		o.with = never
	}
	return o
}

// timeSum is a sum of times and lengths: an instant or a length. It is written with what Go has for
// them, where that is exact: a time.Duration ends at 292 years.
func (s scope) timeSum(kind spec.Kind, parts []spec.Part, of func(spec.Term) operand) operand {
	o := plain(kind, nil, "")
	var with []cond
	var times, taken []string // added, and taken off
	more, less, wide := "", "", false
	for i, p := range parts {
		x := of(p.Term)
		if x.here == absent {
			o.here = absent
		}
		with = append(with, there(x))
		wide = wide || x.wide || x.ends
		sign := " + "
		if p.Minus {
			sign = " - "
		}
		if o.micros += sign + summand(inMicros(x).val); i == 0 {
			o.micros = strings.TrimPrefix(o.micros, " + ")
		}
		switch {
		case x.kind == spec.KindTime && p.Minus:
			taken = append(taken, x.val)
		case x.kind == spec.KindTime:
			times = append(times, x.val)
		case p.Minus:
			less += sign + summand(x.val)
		default:
			more += sign + summand(x.val)
		}
	}
	lengths := strings.TrimPrefix(more+less, " + ")
	if more == "" {
		lengths = strings.Replace(lengths, " - ", "-", 1)
	}
	most, least := spanBounds(parts)
	fits := !wide && most <= math.MaxInt64/1000 && least >= -math.MaxInt64/1000
	switch {
	case fits && len(times) == 1 && len(taken) == 0 && lengths == "":
		o.val = times[0]
	case fits && len(times) == 1 && len(taken) == 0:
		o.val = times[0] + ".Add(" + lengths + ")"
	case fits && len(times)+len(taken) == 0:
		o.val = lengths
	case fits && len(times) == 1 && len(taken) == 1 && lengths == "":
		o.val, o.ends = times[0]+".Sub("+taken[0]+")", true
	case kind == spec.KindTime:
		o.val, o.wide = "time.UnixMicro("+o.micros+").UTC()", true
	default:
		o.val, o.wide = "time.Duration("+o.micros+") * time.Microsecond", true
	}
	if o.with = and(with...); o.with.kind == condTrue {
		o.with = never
	}
	return o
}

// summand is code as an operand of + and -.
func summand(code string) string {
	if binary(code, "+-") {
		return "(" + code + ")"
	}
	return code
}

// binary reports whether code is an operation by one of the signs.
func binary(code, signs string) bool {
	depth := 0
	for i, c := range code {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case depth == 0 && i > 0 && code[i-1] == ' ' && strings.ContainsRune(signs, c):
			return true
		}
	}
	return false
}

// inMicros is an instant or a length as a number of microseconds.
func inMicros(o operand) operand {
	x := plain(spec.KindInt, nil, o.micros)
	switch {
	case o.num != nil:
		x.val, x.num = strconv.FormatInt(*o.num, 10), o.num
	case o.micros != "":
	case o.kind == spec.KindTime:
		x.val = o.val + ".UnixMicro()"
	case binary(o.val, "+-*") || strings.HasPrefix(o.val, "-"):
		x.val = "(" + o.val + ").Microseconds()"
	default:
		x.val = o.val + ".Microseconds()"
	}
	return x
}

// spanBounds returns how many microseconds the lengths of a sum add at most, and how many they take
// off, below zero.
func spanBounds(parts []spec.Part) (most, least int64) {
	for _, p := range parts {
		if p.Minus {
			least -= longestOf(p.Term)
		} else {
			most += longestOf(p.Term)
		}
	}
	return most, least
}

// longestOf returns how many microseconds a length has at most; 0 for a time.
func longestOf(t spec.Term) int64 {
	switch {
	case t.Kind == spec.TermSpan:
		return t.Int
	case t.Kind == spec.TermBackoff:
		return longestOf(t.Backoff.Max)
	case t.Field != nil && t.Field.Type.Kind == spec.KindDuration:
		return *t.Field.Type.Max
	case t.Input != nil && t.Input.Type.Kind == spec.KindDuration:
		return *t.Input.Type.Max
	}
	return 0
}

// noLength is the condition that a length which is set is negative, or longer than any. Inputs were
// looked at.
func (s scope) noLength(a spec.Assign) cond {
	var o operand
	set := cond{kind: condTrue}
	switch a.Value.Kind {
	case spec.ValueSum, spec.ValueField:
		o = s.value(a.Value, a.Field)
	case spec.ValueInputOrSame:
		o, set = s.stored(a.Field), isPresent(s.input(a.Value.Input)).not()
	default:
		return never
	}
	return and(set, there(o), or(compare(spec.Lt, o, s.n.span(0)), compare(spec.Gt, o, s.n.span(spec.MaxSpan))))
}

// lengthOf checks the bounds of an input that is a length, and cuts it to what records hold.
func (e *operationEmitter) lengthOf(in *spec.Input, name string, refuse func(string) *jen.Statement) {
	lo, hi := inputBounds(e.o, in)
	problem := "expected " + spec.SpanText(*lo) + " to " + spec.SpanText(*hi)
	outside := func(value string) *jen.Statement {
		x := plain(spec.KindDuration, nil, value)
		return raw(or(compare(spec.Lt, x, e.n.span(*lo)), compare(spec.Gt, x, e.n.span(*hi))).String())
	}
	if !isOptional(in.Type) {
		e.add(raw("%[1]s = %[2]s(%[1]s)", name, e.n.of("fsmimpl.CutLength")))
		e.add(jen.If(outside(name)).Block(refuse(problem)))
		return
	}
	e.add(raw("%s = %s(%s)", name, e.n.of("fsmimpl.CutDuration"), name))
	e.add(jen.If(raw("value, ok := %s.Get()", name), raw("ok").Op("&&").Parens(outside("value"))).Block(refuse(problem)))
}

// lasting lists the fields that are lengths.
func lasting(m *spec.Machine) (list []*spec.Field) {
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindDuration {
			list = append(list, f)
		}
	}
	return list
}

// jsonMethods adds the JSON of a record with lengths, which are numbers of microseconds there.
func (p *pure) jsonMethods(f *jen.File) {
	fields := lasting(p.m)
	if fields == nil {
		return
	}
	n := p.n
	var members, written, read, put []jen.Code
	for _, x := range fields {
		name, typ := n.field(x), "int64"
		code, back := fmt.Sprintf("%s.%s.Microseconds()", n.self, name), fmt.Sprintf("%s(j.%s)", n.of("fsmimpl.Length"), name)
		if x.Type.Optional {
			typ = n.of("fsm.Optional") + "[int64]"
			code, back = fmt.Sprintf("%s(%s.%s)", n.of("fsmimpl.Micros"), n.self, name), fmt.Sprintf("%s(j.%s)", n.of("fsmimpl.OfMicros"), name)
		}
		members = append(members, jen.Id(name).Add(raw(typ)).Tag(tag(x.Name, x.Type.Optional)))
		written = append(written, raw(code))
		read = append(read, raw("%s: %s", name, code))
		put = append(put, raw("%s.%s = %s", n.self, name, strings.Replace(back, "j.", "all.", 1)))
	}
	f.Line()
	f.Add(doc("MarshalJSON writes the record. Durations are numbers of microseconds.")).
		Func().Params(n.receives("")).Id("MarshalJSON").Params().Params(raw("[]byte"), raw("error")).Block(
		raw("type fields %s", n.Record),
		jen.Return(jen.Qual("encoding/json", "Marshal").Call(jen.Struct(append([]jen.Code{raw("fields")}, members...)...).
			Values(append([]jen.Code{raw("fields(%s)", n.self)}, written...)...))),
	)
	f.Line()
	f.Add(doc("UnmarshalJSON reads what MarshalJSON writes.")).
		Func().Params(n.receives("*")).Id("UnmarshalJSON").Params(raw("text []byte")).Add(raw("error")).Block(
		append([]jen.Code{
			raw("type fields %s", n.Record),
			raw("all :=").Add(jen.Struct(append([]jen.Code{raw("*fields")}, members...)...)).
				Values(append([]jen.Code{raw("fields: (*fields)(%s)", n.self)}, read...)...),
			jen.If(raw("err :=").Qual("encoding/json", "Unmarshal").Call(raw("text"), raw("&all")), raw("err != nil")).Block(jen.Return(raw("err"))),
		}, append(put, jen.Return(jen.Nil()))...)...,
	)
}
