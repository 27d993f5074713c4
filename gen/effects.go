package gen

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// change is the value that one field is about to get. It is computed before
// anything is written, so a refusal leaves the record as it was.
type change struct {
	field   *spec.Field
	operand            // the new value as later facts see it
	assign  string     // the right side, of the field's own type
	raised  bool       // increment only: one is added
	lowered bool       // decrement only: one is taken off
	before  []jen.Code // statements that compute a local variable, which assign then names
	checked bool       // the value is an input, whose bounds were looked at
}

// changes are the changes of one step, in the order in which they are written.
type changes struct{ list []*change }

func (c *changes) of(f *spec.Field) *change {
	for _, x := range c.list {
		if x.field == f {
			return x
		}
	}
	return nil
}

// clone returns changes that a branch can add to.
func (c *changes) clone() *changes {
	return &changes{slices.Clone(c.list)}
}

func (c *changes) put(x *change) {
	for i := range c.list {
		if c.list[i].field == x.field {
			c.list[i] = x
			return
		}
	}
	c.list = append(c.list, x)
}

// locals lists the statements that must run before the facts that look at the
// changes.
func (c *changes) locals() []jen.Code {
	var code []jen.Code
	for _, x := range c.list {
		code = append(code, x.before...)
	}
	return code
}

// writes lists the assignments, to the copy that a step is decided on.
func (c *changes) writes(n *names) []jen.Code {
	var code []jen.Code
	for _, x := range c.list {
		target := "next." + n.field(x.field)
		switch {
		case x.raised:
			code = append(code, raw(target+"++"))
		case x.lowered:
			code = append(code, raw(target+"--"))
		case x.assign != n.self+"."+n.field(x.field):
			code = append(code, raw("%s = %s", target, x.assign))
		}
	}
	return code
}

// overflow is the condition that a field cannot hold the value it is about to get.
type overflow struct {
	field *spec.Field
	when  *jen.Statement
}

// overflows lists what the effects, which come on top of the changes, can ask of a
// field that it cannot hold: one more than the greatest number, where no fact that
// holds keeps the counter below another number, and a time after the year 9999.
func (s scope) overflows(o *spec.Operation, e *spec.Effects, facts []*spec.Fact) []overflow {
	var found []overflow
	for _, a := range e.Set {
		switch kind := a.Field.Type.Kind; {
		case a.Value.Kind == spec.ValueNow && a.Value.Plus > 0, a.Value.Kind == spec.ValueSum && kind == spec.KindTime:
			found = append(found, overflow{a.Field, raw("!%s(%s)", s.n.of("fsmimpl.InYears"), s.value(a.Value, a.Field).val)})
		case kind == spec.KindDuration:
			if when := s.noLength(a); when.kind != condFalse {
				found = append(found, overflow{a.Field, raw(when.String())})
			}
		}
		if a.Field.Type.Summed() && (a.Value.Kind == spec.ValueSum || a.Value.Kind == spec.ValueField) { // an input was looked at
			found = append(found, s.beyond(a))
		}
	}
	for _, r := range e.Increment {
		base := s.stored(r.Field)
		switch {
		case below(facts, r.Field), below(guarded(o), r.Field), base.num != nil: // of a creation: 0
		case r.Field.Type.Summed():
			found = append(found, overflow{r.Field, raw("%s >= %d", base.val, int64(spec.SumLimit))})
		default:
			found = append(found, overflow{r.Field, raw(base.val+" ==").Qual("math", "MaxInt64")})
		}
	}
	return found
}

// beyond is the condition that a field becomes a number beyond the limit of sums.
func (s scope) beyond(a spec.Assign) overflow {
	var parts []cond
	o, t := s.value(a.Value, a.Field), a.Field.Type
	for _, bound := range []struct {
		op    spec.FactOp
		limit int64
	}{{spec.Lt, -spec.SumLimit}, {spec.Gt, spec.SumLimit}} {
		if beside := bound.limit + bound.limit/spec.SumLimit; t.Beyond(beside) {
			limit := plain(spec.KindInt, nil, strconv.FormatInt(bound.limit, 10))
			limit.num = &bound.limit
			parts = append(parts, compare(bound.op, o, limit))
		}
	}
	return overflow{a.Field, raw(and(there(o), or(parts...)).String())}
}

// limit is the number below which a guard counts others: in a creation, of what is being set.
func (s scope) limit(o *spec.Operation, t spec.Term) operand {
	if t.Field == nil || !creates(o) {
		return s.term(t, spec.Term{})
	}
	for _, a := range o.Effects.Set {
		switch in := a.Value.Input; {
		case a.Field != t.Field:
		case a.Value.Kind == spec.ValueInputOrDefault:
			return plain(spec.KindInt, nil, s.input(in).opt+".Or("+s.value(*a.Field.Default, a.Field).val+")")
		case in != nil: // no guard has said yet that it is there
			return s.input(in)
		case a.Value.Kind == spec.ValueSum:
			return s.sum(a.Value.Parts, func(t spec.Term) operand { return s.term(t, spec.Term{}) })
		default:
			return s.value(a.Value, a.Field)
		}
	}
	return s.stored(t.Field)
}

// guarded lists the facts that hold of the stored record once the guards have passed.
func guarded(o *spec.Operation) []*spec.Fact {
	var facts []*spec.Fact
	for _, r := range o.Require {
		facts = append(facts, r.When...)
	}
	return facts
}

// below reports whether one of the facts, if all hold, keeps a number below another one, which is
// not beyond its own limit.
func below(facts []*spec.Fact, f *spec.Field) bool {
	under := func(x spec.Term, op, orEqual spec.FactOp, fact *spec.Fact, y spec.Term) bool {
		most, number := int64(math.MaxInt64), y.Kind == spec.TermInt
		if f.Type.Summed() {
			most = spec.SumLimit
		}
		within := number && y.Int <= most || !number && (most == math.MaxInt64 || y.Field != nil && y.Field.Type.Summed())
		number = number && y.Int < most
		return x.Kind == spec.TermField && x.Field == f && (fact.Op == op && within || number && (fact.Op == orEqual || fact.Op == spec.Eq))
	}
	return slices.ContainsFunc(facts, func(x *spec.Fact) bool {
		return under(x.Left, spec.Lt, spec.Le, x, x.Right) || under(x.Right, spec.Gt, spec.Ge, x, x.Left)
	})
}

// apply adds effects to changes. Right sides read the stored record; increment
// and add come on top of what the changes have already. The variables of sets
// are named, because facts look at them: looked says whether they do.
func (s scope) apply(e *spec.Effects, looked func(*spec.Field) bool) error {
	for _, a := range e.Set {
		x, err := s.set(a)
		if err != nil {
			return err
		}
		s.changes.put(x)
	}
	for _, f := range e.Clear {
		s.changes.put(&change{
			field:   f.Field,
			operand: operand{kind: f.Field.Type.Kind, enum: s.n.fieldEnum(f.Field), here: absent},
			assign:  s.n.fieldType(f.Field) + "{}",
		})
	}
	for _, f := range e.Increment {
		s.changes.put(s.increment(f.Field))
	}
	for _, a := range e.Remove {
		s.changes.put(s.remove(a, looked(a.Field)))
	}
	for _, a := range e.Add {
		s.changes.put(s.add(a, looked(a.Field)))
	}
	for _, f := range e.Reset {
		s.changes.put(s.reset(f.Field))
	}
	for _, f := range e.Decrement {
		s.changes.put(s.decrement(f.Field))
	}
	return nil
}

// set is one assignment.
func (s scope) set(a spec.Assign) (*change, error) {
	f := a.Field
	x := &change{field: f}
	switch a.Value.Kind {
	case spec.ValueInputOrSame:
		s.setOr(x, a.Value.Input, s.stored(f))
		return x, nil
	case spec.ValueInputOrDefault:
		s.setOr(x, a.Value.Input, s.value(*f.Default, f))
		return x, nil
	}
	src := s.value(a.Value, f)
	x.checked = a.Value.Input != nil
	enum := s.n.fieldEnum(f)
	if f.Type.Kind == spec.KindEnum && src.enum != enum {
		if src.here == maybe {
			local := s.n.local(f)
			x.before = []jen.Code{
				raw("var %s %s", local, s.n.fieldType(f)),
				jen.If(raw("value, ok := %s.Get()", src.opt), raw("ok")).Block(raw("%s = %s(%s)", local, s.n.of("fsm.Some"), convert(src.enum, enum, "value"))),
			}
			src = operand{kind: src.kind, here: maybe, opt: local, val: local + ".Or(0)"}
		} else {
			src.val = convert(src.enum, enum, src.val)
		}
		src.enum = enum
	}
	x.operand = src
	switch {
	case !isOptional(f.Type) && src.here != present:
		return nil, fmt.Errorf("field %s cannot take %s, which may be absent", f.Name, a.Value.Text)
	case !isOptional(f.Type):
		x.assign = src.val
	case src.here == present:
		x.assign = s.n.of("fsm.Some") + "(" + typed(src) + ")"
	case src.here == absent:
		x.assign = s.n.fieldType(f) + "{}"
	default:
		x.assign = src.opt
	}
	return x, nil
}

// setOr is `input or same` and `input or default`: what was not sent keeps the old value, or
// becomes the default.
func (s scope) setOr(x *change, in *spec.Input, old operand) {
	f := x.field
	sent := s.input(in)
	if enum := s.n.fieldEnum(f); sent.enum != enum {
		local, wrap := s.n.local(f), "%s"
		define := raw("%s := %s", local, old.val)
		if isOptional(f.Type) {
			define, wrap = raw("%s := %s.%s", local, s.record(), s.n.field(f)), s.n.of("fsm.Some")+"(%s)"
		}
		x.before = []jen.Code{
			define,
			jen.If(raw("value, ok := %s.Get()", sent.opt), raw("ok")).Block(raw("%s = "+wrap, local, convert(sent.enum, enum, "value"))),
		}
		x.operand, x.assign = s.n.variable(f.Type, enum, local), local
		return
	}
	if old.here == present && sent.here == maybe {
		code := sent.opt + ".Or(" + old.val + ")"
		x.operand, x.assign = plain(f.Type.Kind, s.n.fieldEnum(f), code), code
		if isOptional(f.Type) { // a guard says that it is present
			x.assign = s.n.of("fsm.Some") + "(" + code + ")"
		}
		return
	}
	local := s.n.local(f)
	test, value, stored := isPresent(sent).String(), sent.opt, old.opt
	if sent.here == present {
		value, stored = sent.val, old.val
	}
	x.before = []jen.Code{
		raw("%s := %s", local, stored),
		jen.If(raw(test)).Block(raw("%s = %s", local, value)),
	}
	x.operand, x.assign = s.n.variable(f.Type, s.n.fieldEnum(f), local), local
}

// increment adds one to what the field has.
func (s scope) increment(f *spec.Field) *change {
	x := &change{field: f, raised: true, operand: plain(spec.KindInt, nil, s.stored(f).val+" + 1")}
	if one := int64(1); s.fresh {
		x.num, x.val = &one, "1"
	}
	return x
}

// add puts a member into a set. When a fact looks at the new set, it is a
// variable: adding allocates, so it happens once.
func (s scope) add(a spec.Assign, looked bool) *change {
	return s.become(a.Field, s.field(a.Field).val+".With("+s.value(a.Value, a.Field).val+")", looked)
}

// become is a set that becomes what an expression says.
func (s scope) become(f *spec.Field, code string, looked bool) *change {
	x := &change{field: f}
	if !looked {
		x.operand, x.assign = plain(spec.KindSet, nil, code), code
		return x
	}
	local := s.n.local(f)
	define := ":="
	if c := s.changes.of(f); c != nil && c.assign == local {
		define = "="
		x.before = slices.Clone(c.before)
	}
	x.before = append(x.before, raw("%s %s %s", local, define, code))
	x.operand, x.assign = plain(spec.KindSet, nil, local), local
	return x
}

// value is the right side of an assignment to f.
func (s scope) value(v spec.Value, f *spec.Field) operand {
	switch v.Kind {
	case spec.ValueInputOrAbsent:
		return s.input(v.Input)
	case spec.ValueInput, spec.ValueInputOrReject: // the proof, or the branch, says that it is there
		in := s.input(v.Input)
		if in.here == maybe && !isOptional(f.Type) {
			in = plain(in.kind, in.enum, in.val)
		}
		return in
	case spec.ValueField:
		return s.stored(v.Field)
	case spec.ValueActor:
		return plain(spec.KindString, nil, s.who())
	case spec.ValueNow:
		if v.Plus == 0 {
			return plain(spec.KindTime, nil, "now")
		}
		return plain(spec.KindTime, nil, "now.Add("+durationExpr(v.Plus)+")")
	case spec.ValueSpan:
		return s.n.span(v.Int)
	case spec.ValueInt:
		o := plain(spec.KindInt, nil, strconv.FormatInt(v.Int, 10))
		o.num = &v.Int
		return o
	case spec.ValueBool:
		return plain(spec.KindBool, nil, strconv.FormatBool(v.Bool))
	case spec.ValueSum: // the proof says that its parts are there
		o := s.sum(v.Parts, func(t spec.Term) operand {
			if t.Field != nil {
				return s.stored(t.Field)
			}
			return s.term(t, spec.Term{})
		})
		x := plain(o.kind, nil, o.val)
		x.micros, x.wide, x.ends = o.micros, o.wide, o.ends
		return x
	case spec.ValueText:
		if f.Type.Kind == spec.KindString || f.Type.Kind == spec.KindSet {
			return textOperand(v.Const)
		}
		return plain(f.Type.Kind, nil, s.n.textConstant(f, v.Const))
	}
	enum := s.n.fieldEnum(f)
	o := plain(spec.KindEnum, enum, enum.word(v.Word.Name))
	o.word = v.Word.Name
	return o
}

// convert turns a value of one enum into the other's type.
func convert(from, to *enumNames, code string) string {
	if sameWords(from.Values, to.Values) {
		return to.Type + "(" + code + ")"
	}
	return converter(from, to) + "(" + code + ")"
}

// converter names the function that finds a word of one enum in another one.
func converter(from, to *enumNames) string {
	return lowerFirst(to.Type) + "Of" + from.Type
}

// conversion is a pair of enums that needs a converter.
type conversion struct{ from, to *enumNames }

// termEnum is the enum of what a term names; nil when it names none.
func (n *names) termEnum(t spec.Term) *enumNames {
	switch {
	case t.Field != nil:
		return n.fieldEnum(t.Field)
	case t.Input != nil:
		return n.inputType(t.Input)
	}
	return nil
}

// conversions lists the converters that a machine needs.
func (n *names) conversions(m *spec.Machine) []conversion {
	var found []conversion
	add := func(from, to *enumNames) {
		c := conversion{from, to}
		if from != nil && to != nil && from != to && !sameWords(from.Values, to.Values) && !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	for _, o := range m.Operations {
		for _, q := range peerRequirements(o) {
			for _, f := range q.Of {
				add(n.termEnum(f.Right), n.fieldEnum(f.Left.Field))
			}
		}
		for _, e := range allEffects(o) {
			for _, a := range e.Set {
				switch v := a.Value; {
				case v.Input != nil:
					add(n.inputType(v.Input), n.fieldEnum(a.Field))
				case v.Kind == spec.ValueField:
					add(n.fieldEnum(v.Field), n.fieldEnum(a.Field))
				}
			}
		}
	}
	return found
}
