package model

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// across reports whether a rule looks at several records. Then what is never seen with a
// few of them says nothing of many.
func across(m *spec.Machine) bool {
	return len(m.Unique) > 0 || slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool {
		return op.DedupeBy != nil || slices.ContainsFunc(op.Require, func(r *spec.Requirement) bool { return r.Guard.Peers != nil })
	})
}

// exact reports whether the values that are tried stand for all values, as far as one
// record goes. It says no where that is not sure.
func exact(m *spec.Machine, p *pools) bool {
	e := exactness{p: p, promised: slices.Clone(m.Invariant)}
	for _, s := range m.States {
		e.promised = append(e.promised, s.Invariant...)
	}
	all := append(m.Kept(), e.promised...)
	for _, op := range m.Operations {
		for _, r := range op.Require {
			all = append(all, r.Reads()...)
		}
		for _, b := range op.Choose {
			all = append(all, b.When...)
		}
	}
	if slices.ContainsFunc(spec.Leaves(all), func(f *spec.Fact) bool { return !e.fact(f) }) || e.early && e.late {
		return false
	}
	// With the early facts an instant that is now is still to come, and the search lets it pass.
	if e.early && slices.ContainsFunc(m.Builtin, func(f *spec.Field) bool { return p.matters(f) }) {
		return false
	}
	for _, t := range p.lengths {
		if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
			return false // no name has the length of all
		}
	}
	if slices.ContainsFunc(m.Fields, func(f *spec.Field) bool { return f.Type.Kind == spec.KindSequence && p.matters(f) }) {
		return false
	}
	return !slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool { return !e.operation(op) || !e.texts(m, op) })
}

// exactness is what exact has seen so far.
type exactness struct {
	p           *pools
	promised    []*spec.Fact // invariants
	early, late bool         // some fact puts an instant that is now with those to come; with those that are past
}

// fact reports whether the values that are tried are enough for a fact.
func (e *exactness) fact(f *spec.Fact) bool {
	switch f.Op {
	case spec.Present, spec.Absent:
		return true
	case spec.In, spec.NotIn, spec.Covers:
		return false // sets of more members than there are names
	}
	if f.Left.Kind == spec.TermSum || f.Right.Kind == spec.TermSum {
		return false // numbers that no constant separates
	}
	kind, op, now := kindOf(f.Left), f.Op, f.Right.Kind == spec.TermNow
	if node(f.Left) == nil {
		kind = kindOf(f.Right)
	}
	if f.Left.Kind == spec.TermNow {
		now = true
		op = map[spec.FactOp]spec.FactOp{spec.Lt: spec.Gt, spec.Le: spec.Ge, spec.Gt: spec.Lt, spec.Ge: spec.Le}[op]
	}
	switch kind {
	case spec.KindString:
		return op == spec.Eq || op == spec.Ne || f.Left.Kind != spec.TermText && f.Right.Kind != spec.TermText // else texts between those of the file
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration:
		return node(f.Left) == nil || node(f.Right) == nil // else numbers are looked at that no constant separates
	case spec.KindTime:
		e.early = e.early || op == spec.Lt || op == spec.Ge
		e.late = e.late || op == spec.Le || op == spec.Gt
		return now && (op == spec.Lt || op == spec.Ge || op == spec.Le || op == spec.Gt)
	}
	return true
}

// kindOf is the kind of what a term names.
func kindOf(t spec.Term) spec.Kind {
	switch n := node(t).(type) {
	case *spec.Field:
		return n.Type.Kind
	case *spec.Input:
		return n.Type.Kind
	}
	return spec.KindString // the actor
}

// operation reports whether the values that an operation sets are among those tried.
func (e *exactness) operation(op *spec.Operation) bool {
	asksTime := func(f *spec.Fact) bool { return kindOf(f.Left) == spec.KindTime || kindOf(f.Right) == spec.KindTime }
	atOnce := len(op.Choose) > 0 || op.Then != nil || spec.Waited(op.AllAsks()) != nil || slices.ContainsFunc(spec.Leaves(e.promised), asksTime)
	for _, x := range effects(op) {
		for _, a := range x.Set {
			v, kind := a.Value, a.Field.Type.Kind
			switch {
			case v.Field != nil, v.Kind == spec.ValueSum:
				return false // copies, whose ranges and presence are followed for a step only
			case v.Kind == spec.ValueActor && op.By == spec.BySystem:
				return false
			case !e.p.matters(a.Field):
			case v.Kind == spec.ValueText, v.Kind == spec.ValueInputOrDefault && a.Field.Default.Kind == spec.ValueText:
				return false
			case kind == spec.KindCounter && v.Input != nil:
				return false
			case kind == spec.KindTime && v.Kind == spec.ValueNow && v.Plus <= 0 && e.early:
				return false
			case kind == spec.KindTime && v.Input != nil && atOnce && !e.p.inFact[v.Input]:
				return false // an instant of the past is not tried
			}
		}
	}
	return true
}

// texts reports whether an operation has a new string left for each of its inputs and
// its caller, whatever the fields hold that they are compared with.
func (e *exactness) texts(m *spec.Machine, op *spec.Operation) bool {
	need := map[any]int{}
	count := func(n any, kind spec.Kind) {
		if r := e.p.root(n); e.p.compared[r] && (kind == spec.KindString || kind == spec.KindJSON) {
			need[r]++
		}
	}
	for _, f := range m.Fields {
		count(f, f.Type.Kind)
	}
	for _, in := range op.Inputs {
		count(in, in.Type.Kind)
	}
	count(theActor{}, spec.KindString)
	for r, n := range need {
		if n > len(e.p.texts(r))-len(e.p.consts[r]) { // what a field holds may be a text of the file, or not
			return false
		}
	}
	return true
}
