package gen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// presence says whether a value is there.
type presence uint8

const (
	maybe   presence = iota // known at run time only
	present                 // there in every call
	absent                  // there in no call
)

// operand is one value as Go code: a side of a fact, or the source of an
// assignment.
type operand struct {
	kind   spec.Kind
	enum   *enumNames
	here   presence
	opt    string  // with maybe: the Optional
	val    string  // the plain value; with maybe it is the zero value when there is none
	word   string  // of a word of an enum: its name
	num    *int64  // of an integer: its value; of a constant length: its microseconds
	text   *string // of a text of the specification: what it is
	with   cond    // of a sum: that its parts are there; else never
	micros string  // of a sum of times and lengths: it as microseconds
	wide   bool    // of such a sum: Go's own types cannot add it up
	ends   bool    // of such a sum: beyond what Go can hold it is the longest or the shortest length there
}

// isNumber reports whether values of the kind are int64.
func isNumber(k spec.Kind) bool {
	return k == spec.KindInt || k == spec.KindCounter || k == spec.KindSequence
}

// zero returns the zero value of a Go type.
func (n *names) zero(kind spec.Kind) string {
	switch kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindEnum, spec.KindDuration:
		return "0"
	case spec.KindBool:
		return "false"
	case spec.KindTime:
		return "time.Time{}"
	case spec.KindJSON:
		return n.of("fsm.JSON") + "{}"
	case spec.KindSet:
		return n.of("fsm.Set") + "{}"
	}
	return `""`
}

// plain is an operand that is always there.
func plain(kind spec.Kind, enum *enumNames, code string) operand {
	return operand{kind: kind, enum: enum, here: present, val: code}
}

// variable is the operand of a field or an input of type t that is written code.
func (n *names) variable(t spec.Type, enum *enumNames, code string) operand {
	if !isOptional(t) {
		return plain(t.Kind, enum, code)
	}
	return operand{kind: t.Kind, enum: enum, opt: code, val: fmt.Sprintf("%s.Or(%s)", code, n.zero(t.Kind))}
}

// scope resolves the terms of facts and values for one operation.
type scope struct {
	n      *names
	caller string // where the actor stands; empty: the parameter of a pure method
	self   string // what the record is called; empty: j, as in the functions that the engine calls
	// changes are the fields that the operation has given a value which is not
	// written yet.
	changes *changes
	before  string // what the record before a step is called, in rules over it
	fresh   bool   // the record is one that a creation makes: nothing is in it yet
	// known says of stored fields what the guards that have passed tell: whether
	// they are present.
	known map[*spec.Field]presence
}

// who is the actor of the call.
func (s scope) who() string {
	if s.caller != "" {
		return s.caller
	}
	return "actor"
}

// record is what the record is called.
func (s scope) record() string {
	if s.self != "" {
		return s.self
	}
	return "j"
}

// field returns a field of the record, or the value it is about to get.
func (s scope) field(f *spec.Field) operand {
	if s.changes != nil {
		if c := s.changes.of(f); c != nil {
			return c.operand
		}
	}
	return s.stored(f)
}

// stored returns a field of the record as it is stored.
func (s scope) stored(f *spec.Field) operand {
	o := s.n.variable(f.Type, s.n.fieldEnum(f), s.record()+"."+s.n.field(f))
	switch {
	case s.fresh && o.here == maybe:
		o.here = absent
	case s.fresh && isNumber(f.Type.Kind):
		o.val, o.num = "0", new(int64)
	case o.here == maybe && s.known[f] != maybe:
		o.here = s.known[f]
	}
	return o
}

// learn notes what facts that have passed tell about the presence of stored
// fields: a comparison that holds makes its fields present.
func (s scope) learn(facts []*spec.Fact) {
	for _, f := range facts {
		for _, t := range f.Names() {
			if t.Field == nil || s.changes.of(t.Field) != nil {
				continue
			}
			s.known[t.Field] = present
			if f.Op == spec.Absent {
				s.known[t.Field] = absent
			}
		}
	}
}

// input returns an input of the call.
func (s scope) input(in *spec.Input) operand {
	return s.n.variable(in.Type, s.n.inputType(in), "in."+s.n.input(in))
}

// term returns one side of a fact. The words of an enum belong to the enum of
// the other side.
func (s scope) term(t, other spec.Term) operand {
	switch t.Kind {
	case spec.TermField:
		return s.field(t.Field)
	case spec.TermOld:
		return s.n.variable(t.Field.Type, s.n.fieldEnum(t.Field), s.before+"."+s.n.field(t.Field))
	case spec.TermInput:
		return s.input(t.Input)
	case spec.TermActor:
		return plain(spec.KindString, nil, s.who())
	case spec.TermNow:
		return plain(spec.KindTime, nil, "now")
	case spec.TermInt:
		o := plain(spec.KindInt, nil, strconv.FormatInt(t.Int, 10))
		o.num = &t.Int
		return o
	case spec.TermBool:
		return plain(spec.KindBool, nil, strconv.FormatBool(t.Bool))
	case spec.TermText:
		return textOperand(t.Const)
	case spec.TermSum:
		return s.sum(t.Parts, func(t spec.Term) operand { return s.term(t, other) })
	case spec.TermSpan:
		return s.n.span(t.Int)
	case spec.TermBackoff:
		return s.backoff(t.Backoff, func(t spec.Term) operand { return s.term(t, other) })
	}
	enum := s.term(other, t).enum
	o := plain(spec.KindEnum, enum, enum.word(t.Word.Name))
	o.word = t.Word.Name
	return o
}

// sum is a sum of whole numbers. It is there when all its parts are; here is present then,
// and with holds the condition.
func (s scope) sum(parts []spec.Part, of func(spec.Term) operand) operand {
	if kind := spec.SumKind(parts); kind != spec.KindInt {
		return s.timeSum(kind, parts, of)
	}
	o := plain(spec.KindInt, nil, "")
	var with []cond
	total, known := int64(0), true
	o.val = spec.SumText(parts, func(t spec.Term) string {
		x := of(t)
		if x.here == absent {
			o.here = absent
		}
		if with = append(with, there(x)); x.num == nil {
			known = false
		} else {
			total += parts[len(with)-1].Signed(*x.num)
		}
		if strings.Contains(x.val, " + ") || strings.Contains(x.val, " - ") { // what is about to change
			return "(" + x.val + ")"
		}
		return x.val
	})
	if known {
		o.val, o.num = strconv.FormatInt(total, 10), &total
	}
	if o.with = and(with...); o.with.kind == condTrue {
		o.with = never
	}
	return o
}

// textOperand is a text of the specification.
func textOperand(text string) operand {
	o := plain(spec.KindString, nil, strconv.Quote(text))
	o.text = &text
	return o
}

// facts returns the condition that all facts hold.
func (s scope) facts(facts []*spec.Fact) cond {
	parts := make([]cond, len(facts))
	for i, f := range facts {
		parts[i] = s.fact(f)
	}
	return and(parts...)
}

// fact returns one fact as Go code. A comparison with an absent value is false.
func (s scope) fact(f *spec.Fact) cond {
	switch f.Op {
	case spec.AnyOf:
		parts := make([]cond, len(f.Any))
		for i, facts := range f.Any {
			parts[i] = s.facts(facts)
		}
		return or(parts...)
	case spec.Present:
		return isPresent(s.term(f.Left, f.Right))
	case spec.Absent:
		return isPresent(s.term(f.Left, f.Right)).not()
	}
	left, right := s.term(f.Left, f.Right), s.term(f.Right, f.Left)
	if left.here == absent || right.here == absent {
		return never
	}
	if c, ok := s.wrapped(f.Op, left, right); ok {
		return c
	}
	return and(there(left), there(right), compare(f.Op, left, right))
}

// isPresent is the fact `x is present`.
func isPresent(o operand) cond {
	switch {
	case o.kind == spec.KindSet && o.here == present:
		return call("!" + o.val + ".IsZero()")
	case o.here == maybe:
		return call(o.opt + ".Present()")
	}
	return constant(o.here == present)
}

// there is the condition that a value can be compared. A set always can.
func there(o operand) cond {
	switch {
	case o.here == maybe:
		return call(o.opt + ".Present()")
	case o.here == present && o.with.kind != condFalse:
		return o.with
	}
	return constant(o.here == present)
}

// wrapped compares an optional value with one that is there in a single step:
// `j.Owner == fsm.Some(actor)`.
func (s scope) wrapped(op spec.FactOp, left, right operand) (cond, bool) {
	if op != spec.Eq || (left.here == maybe) == (right.here == maybe) {
		return cond{}, false
	}
	if left.here != maybe {
		left, right = right, left
	}
	switch {
	case left.kind == spec.KindTime, left.kind == spec.KindSet, left.enum != right.enum, right.with.kind != condFalse,
		right.wide, right.ends:
		return cond{}, false
	}
	some := s.n.of("fsm.Some") + "(" + typed(right) + ")"
	return atom(left.opt+" == "+some, left.opt+" != "+some), true
}

// typed writes an operand so that Go infers its own type from it.
func typed(o operand) string {
	switch {
	case o.num != nil && o.kind == spec.KindDuration && *o.num == 0:
		return "time.Duration(0)"
	case o.num != nil && o.kind != spec.KindDuration:
		return "int64(" + o.val + ")"
	}
	return o.val
}

// compare compares two values that are there.
func compare(op spec.FactOp, left, right operand) cond {
	switch {
	case left.num != nil && right.num != nil:
		return constant(compareInts(op, *left.num, *right.num))
	case left.text != nil && right.text != nil && goOperators[op] != "":
		return constant(compareInts(op, int64(strings.Compare(*left.text, *right.text)), 0))
	case left.word != "" && right.word != "":
		return constant((left.word == right.word) == (op == spec.Eq))
	case left.val != "" && left.val == right.val && goOperators[op] != "": // a field that is set to what it is compared with
		return constant(compareInts(op, 0, 0))
	}
	if left.wide || right.wide || left.ends && right.ends {
		left, right = inMicros(left), inMicros(right)
	}
	l, r := left.val, right.val
	switch {
	case op == spec.In:
		return call(r + ".Has(" + l + ")")
	case op == spec.NotIn:
		return call("!" + r + ".Has(" + l + ")")
	case op == spec.Covers:
		return call(l + ".Covers(" + r + ")")
	case left.kind == spec.KindTime:
		return compareTimes(op, l, r)
	case left.kind == spec.KindSet:
		return equality(op, l+".Equal("+r+")")
	case left.kind == spec.KindBool && (r == "true" || r == "false"):
		return compareBool(op, l, r)
	case left.kind == spec.KindBool && (l == "true" || l == "false"):
		return compareBool(op, r, l)
	case left.enum != right.enum:
		l, r = l+".String()", r+".String()"
	}
	for _, side := range []struct {
		code *string
		operand
	}{{&l, left}, {&r, right}} {
		if side.text == nil { // as gofmt has a sum that is compared
			*side.code = strings.NewReplacer(" + ", "+", " - ", "-", " * ", "*").Replace(*side.code)
		}
	}
	return atom(l+" "+goOperators[op]+" "+r, l+" "+goOperators[opposite[op]]+" "+r)
}

var goOperators = map[spec.FactOp]string{
	spec.Eq: "==", spec.Ne: "!=", spec.Lt: "<", spec.Le: "<=", spec.Gt: ">", spec.Ge: ">=",
}

var opposite = map[spec.FactOp]spec.FactOp{
	spec.Eq: spec.Ne, spec.Ne: spec.Eq, spec.Lt: spec.Ge, spec.Ge: spec.Lt, spec.Gt: spec.Le, spec.Le: spec.Gt,
}

func compareInts(op spec.FactOp, a, b int64) bool {
	switch op {
	case spec.Eq:
		return a == b
	case spec.Ne:
		return a != b
	case spec.Lt:
		return a < b
	case spec.Le:
		return a <= b
	case spec.Gt:
		return a > b
	}
	return a >= b
}

func compareTimes(op spec.FactOp, l, r string) cond {
	switch op {
	case spec.Lt:
		return call(l + ".Before(" + r + ")")
	case spec.Le:
		return call("!" + l + ".After(" + r + ")")
	case spec.Gt:
		return call(l + ".After(" + r + ")")
	case spec.Ge:
		return call("!" + l + ".Before(" + r + ")")
	}
	return equality(op, l+".Equal("+r+")")
}

// equality is == or != by a call that says whether two values are equal.
func equality(op spec.FactOp, code string) cond {
	if op == spec.Ne {
		return call(code).not()
	}
	return call(code)
}

func compareBool(op spec.FactOp, l, literal string) cond {
	if (literal == "true") == (op == spec.Eq) {
		return call(l)
	}
	return call(l).not()
}
