package gen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// effects adds effects to what is about to change, and before it what refuses a
// value that its field cannot hold.
func (e *operationEmitter) effects(x *spec.Effects, facts []*spec.Fact) error {
	for _, o := range e.s.overflows(e.o, x, facts) {
		e.add(jen.If(o.when).Block(e.fail("refuseRule", ", %s, %q", e.n.of("fsm.ErrOverflow"), o.field.Name)))
	}
	return e.s.apply(x, e.looked)
}

// looked reports whether a fact of the operation, after its effects, looks at
// the field: in a branch, or in an invariant of a state it can lead to.
func (e *operationEmitter) looked(f *spec.Field) bool {
	facts := slices.Clone(e.m.Invariant)
	for _, b := range e.o.Choose {
		facts = append(facts, b.When...)
	}
	for _, s := range targets(e.o) {
		facts = append(facts, s.Invariant...)
		for _, r := range slices.Concat(s.Present, s.Absent) {
			if r.Field == f {
				return true
			}
		}
	}
	return slices.ContainsFunc(spec.Leaves(facts), func(x *spec.Fact) bool { return x.Reads(f) })
}

// targets lists the states that an operation can lead to, each once.
func targets(o *spec.Operation) []*spec.State {
	var list []*spec.State
	for _, v := range movesOf(o) {
		list = append(list, v.to)
	}
	return distinct(list)
}

// choose adds the branches. Each one ends by itself.
func (e *operationEmitter) choose() error {
	if e.byState() {
		return e.chooseByState()
	}
	for _, x := range e.s.changes.list {
		if e.looked(x.field) {
			e.add(x.before...)
			x.before = nil
		}
	}
	outer, base, known := e.code, e.s.changes, e.s.known
	defer func() { e.s.changes, e.s.known = base, known }()
	var conds []cond
	var bodies [][]jen.Code
	var last []jen.Code // of the branch that has no condition
	rest := states(e.o.From)
	for _, b := range e.o.Choose {
		e.s.changes, e.s.known = base, maps.Clone(known)
		c := and(e.inStates(b.From), e.s.facts(b.When))
		if len(b.When) == 0 { // the branches above and this one have all states
			rest = slices.DeleteFunc(rest, func(s *spec.State) bool { return slices.Contains(states(b.From), s) })
			if len(rest) == 0 && !creates(e.o) {
				c = always
			}
		}
		if c.kind == condFalse {
			continue
		}
		e.s.learn(b.When)
		e.code, e.s.changes = nil, base.clone()
		if err := e.branch(b); err != nil {
			return err
		}
		if c.kind == condTrue {
			last = e.code
			break
		}
		conds, bodies = append(conds, c), append(bodies, e.code)
	}
	if last == nil {
		last = []jen.Code{e.fail("refuseRule", `, %s, "choose"`, e.n.of("fsm.ErrInvariant"))}
	}
	if conds == nil {
		e.code = append(outer, last...)
		return nil
	}
	tag, texts := tagged(conds)
	var cases []jen.Code
	for i, body := range bodies {
		cases = append(cases, jen.Case(raw(texts[i])).Block(body...))
	}
	cases = append(cases, jen.Default().Block(last...))
	e.code = append(outer, jen.Switch(raw(tag)).Block(cases...))
	return nil
}

// tagged returns what a switch looks at and its cases: one value when all conditions
// compare it, each with one or several others, else nothing and the conditions. A value
// stands in the first case that has it.
func tagged(conds []cond) (tag string, cases []string) {
	var whole []string
	seen := map[string]bool{}
	one := len(conds) == 1
	for _, c := range conds {
		whole = append(whole, c.String())
	}
	for _, c := range conds {
		parts := []cond{c}
		if c.kind == condOr {
			parts, one = c.parts, false
		}
		var values []string
		for _, p := range parts {
			left, right, ok := strings.Cut(p.pos, " == ")
			if p.kind != condAtom || !ok || tag != "" && left != tag || strings.Contains(left, `"`) { // of a text
				return "", whole
			}
			if tag = left; !seen[right] {
				seen[right] = true
				values = append(values, right)
			}
		}
		if values == nil {
			return "", whole
		}
		cases = append(cases, strings.Join(values, ", "))
	}
	if one {
		return "", whole
	}
	return tag, cases
}

// byState reports whether the state alone decides what an operation does, so that one
// switch says it all.
func (e *operationEmitter) byState() bool {
	o := e.o
	return len(o.Choose) > 0 && !creates(o) && len(o.Require) == 0 && o.Effects.Empty() &&
		!slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return len(b.When) > 0 })
}

// chooseByState adds branches of which each has states of its own.
func (e *operationEmitter) chooseByState() error {
	outer, base := e.code, e.s.changes
	rest := states(e.o.From)
	var cases []jen.Code
	for _, b := range e.o.Choose {
		var in []string
		rest = slices.DeleteFunc(rest, func(s *spec.State) bool {
			taken := b.From == nil || slices.Contains(states(b.From), s)
			if taken {
				in = append(in, e.n.state(s))
			}
			return taken
		})
		e.code, e.s.changes = nil, base.clone()
		if err := e.branch(b); err != nil {
			return err
		}
		cases = append(cases, jen.Case(raw(strings.Join(in, ", "))).Block(e.code...))
	}
	e.s.changes = base
	e.code = append(outer, jen.Switch(raw(e.n.self+".State")).Block(cases...), e.refuseState())
	return nil
}

// inStates is the condition that the record is in one of the states; nil means
// any that the operation starts from.
func (e *operationEmitter) inStates(refs []spec.StateRef) cond {
	if refs == nil || len(refs) >= len(e.o.From) {
		return always
	}
	var parts []cond
	for _, s := range states(refs) {
		parts = append(parts, atom(e.n.self+".State == "+e.n.state(s), e.n.self+".State != "+e.n.state(s)))
	}
	return or(parts...)
}

// branch adds what happens when a branch is taken.
func (e *operationEmitter) branch(b *spec.Branch) error {
	switch {
	case b.Reject != "":
		e.add(e.guardRefusal(b.Reject, b.Reject, "", ""))
		return nil
	case b.RecordOnly:
		e.add(jen.Return(e.note("")).Op(",").Nil())
		return nil
	}
	for _, in := range b.Rejects() {
		e.refuseIf(isPresent(e.s.input(in)).not(), e.fail("refuseInput", ", %q, %q", in.Name, "this branch needs it"))
	}
	if err := e.effects(&b.Effects, b.When); err != nil {
		return err
	}
	var to *spec.State
	if !b.Same {
		to = b.To.State
	}
	e.finish(to, b)
	return nil
}

// asked says by which number an event knows what its step asks for; 0: by its states alone.
func (e *operationEmitter) asked(b *spec.Branch) (member string, number int) {
	if e.n.alone {
		return "path", slices.Index(e.paths, stepPath{e.o, b}) + 1
	}
	return "branch", slices.Index(asking(e.o), b) + 1
}

// finish decides the step on a copy, and takes it unless the copy breaks a rule.
// Without a target the record stays in its state. b is the branch that was taken, if any.
func (e *operationEmitter) finish(to *spec.State, b *spec.Branch) {
	member, number := e.asked(b)
	e.add(e.s.changes.locals()...)
	target := e.n.self + ".State"
	if to != nil {
		target = e.n.state(to)
	}
	copied := "next := *" + e.n.self
	if creates(e.o) {
		copied = "next := " + e.n.self
	}
	e.add(raw(copied))
	e.add(e.s.changes.writes(e.n)...)
	args := []string{e.c.Event, "&next", target}
	if e.ruled || e.kept {
		args = append([]string{strconv.Quote(e.o.Name)}, args...)
	}
	if e.keeps["UpdatedAt"] {
		args = append(args, "now")
	}
	step := raw("%s.step(%s)", e.n.self, strings.Join(args, ", "))
	if !creates(e.o) && number == 0 {
		e.add(jen.Return(step))
		return
	}
	failed, done := "Event{}, err", "event, nil"
	if creates(e.o) {
		failed, done = fmt.Sprintf("%s{}, Event{}, err", e.n.Record), e.n.self+", event, nil"
	}
	e.add(
		jen.List(raw("event"), raw("err")).Op(":=").Add(step),
		jen.If(raw("err != nil")).Block(jen.Return(raw(failed))),
	)
	if number > 0 {
		e.add(raw("event.%s = %d", member, number))
	}
	e.add(jen.Return(raw(done)))
}
