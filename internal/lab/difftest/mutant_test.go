package difftest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// specMutant is one change of a resolved machine that its author could have
// made by mistake.
type specMutant struct {
	name  string
	apply func()
}

// kinds sort mutants by their names; the first one that fits counts. The coarse
// ones change what a specification says about states, fields and guards; the
// finer ones move bounds, orders and names.
var kinds = []struct {
	name   string
	marks  []string // parts of the name, one of which must be in it
	coarse bool
}{
	{"projection", []string{": projection"}, false},
	{"pick", []string{": next: "}, false},
	{"drop a guard", []string{": drop the guard "}, true},
	{"drop set, clear, increment, add", []string{": do not set ", ": do not clear ", ": do not increment ", ": do not add to ", ": do not reset ", ": do not remove from ", ": do not decrement "}, true},
	{"weaken a state's promise", []string{": need not have ", ": may have ", ": drop the invariant "}, true},
	{"another target", []string{": to "}, true},
	{"one source less", []string{": not from "}, true},
	{"one source more", []string{": also from "}, true},
	{"recorded only", []string{": record only in ", ": not record only in "}, true},
	{"drop a branch", []string{": drop branch "}, true},
	{"order of guards or branches", []string{" before "}, false},
	{"a guard's facts or states", []string{": guard "}, false},
	{"a branch's facts or effect", []string{": branch "}, false},
	{"terminal", []string{": terminal or not"}, false},
	{"unique, dedupe_by", []string{" unique ", "drop unique", ": drop dedupe_by"}, false},
	{"event name", []string{": the event of "}, false},
	{"on_refusal", []string{": a refusal is recorded or not"}, false},
	{"trigger, then", []string{"trigger ", ": drop then", ": drop the effect "}, false},
	{"a sum", []string{" in a sum", ": a sum without "}, false},
	{"a value", []string{": later", ": one more", ": the opposite", " twice", ": input or ", ": reset "}, false},
}

// kind returns the index of the mutant's kind in kinds, or -1.
func (s specMutant) kind() int {
	return slices.IndexFunc(kinds, func(k struct {
		name   string
		marks  []string
		coarse bool
	}) bool {
		return slices.ContainsFunc(k.marks, func(mark string) bool { return strings.Contains(s.name, mark) })
	})
}

// specMutants lists the changes of a machine, always in the same order. One of
// them may be applied; the machine is of no use for another one then.
func specMutants(m *spec.Machine) []specMutant {
	var list []specMutant
	add := func(f func(), format string, args ...any) {
		list = append(list, specMutant{m.Name + ": " + fmt.Sprintf(format, args...), f})
	}
	for _, o := range m.Operations {
		operationMutants(m, o, func(f func(), format string, args ...any) {
			add(f, o.Name+": "+format, args...)
		})
	}
	for _, s := range m.States {
		without(&s.Present, func(i int) string { return s.Present[i].Field.Name }, add, s.Name+": need not have")
		without(&s.Absent, func(i int) string { return s.Absent[i].Field.Name }, add, s.Name+": may have")
		without(&s.Invariant, func(i int) string { return s.Invariant[i].Text }, add, s.Name+": drop the invariant")
		add(func() { s.Terminal = !s.Terminal }, "%s: terminal or not", s.Name)
	}
	without(&m.Invariant, func(i int) string { return m.Invariant[i].Text }, add, "drop the invariant")
	for _, u := range m.Unique {
		without(&u.In, func(i int) string { return u.In[i].State.Name }, add, "unique "+u.Name+": not in")
	}
	without(&m.Unique, func(i int) string { return m.Unique[i].Name }, add, "drop unique")
	if p := m.Projection; p != nil {
		without(&p.Rules, func(i int) string { return p.Rules[i].State.Name }, add, "projection: drop the rule for")
		without(&p.Transitions, func(i int) string { return p.Transitions[i].From.Name + " > " + p.Transitions[i].To.Name }, add, "projection: drop")
		for _, r := range p.Rules {
			without(&r.Any, func(i int) string { return r.Any[i].State.Name }, add, "projection, "+r.State.Name+": not any")
			without(&r.All, func(i int) string { return r.All[i].State.Name }, add, "projection, "+r.State.Name+": not all")
			if r.AtLeast > 0 {
				add(func() { r.AtLeast++ }, "projection, %s: one more", r.State.Name)
				add(func() { r.AtLeast-- }, "projection, %s: one less", r.State.Name)
			}
		}
		for i := range len(p.Rules) - 1 {
			add(func() { p.Rules[i], p.Rules[i+1] = p.Rules[i+1], p.Rules[i] }, "projection: %s before %s", p.Rules[i+1].State.Name, p.Rules[i].State.Name)
		}
	}
	return list
}

type adder = func(f func(), format string, args ...any)

// without adds the changes that leave one element out.
func without[T any](list *[]T, name func(i int) string, add adder, what string) {
	for i := range *list {
		add(func() { *list = slices.Delete(slices.Clone(*list), i, i+1) }, "%s", what+" "+name(i))
	}
}

func operationMutants(m *spec.Machine, o *spec.Operation, add adder) {
	without(&o.Require, func(i int) string { return o.Require[i].Guard.Name }, add, "drop the guard")
	for _, r := range o.Require {
		factMutants(r.When, add, "guard "+r.Guard.Name)
		if p := r.Guard.Peers; p != nil {
			groupMutants(m, o, r, add)
			if p.Some {
				add(func() { p.Some = false }, "guard %s: none in place of some", r.Guard.Name)
			} else if p.Limit == nil {
				add(func() { p.Than++ }, "guard %s: one more", r.Guard.Name)
			}
			if p.Than > 1 {
				add(func() { p.Than-- }, "guard %s: one less", r.Guard.Name)
			}
			without(&p.In, func(i int) string { return p.In[i].State.Name }, add, "guard "+r.Guard.Name+": not in")
		}
	}
	for i := range len(o.Require) - 1 {
		add(func() { o.Require[i], o.Require[i+1] = o.Require[i+1], o.Require[i] }, "guard %s before %s", o.Require[i+1].Guard.Name, o.Require[i].Guard.Name)
	}
	effectMutants(&o.Effects, add)
	for _, s := range m.States {
		cellMutants(m, o, s, add)
	}
	if o.To != nil {
		targetMutants(m, o.To, add)
	}
	for i := range o.Creates {
		if len(o.Choose) == 0 {
			targetMutants(m, &o.Creates[i], add)
		}
	}
	for i, b := range o.Choose {
		what := fmt.Sprintf("branch %d: ", i+1)
		own := func(f func(), format string, args ...any) { add(f, what+format, args...) }
		factMutants(b.When, own, "when")
		without(&b.When, func(j int) string { return b.When[j].Text }, own, "drop")
		effectMutants(&b.Effects, own)
		askMutants(&b.Asks, &b.Then, own)
		switch {
		case b.To != nil:
			targetMutants(m, b.To, own)
		case b.RecordOnly && len(o.Creates) == 0:
			own(func() { b.RecordOnly, b.Same = false, true }, "a step that stays instead of record only")
		}
	}
	without(&o.Choose, func(i int) string { return fmt.Sprint(i + 1) }, add, "drop branch")
	for i := range len(o.Choose) - 1 {
		add(func() { o.Choose[i], o.Choose[i+1] = o.Choose[i+1], o.Choose[i] }, "branch %d before %d", i+2, i+1)
	}
	if len(o.Require) > 0 && len(o.Creates) == 0 {
		add(func() { o.OnRefusalRecordOnly = !o.OnRefusalRecordOnly }, "a refusal is recorded or not")
	}
	for _, p := range m.Operations {
		if p != o && p.Event != o.Event {
			add(func() { o.Event, o.EventWas = p.Event, p.EventWas }, "the event of %s", p.Name)
			break
		}
	}
	if o.DedupeBy != nil {
		add(func() { o.DedupeBy = nil }, "drop dedupe_by")
	}
	if n := o.Next; n != nil {
		without(&n.Where, func(i int) string { return n.Where[i].Text }, add, "next: drop")
		without(&n.Order, func(i int) string { return n.Order[i].Field.Name }, add, "next: drop the order by")
		factMutants(n.Where, add, "next")
		for i := range n.Order {
			add(func() { n.Order[i].Descending = !n.Order[i].Descending }, "next: the other order by %s", n.Order[i].Field.Name)
		}
	}
	if e := o.Each; e != nil {
		without(&e.Where, func(i int) string { return e.Where[i].Text }, add, "each: drop")
		factMutants(e.Where, add, "each")
		add(func() { o.Each = nil }, "drop each")
		add(func() { e.Most++ }, "each: one more")
	}
	without(&o.Triggers, func(i int) string { return o.Triggers[i].Text }, add, "drop the trigger")
	for i := range o.Triggers {
		switch t := &o.Triggers[i]; {
		case t.After == nil:
		case t.By != nil:
			add(func() { t.By = nil }, "trigger %s: at once", t.Text)
		default:
			add(func() { t.Plus += time.Second }, "trigger %s: later", t.Text)
			add(func() { t.Plus -= time.Second }, "trigger %s: earlier", t.Text)
		}
	}
	askMutants(&o.Asks, &o.Then, add)
}

// groupMutants takes another value for each one that tells the group of a guard, and another number
// for its limit: each that the operation has.
func groupMutants(m *spec.Machine, o *spec.Operation, r *spec.Requirement, add adder) {
	var terms []spec.Term
	if o.By != spec.BySystem {
		terms = append(terms, spec.Term{Kind: spec.TermActor, Text: "actor"})
	}
	for _, in := range o.Inputs {
		terms = append(terms, spec.Term{Kind: spec.TermInput, Text: "input." + in.Name, Name: in.Name, Input: in})
	}
	for _, f := range m.Fields {
		terms = append(terms, spec.Term{Kind: spec.TermField, Text: f.Name, Field: f})
	}
	kind := func(t spec.Term) spec.Kind {
		switch {
		case t.Field != nil && t.Field.Type.Kind != spec.KindCounter:
			return t.Field.Type.Kind
		case t.Input != nil:
			return t.Input.Type.Kind
		case t.Kind == spec.TermActor || t.Kind == spec.TermText:
			return spec.KindString
		case t.Kind == spec.TermWord:
			return spec.KindEnum
		}
		return spec.KindInt
	}
	change := func(f *spec.Fact, put func(*spec.Fact), term func(*spec.Fact) *spec.Term, what string) {
		was := *term(f)
		for _, t := range terms {
			if kind(t) == kind(was) && t.Text != was.Text && kind(t) != spec.KindEnum {
				add(func() {
					changed := *f
					*term(&changed) = t
					put(&changed)
				}, "guard %s: %s %s in place of %s", r.Guard.Name, what, t.Text, was.Text)
			}
		}
	}
	for i, f := range r.Of {
		if p := r.Guard.Peers; !p.Own() {
			put := func(x *spec.Fact) { r.Of = slices.Clone(r.Of); r.Of[i] = x }
			change(f, put, func(x *spec.Fact) *spec.Term { return &x.Right }, "whose "+f.Left.Field.Name+" is")
		}
	}
	if r.Limit != nil {
		put := func(x *spec.Fact) { r.Limit, r.When = x, nil }
		change(r.Limit, put, func(x *spec.Fact) *spec.Term { return &x.Left }, "fewer than")
	}
}

// askMutants changes what a step asks for, and what follows it.
func askMutants(asks *[]*spec.Effect, then **spec.OperationRef, add adder) {
	without(asks, func(i int) string { return (*asks)[i].Name }, add, "drop the effect")
	for _, e := range *asks {
		if e.Then != nil {
			add(func() { e.Then = nil }, "effect %s: drop then", e.Name)
		}
		if e.Failed != nil {
			add(func() { e.Failed, e.Attempts = nil, 0 }, "effect %s: drop failed", e.Name)
		}
		if e.Attempts > 0 {
			add(func() { e.Attempts++ }, "effect %s: one more try", e.Name)
			add(func() { e.Attempts = 0 }, "effect %s: tries without a limit", e.Name)
		}
	}
	if len(*asks) > 1 {
		add(func() { slices.Reverse(*asks) }, "the other order of effects")
	}
	if *then != nil {
		add(func() { *then = nil }, "drop then")
	}
}

// cellMutants changes what the operation does in a state.
func cellMutants(m *spec.Machine, o *spec.Operation, s *spec.State, add adder) {
	if len(o.Creates) > 0 {
		return
	}
	is := func(r spec.StateRef) bool { return r.State == s }
	switch m.Class(s, o) {
	case spec.Transition:
		add(func() { o.From = slices.DeleteFunc(slices.Clone(o.From), is) }, "not from %s", s.Name)
		add(func() {
			o.From = slices.DeleteFunc(slices.Clone(o.From), is)
			o.RecordOnlyIn = append(slices.Clone(o.RecordOnlyIn), spec.StateRef{State: s})
		}, "record only in %s", s.Name)
	case spec.RecordOnly:
		if slices.ContainsFunc(o.RecordOnlyIn, is) {
			add(func() { o.RecordOnlyIn = slices.DeleteFunc(slices.Clone(o.RecordOnlyIn), is) }, "not record only in %s", s.Name)
		}
		add(func() {
			o.RecordOnlyIn = slices.DeleteFunc(slices.Clone(o.RecordOnlyIn), is)
			o.From = append(slices.Clone(o.From), spec.StateRef{State: s})
		}, "also from %s, where it was recorded only", s.Name)
	default:
		add(func() { o.RecordOnlyIn = append(slices.Clone(o.RecordOnlyIn), spec.StateRef{State: s}) }, "record only in %s, too", s.Name)
		add(func() { o.From = append(slices.Clone(o.From), spec.StateRef{State: s}) }, "also from %s", s.Name)
	}
}

// targetMutants leads to every other state.
func targetMutants(m *spec.Machine, to *spec.StateRef, add adder) {
	for _, s := range m.States {
		if s != to.State {
			add(func() { to.State = s }, "to %s instead of %s", s.Name, to.State.Name)
		}
	}
}

// effectMutants leaves every effect out, and counts twice.
func effectMutants(e *spec.Effects, add adder) {
	without(&e.Set, func(i int) string { return e.Set[i].Field.Name }, add, "do not set")
	without(&e.Clear, func(i int) string { return e.Clear[i].Field.Name }, add, "do not clear")
	without(&e.Increment, func(i int) string { return e.Increment[i].Field.Name }, add, "do not increment")
	without(&e.Add, func(i int) string { return e.Add[i].Field.Name }, add, "do not add to")
	without(&e.Reset, func(i int) string { return e.Reset[i].Field.Name }, add, "do not reset")
	without(&e.Remove, func(i int) string { return e.Remove[i].Field.Name }, add, "do not remove from")
	without(&e.Decrement, func(i int) string { return e.Decrement[i].Field.Name }, add, "do not decrement")
	for i := range e.Decrement {
		add(func() {
			e.Reset = append(slices.Clone(e.Reset), e.Decrement[i])
			e.Decrement = slices.Delete(slices.Clone(e.Decrement), i, i+1)
		}, "reset %s instead of decrement", e.Decrement[i].Field.Name)
	}
	for i := range e.Increment {
		add(func() { e.Increment = append(slices.Clone(e.Increment), e.Increment[i]) }, "increment %s twice", e.Increment[i].Field.Name)
		add(func() {
			e.Reset = append(slices.Clone(e.Reset), e.Increment[i])
			e.Increment = slices.Delete(slices.Clone(e.Increment), i, i+1)
		}, "reset %s instead of increment", e.Increment[i].Field.Name)
	}
	for i := range e.Set {
		switch v := &e.Set[i].Value; v.Kind {
		case spec.ValueInputOrAbsent:
			add(func() { v.Kind = spec.ValueInputOrSame }, "%s: input or same instead of absent", e.Set[i].Field.Name)
		case spec.ValueInputOrSame:
			add(func() { v.Kind = spec.ValueInputOrAbsent }, "%s: input or absent instead of same", e.Set[i].Field.Name)
		case spec.ValueInputOrDefault:
			add(func() { v.Kind = spec.ValueInputOrSame }, "%s: input or same instead of default", e.Set[i].Field.Name)
		case spec.ValueInputOrReject:
			add(func() { v.Kind = spec.ValueInput }, "%s: input instead of reject", e.Set[i].Field.Name)
		case spec.ValueNow:
			add(func() { v.Plus += time.Second }, "%s: later", e.Set[i].Field.Name)
		case spec.ValueInt:
			add(func() { v.Int++ }, "%s: one more", e.Set[i].Field.Name)
		case spec.ValueBool:
			add(func() { v.Bool = !v.Bool }, "%s: the opposite", e.Set[i].Field.Name)
		case spec.ValueSpan:
			add(func() { v.Int++ }, "%s: one more", e.Set[i].Field.Name)
		case spec.ValueSum:
			sumMutants(&v.Parts, add, e.Set[i].Field.Name)
		}
	}
}

// sumMutants leaves a part of a sum out, takes it off where it was added and the reverse,
// and moves a number.
func sumMutants(parts *[]spec.Part, add adder, what string) {
	if len(*parts) > 2 {
		without(parts, func(i int) string { return (*parts)[i].Term.Text }, add, what+": a sum without")
	}
	for i, p := range *parts {
		change := func(f func(p *spec.Part)) func() {
			return func() {
				*parts = slices.Clone(*parts)
				f(&(*parts)[i])
			}
		}
		if i > 0 {
			add(change(func(p *spec.Part) { p.Minus = !p.Minus }), "%s: the other sign of %s in a sum", what, p.Term.Text)
		}
		if p.Term.Kind == spec.TermSpan {
			more := change(func(p *spec.Part) { p.Term.Int, p.Term.Text = p.Term.Int+1000, spec.SpanText(p.Term.Int+1000) })
			add(more, "%s: a millisecond more than %s in a sum", what, p.Term.Text)
		}
		if b := p.Term.Backoff; p.Term.Kind == spec.TermBackoff && b.Base.Kind == spec.TermSpan {
			twice := change(func(p *spec.Part) {
				longer := *b
				longer.Base.Int, longer.Base.Text = 2*b.Base.Int, spec.SpanText(2*b.Base.Int)
				p.Term.Backoff = &longer
				p.Term.Text = "backoff " + longer.Base.Text + " to " + b.Max.Text + " by " + b.By.Name
			})
			add(twice, "%s: twice the first length of %s in a sum", what, p.Term.Text)
		}
		if p.Term.Kind == spec.TermInt {
			more := change(func(p *spec.Part) { p.Term.Int, p.Term.Text = p.Term.Int+1, fmt.Sprint(p.Term.Int+1) })
			add(more, "%s: one more than %s in a sum", what, p.Term.Text)
		}
	}
}

// opposite and neighbour are what a comparison becomes.
var (
	opposite = map[spec.FactOp]spec.FactOp{
		spec.Present: spec.Absent, spec.Absent: spec.Present, spec.Eq: spec.Ne, spec.Ne: spec.Eq, spec.Lt: spec.Ge,
		spec.Le: spec.Gt, spec.Gt: spec.Le, spec.Ge: spec.Lt, spec.In: spec.NotIn, spec.NotIn: spec.In,
	}
	neighbour = map[spec.FactOp]spec.FactOp{spec.Lt: spec.Le, spec.Le: spec.Lt, spec.Gt: spec.Ge, spec.Ge: spec.Gt}
)

func left(f *spec.Fact) *spec.Term  { return &f.Left }
func right(f *spec.Fact) *spec.Term { return &f.Right }

// factMutants turns every fact of a list around, and moves its bound.
func factMutants(facts []*spec.Fact, add adder, what string) {
	for i, f := range facts {
		for j, list := range f.Any {
			if len(f.Any) > 2 {
				add(func() {
					changed := *f
					changed.Any = slices.Delete(slices.Clone(f.Any), j, j+1)
					facts[i] = &changed
				}, "%s: drop %s from %s", what, strings.Join(spec.FactTexts(list), " and "), f.Text)
			}
			factMutants(list, add, what)
		}
		change := func(op spec.FactOp) func() {
			return func() {
				changed := *f
				changed.Op = op
				facts[i] = &changed
			}
		}
		if op, ok := opposite[f.Op]; ok {
			add(change(op), "%s: not %s", what, f.Text)
		}
		if op, ok := neighbour[f.Op]; ok {
			add(change(op), "%s: the bound of %s", what, f.Text)
		}
		for _, side := range []func(*spec.Fact) *spec.Term{left, right} {
			if side(f).Kind != spec.TermSum {
				continue
			}
			changed := *f
			sumMutants(&side(&changed).Parts, func(mutate func(), format string, args ...any) {
				add(func() {
					mutate()
					facts[i] = &changed
				}, format, args...)
			}, what+": "+f.Text)
		}
	}
}
