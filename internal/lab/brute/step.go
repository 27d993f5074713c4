package brute

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Fault is what a step does that no step may.
type Fault uint8

// Faults. A call that is refused has none.
const (
	None    Fault = iota
	Absent        // a value is taken from what is absent
	NoWay         // no branch takes the record
	Leaves        // the record after the step breaks a promise
	Refused       // none: the call is refused
)

// promises lists the facts that hold of each record of a state.
func (w *world) promises(s *spec.State, r []value) bool {
	c := &call{now: r}
	for i, f := range w.m.Fields {
		if !w.fits(f.Type, r[i]) {
			return false
		}
	}
	here := func(f *spec.Field) bool {
		v := w.field(r, f)
		return v.there && (f.Type.Kind != spec.KindSet || v.n != 0)
	}
	for _, p := range s.Present {
		if !here(p.Field) {
			return false
		}
	}
	for _, p := range s.Absent {
		if here(p.Field) {
			return false
		}
	}
	return w.all(w.m.Invariant, c) && w.all(s.Invariant, c)
}

// accepted reports whether the inputs of a call are of their types, and of those of the fields that
// take them.
func (w *world) accepted(c *call) bool {
	for i, in := range c.op.Inputs {
		v := c.inputs[i]
		if !w.fits(in.Type, v) {
			return false
		}
		for _, e := range effects(c.op) {
			for _, a := range e.Set {
				if t := a.Field.Type; a.Value.Input == in && v.there && t.Kind != spec.KindSet && !w.fits(t, v) {
					return false
				}
			}
		}
	}
	return true
}

func effects(op *spec.Operation) []*spec.Effects {
	list := []*spec.Effects{&op.Effects}
	for _, b := range op.Choose {
		list = append(list, &b.Effects)
	}
	return list
}

// step makes a call on a record in a state, nil for none, and tells where it leads and what is
// wrong with it.
func (w *world) step(c *call, from *spec.State) (to *spec.State, fault Fault) {
	c.now = c.old
	for _, q := range c.op.Require {
		if !w.all(q.When, c) {
			return nil, Refused
		}
	}
	after, fault := w.apply(&c.op.Effects, c.old, c)
	if fault == Refused {
		return nil, fault
	}
	if fault == Absent {
		return nil, fault
	}
	target, same := c.op.To, c.op.Same
	if len(c.op.Creates) > 0 {
		target = &c.op.Creates[0]
	}
	if len(c.op.Choose) > 0 {
		branch := (*spec.Branch)(nil)
		c.now = after
		for _, b := range c.op.Choose {
			leaves := len(b.From) == 0 || slices.ContainsFunc(b.From, func(r spec.StateRef) bool { return r.State == from })
			if branch == nil && leaves && w.all(b.When, c) {
				branch = b
			}
		}
		switch {
		case branch == nil:
			return nil, NoWay
		case branch.RecordOnly || branch.Reject != "":
			return nil, Refused
		}
		for _, a := range slices.Concat(branch.Effects.Set, branch.Effects.Add, branch.Effects.Remove) {
			if a.Value.Kind == spec.ValueInputOrReject && !c.inputs[slices.Index(c.op.Inputs, a.Value.Input)].there {
				return nil, Refused
			}
		}
		if after, fault = w.apply(&branch.Effects, after, c); fault != None {
			return nil, fault
		}
		target, same = branch.To, branch.Same
	}
	if to = from; !same {
		to = target.State
	}
	if !w.promises(to, after) {
		return to, Leaves
	}
	c.now = after
	if from != nil {
		for _, s := range w.m.Steps {
			if !w.all(s.When, c) {
				return to, Leaves
			}
		}
	}
	return to, None
}

// apply returns a record with effects on it. All values are of the record before the step.
func (w *world) apply(e *spec.Effects, on []value, c *call) (after []value, fault Fault) {
	after = slices.Clone(on)
	at := func(f *spec.Field) *value { return &after[slices.Index(w.m.Fields, f)] }
	read := *c
	read.now = c.old
	for _, a := range e.Set {
		v, absent := w.assigned(a, &read)
		if absent {
			return nil, Absent
		}
		if beyond(a, v) {
			fault = Refused
		}
		if !v.there {
			v = w.empty(a.Field)
		}
		*at(a.Field) = v
	}
	for _, r := range e.Clear {
		*at(r.Field) = value{}
	}
	for _, r := range e.Increment {
		at(r.Field).n++
		if t := r.Field.Type; t.Max != nil && at(r.Field).n > *t.Max {
			fault = Refused
		}
	}
	for i, list := range [][]spec.Assign{e.Remove, e.Add} {
		for _, a := range list {
			v, absent := w.assigned(a, &read)
			if absent {
				return nil, Absent
			}
			mask := v.n
			if !setValue(a.Value) {
				mask = 1 << v.n
			}
			if i == 0 {
				at(a.Field).n &^= mask
			} else {
				at(a.Field).n |= mask
			}
		}
	}
	for _, r := range e.Decrement {
		at(r.Field).n--
	}
	for _, r := range e.Reset {
		*at(r.Field) = w.empty(r.Field)
	}
	return after, fault
}

func setValue(v spec.Value) bool {
	return v.Input != nil && v.Input.Type.Kind == spec.KindSet || v.Field != nil && v.Field.Type.Kind == spec.KindSet
}

// beyond reports whether a number is beyond the limit that all have which are added, or a length is
// longer than any: such a call is refused. What the file asks for besides is a promise.
func beyond(a spec.Assign, v value) bool {
	t := a.Field.Type
	switch {
	case !v.there:
		return false
	case t.Kind == spec.KindDuration:
		return v.n > spec.MaxSpan
	case t.Kind != spec.KindInt && t.Kind != spec.KindCounter:
		return false
	}
	return t.Max != nil && *t.Max == limit && v.n > limit || t.Min != nil && *t.Min == -limit && v.n < -limit
}

// assigned is the value of an assignment, and whether it is taken from what is absent.
func (w *world) assigned(a spec.Assign, c *call) (v value, absent bool) {
	input := func() value { return c.inputs[slices.Index(c.op.Inputs, a.Value.Input)] }
	switch a.Value.Kind {
	case spec.ValueInput:
		return input(), !input().there
	case spec.ValueInputOrAbsent, spec.ValueInputOrReject:
		return input(), false
	case spec.ValueInputOrSame:
		if input().there {
			return input(), false
		}
		return w.field(c.old, a.Field), false
	case spec.ValueInputOrDefault:
		if input().there {
			return input(), false
		}
		a.Value = *a.Field.Default
		return w.assigned(a, c)
	case spec.ValueField:
		return w.field(c.old, a.Value.Field), false
	case spec.ValueActor:
		return c.actor, false
	case spec.ValueNow:
		return of(w.now + a.Value.Plus.Microseconds()), false
	case spec.ValueInt, spec.ValueSpan:
		return of(a.Value.Int), false
	case spec.ValueBool:
		return w.term(spec.Term{Kind: spec.TermBool, Bool: a.Value.Bool}, c), false
	case spec.ValueWord:
		return word(a.Value.Word), false
	case spec.ValueText:
		return w.text(a.Value.Const), false
	}
	v = w.sum(a.Value.Parts, c)
	return v, !v.there
}
