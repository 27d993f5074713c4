package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// pure is the pure layer of one machine in the making. used notes which of the
// small functions at its end the operations call.
type pure struct {
	m      *spec.Machine
	n      *names
	used   map[string]bool
	keeps  map[string]bool // the built-in fields that records have
	ruled  bool            // some state has a rule that must hold
	kept   bool            // there are rules over a step
	should bool            // or one that should
	paths  []stepPath      // in a package without a store: those that have effects of their own
}

func newPure(m *spec.Machine, n *names) *pure {
	p := &pure{m: m, n: n, used: map[string]bool{}, keeps: map[string]bool{}}
	for _, b := range n.builtins(m) {
		p.keeps[b.name] = true
	}
	if n.alone {
		p.paths = askingPaths(m)
	}
	p.kept = len(m.Kept()) > 0
	p.ruled = (scope{n: n}).boundRules(m) != nil
	for _, st := range m.States {
		rules := (scope{n: n}).stateRules(m, st)
		p.ruled = p.ruled || strings.Contains(rules, ", true)")
		p.should = p.should || strings.Contains(rules, ", false)")
	}
	return p
}

// operationEmitter writes the pure form of one operation: everything is
// checked first and written last.
type operationEmitter struct {
	*pure
	o    *spec.Operation
	c    *opNames
	s    scope
	code []jen.Code
}

// operation adds the pure form of an operation: a method, or a function for a
// creation.
func (p *pure) operation(f *jen.File, o *spec.Operation) error {
	e := &operationEmitter{pure: p, o: o, c: p.n.op(o), s: scope{
		n: p.n, self: p.n.self, changes: &changes{}, fresh: creates(o), known: make(map[*spec.Field]presence),
	}}
	if err := e.body(); err != nil {
		return fmt.Errorf("operation %s: %w", o.Name, err)
	}
	f.Line()
	declaration := f.Add(doc(operationDoc(p.m, p.n, o)...))
	if creates(o) {
		params := e.params()
		if p.keeps["ID"] {
			params = append([]jen.Code{raw("id string")}, params...)
		}
		declaration.Func().Id(e.c.Method).Params(params...).
			Params(raw(p.n.Record), raw("Event"), raw("error")).Block(e.code...)
		return nil
	}
	declaration.Func().Params(p.n.receives("*")).Id(e.c.Method).Params(e.params()...).
		Params(raw("Event"), raw("error")).Block(e.code...)
	return nil
}

// params are the parameters that follow the id of a creation.
func (e *operationEmitter) params() []jen.Code {
	var p []jen.Code
	if e.c.Input != "" {
		p = append(p, raw("in %s", e.c.Input))
	}
	if e.c.Peers != "" {
		p = append(p, raw("peers %s", e.c.Peers))
	}
	switch {
	case e.o.By == spec.ByOperator:
		p = append(p, raw("actor, reason string"))
	case needsActor(e.o):
		p = append(p, raw("actor string"))
	}
	if e.asksNow(e.o) || !e.n.alone {
		p = append(p, jen.Id("now").Qual("time", "Time"))
	}
	return p
}

// asksNow reports whether what an operation does depends on the time.
func (p *pure) asksNow(o *spec.Operation) bool {
	return lookAtNow(ownFacts(o)) || setsNow(p.m, o) || creates(o) && p.keeps["CreatedAt"] || len(targets(o)) > 0 && p.keeps["UpdatedAt"]
}

// pureArgs are the arguments of the pure form of an operation, without the id of a
// creation: each is the expression for what the form takes, where it takes it. Without now it takes no time.
func pureArgs(c *opNames, o *spec.Operation, in, peers, actor, reason, now string) string {
	var args []string
	add := func(reads bool, arg string) {
		if reads {
			args = append(args, arg)
		}
	}
	add(c.Input != "", in)
	add(c.Peers != "", peers)
	add(needsActor(o), actor)
	add(o.By == spec.ByOperator, reason)
	add(now != "", now)
	return strings.Join(args, ", ")
}

func (e *operationEmitter) add(code ...jen.Code) { e.code = append(e.code, code...) }

// fail returns the refusal that a helper makes.
func (e *operationEmitter) fail(helper, format string, args ...any) *jen.Statement {
	e.used[helper] = true
	call := fmt.Sprintf("%s.%s(%q%s)", e.n.self, helper, e.o.Name, fmt.Sprintf(format, args...))
	if creates(e.o) {
		return jen.Return(raw("%s{}, Event{}, %s", e.n.Record, call))
	}
	return jen.Return(raw("Event{}, %s", call))
}

// refuseIf adds a refusal that happens when the condition holds.
func (e *operationEmitter) refuseIf(c cond, refusal ...jen.Code) {
	if c.kind != condFalse {
		e.add(jen.If(raw(c.String())).Block(refusal...))
	}
}

func (e *operationEmitter) body() error {
	cut := func() {
		if e.asksNow(e.o) {
			e.add(raw("now = %s(now)", e.n.of("driver.Time")))
		}
	}
	if creates(e.o) {
		cut()
		var given []string
		if e.keeps["ID"] {
			given = append(given, "ID: id")
		}
		if e.keeps["CreatedAt"] {
			given = append(given, "CreatedAt: now")
		}
		e.add(raw("%s := %s{%s}", e.n.self, e.n.Record, strings.Join(given, ", ")))
	}
	e.caller()
	for _, in := range e.o.Inputs {
		e.input(in)
	}
	switch {
	case !creates(e.o):
		e.cell()
		cut()
	case e.keeps["ID"]:
		e.add(jen.If(raw("err := driver.CheckID(id)"), raw("err != nil")).Block(e.fail("refuseInput", `, "id", err.Error()`)))
	}
	for _, r := range e.o.Require {
		if e.require(r) {
			return nil
		}
	}
	e.sequences()
	if err := e.effects(&e.o.Effects, nil); err != nil {
		return err
	}
	if len(e.o.Choose) > 0 {
		return e.choose()
	}
	if creates(e.o) {
		e.finish(e.o.Creates[0].State, nil)
	} else if e.o.Same {
		e.finish(nil, nil)
	} else {
		e.finish(e.o.To.State, nil)
	}
	return nil
}

// caller checks who asks and why.
func (e *operationEmitter) caller() {
	if !needsActor(e.o) {
		return
	}
	helper, args := "asked", "actor"
	if e.o.By == spec.ByOperator {
		helper, args = "operated", "actor, reason"
	}
	e.used[helper] = true
	result := raw("Event{}, err")
	if creates(e.o) {
		result = raw("%s{}, Event{}, err", e.n.Record)
	}
	e.add(jen.If(raw("err := %s.%s(%q, %s)", e.n.self, helper, e.o.Name, args), raw("err != nil")).Block(jen.Return(result)))
}

// input checks one input, and brings a time into the form that records hold.
func (e *operationEmitter) input(in *spec.Input) {
	name := "in." + e.n.input(in)
	optional := isOptional(in.Type)
	refuse := func(problem string) *jen.Statement { return e.fail("refuseInput", ", %q, %q", in.Name, problem) }
	checked := func(by string) {
		e.add(jen.If(raw("err := %s(%s)", by, name), raw("err != nil")).Block(e.fail("refuseInput", ", %q, err.Error()", in.Name)))
	}
	check := func(kind string) {
		if optional {
			kind = "Optional" + kind
		}
		checked(e.n.of("fsmimpl.Check" + kind))
	}
	switch in.Type.Kind {
	case spec.KindString:
		check("Text")
		lo, hi := inputBounds(e.o, in)
		switch {
		case lo == nil && hi == nil:
		case optional:
			e.add(jen.If(raw("value, ok := %s.Get()", name), raw("ok")).Block(
				jen.If(raw("err := %s", lengthCheck(e.n, "value", lo, hi)), raw("err != nil")).Block(e.fail("refuseInput",
					", %q, err.Error()", in.Name))))
		default:
			e.add(jen.If(raw("err := %s", lengthCheck(e.n, name, lo, hi)), raw("err != nil")).Block(e.fail("refuseInput",
				", %q, err.Error()", in.Name)))
		}
	case spec.KindTime:
		if optional {
			e.add(raw("%s = %s(%s)", name, e.n.of("fsmimpl.CutTime"), name))
		} else {
			e.add(raw("%s = %s(%s)", name, e.n.of("driver.Time"), name))
		}
		check("Time")
	case spec.KindJSON:
		check("JSON")
	case spec.KindEnum:
		problem := "expected " + list(words(in.Type.Values), "or")
		if optional {
			e.add(jen.If(raw("value, ok := %s.Get()", name), raw("ok && !value.Valid()")).Block(refuse(problem)))
			return
		}
		e.add(jen.If(raw("!%s.Valid()", name)).Block(refuse(problem)))
	case spec.KindSet:
		checked(e.n.of("driver.CheckSet"))
	case spec.KindDuration:
		e.lengthOf(in, name, refuse)
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		lo, hi := inputBounds(e.o, in)
		value := name
		if optional {
			value = "value"
		}
		outside, problem := outsideBounds(value, lo, hi)
		switch {
		case outside == never.String():
		case !optional:
			e.add(jen.If(raw(outside)).Block(refuse(problem)))
		case lo != nil && hi != nil:
			e.add(jen.If(raw("value, ok := %s.Get()", name), raw("ok && (%s)", outside)).Block(refuse(problem)))
		default:
			e.add(jen.If(raw("value, ok := %s.Get()", name), raw("ok && %s", outside)).Block(refuse(problem)))
		}
	}
}

// inputBounds returns the bounds of an input: its own, and those of every field
// that it is set into.
func inputBounds(o *spec.Operation, in *spec.Input) (lo, hi *int64) {
	narrow := func(t spec.Type) {
		low := t.Min
		if t.Kind == spec.KindCounter {
			low = new(int64)
		}
		if low != nil && (lo == nil || *low > *lo) {
			lo = low
		}
		if t.Max != nil && (hi == nil || *t.Max < *hi) {
			hi = t.Max
		}
	}
	narrow(in.Type)
	for _, effects := range allEffects(o) {
		for _, a := range effects.Set {
			if a.Value.Input == in {
				narrow(a.Field.Type)
			}
		}
	}
	return lo, hi
}

// outsideBounds returns the condition that a number is outside its bounds, and
// how to say so.
func outsideBounds(value string, lo, hi *int64) (code, problem string) {
	switch {
	case lo != nil && hi != nil:
		return fmt.Sprintf("%s < %d || %s > %d", value, *lo, value, *hi), fmt.Sprintf("expected %d to %d", *lo, *hi)
	case lo != nil:
		return fmt.Sprintf("%s < %d", value, *lo), fmt.Sprintf("expected %d or more", *lo)
	case hi != nil:
		return fmt.Sprintf("%s > %d", value, *hi), fmt.Sprintf("expected %d or less", *hi)
	}
	return never.String(), ""
}

// words lists the names of enum values.
func words(values []*spec.EnumValue) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.Name
	}
	return list
}

// cell adds what the state decides: what goes on, what is recorded only, and what
// is refused. A state that is not listed is refused, an invalid one too.
func (e *operationEmitter) cell() {
	var moves, records []cond
	var noted []*spec.State
	for i, class := range e.m.Row(e.o) {
		in := e.n.state(e.m.States[i])
		switch class {
		case spec.Transition:
			moves = append(moves, atom(e.n.self+".State == "+in, e.n.self+".State != "+in))
		case spec.RecordOnly:
			records = append(records, atom(e.n.self+".State == "+in, e.n.self+".State != "+in))
			noted = append(noted, e.m.States[i])
		}
	}
	if records != nil {
		e.add(jen.If(raw(or(records...).String())).Block(append(e.strangers(noted), jen.Return(e.note("")).Op(",").Nil())...))
	}
	if e.byState() {
		return // the branches list the states, and what is behind them refuses
	}
	outside := or(moves...).not()
	if outside.kind == condTrue {
		e.add(e.refuseState())
		return
	}
	e.add(jen.If(raw(outside.String())).Block(e.refuseState()))
}

// strangers refuses a call that would be recorded only in the given states, where a
// guard compares a field with the actor and the record names somebody else.
func (e *operationEmitter) strangers(in []*spec.State) (refusals []jen.Code) {
	for _, r := range strangerGuards(e.o, in) {
		var refused []cond
		for _, f := range r.Owners() {
			field := spec.Term{Kind: spec.TermField, Field: f}
			is := e.s.facts([]*spec.Fact{{Op: spec.Eq, Left: field, Right: spec.Term{Kind: spec.TermActor}}})
			refused = append(refused, and(e.s.facts([]*spec.Fact{{Op: spec.Present, Left: field}}), is.not()))
		}
		refusals = append(refusals, jen.If(raw(or(refused...).String())).Block(e.guardRefusal(r.Guard.Name, r.Guard.Error, r.Guard.Message, e.guardValues(r))))
	}
	return refusals
}

// strangerGuards lists the guards that are asked of a call which is recorded only in
// the given states: those that compare a field which one of them may have with the actor.
func strangerGuards(o *spec.Operation, in []*spec.State) (list []*spec.Requirement) {
	for _, r := range o.Require {
		may := func(f *spec.Field) bool {
			return slices.ContainsFunc(in, func(s *spec.State) bool {
				return !slices.ContainsFunc(s.Absent, func(a spec.FieldRef) bool { return a.Field == f })
			})
		}
		if !o.OnRefusalRecordOnly && slices.ContainsFunc(r.Owners(), may) {
			list = append(list, r)
		}
	}
	return list
}

// note is the event of a call that is recorded and changes nothing.
func (e *operationEmitter) note(guard string) *jen.Statement {
	e.used["note"] = true
	return raw("%s.note(%s, %q)", e.n.self, e.c.Event, guard)
}

// require adds a guard, and reports whether it refuses every call.
func (e *operationEmitter) require(r *spec.Requirement) (ends bool) {
	g := r.Guard
	var refused cond
	if g.Peers != nil {
		value := "peers." + e.n.peer(g)
		bound := strconv.FormatInt(g.Peers.Than, 10)
		refused = atom(value+" >= "+bound, value+" < "+bound)
		if g.Peers.Than == 1 {
			refused = atom(value+" > 0", value+" == 0")
		}
		if g.Peers.Some {
			refused = atom(value+" < 1", value+" > 0")
		}
		if r.Limit != nil {
			limit := e.s.limit(e.o, r.Limit.Left)
			refused = compare(spec.Ge, plain(spec.KindInt, nil, value), limit) // 0 where it is absent
			if limit.here != maybe {
				refused = or(there(limit).not(), refused)
			}
		}
	} else {
		refused = e.s.facts(r.When).not()
	}
	var answer []jen.Code
	if e.o.OnRefusalRecordOnly && !creates(e.o) {
		answer = []jen.Code{jen.Return(e.note(g.Name)).Op(",").Nil()}
	} else {
		answer = []jen.Code{e.guardRefusal(g.Name, g.Error, g.Message, e.guardValues(r))}
	}
	if refused.kind == condTrue {
		e.add(answer...)
		return true
	}
	e.refuseIf(refused, answer...)
	e.s.learn(r.When)
	return false
}

// sequences takes over the numbers that the store gave. Where it has none left, it gave 0.
func (e *operationEmitter) sequences() {
	for _, f := range sequences(e.m, e.o) {
		value := "peers." + e.n.sequence(e.m, f)
		e.refuseIf(call(value+" < 1"), e.fail("refuseRule", ", %s, %q", e.n.of("fsm.ErrOverflow"), f.Name))
		e.s.changes.put(&change{field: f, operand: plain(spec.KindSequence, nil, value), assign: value})
	}
}
