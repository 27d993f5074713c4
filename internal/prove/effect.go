package prove

import (
	"maps"

	"github.com/fsmgen/fsmgen/spec"
)

// after is the record after some effects: the fields that they name, in terms
// of the record and the call before the step. All other fields are as they
// were, which is the frame rule.
type after map[*spec.Field]value

// read is the reader of the record after the effects.
func (a after) read(p *problem) reader {
	return func(f *spec.Field) value {
		if v, ok := a[f]; ok {
			return v
		}
		return p.field(f)
	}
}

// begin is the record that the effects start from: in a creation the store has
// given the sequences their numbers.
func (p *problem) begin() after {
	a := after{}
	if len(p.op.Creates) > 0 {
		for _, f := range p.m.Fields {
			if f.Type.Kind == spec.KindSequence {
				a[f] = p.fresh(f.Type)
			}
		}
	}
	return a
}

// apply returns the record with the effects on it. Every right side reads the
// stored record; increments and additions come on top of what is there.
func (p *problem) apply(e *spec.Effects, on after) after {
	a := maps.Clone(on)
	for _, s := range e.Set {
		a[s.Field] = p.assigned(s)
	}
	for _, f := range e.Clear {
		a[f.Field] = empty(f.Field)
	}
	for _, f := range e.Increment {
		a[f.Field] = incremented(a.read(p)(f.Field))
	}
	for _, s := range e.Remove {
		if v := a.read(p)(s.Field); v.set != nil {
			a[s.Field] = value{kind: spec.KindSet, set: v.set.without(p.member(s))}
		}
	}
	for _, s := range e.Add {
		v := a.read(p)(s.Field)
		member := p.member(s)
		if v.set == nil || member.kind != spec.KindString {
			continue // FSM015 speaks of it
		}
		grown := *v.set
		if !member.absent {
			grown.added = append(append([]value{}, v.set.added...), member)
		}
		a[s.Field] = value{kind: spec.KindSet, set: &grown}
	}
	for _, f := range e.Decrement {
		v := a.read(p)(f.Field)
		v.off--
		a[f.Field] = v
	}
	for _, f := range e.Reset {
		a[f.Field] = empty(f.Field)
	}
	return a
}

// incremented is one more; an absent number counts as zero.
func incremented(v value) value {
	if v.absent {
		return constant(v.kind, 1)
	}
	v.off++
	if v.maybe {
		v.maybe, v.opaque = false, true // FSM401 speaks of it
	}
	return v
}

// empty is what a field holds that nothing has set.
func empty(f *spec.Field) value {
	switch f.Type.Kind {
	case spec.KindCounter:
		return constant(spec.KindCounter, 0)
	case spec.KindSet:
		return value{kind: spec.KindSet, set: &set{base: -1}}
	}
	return value{kind: f.Type.Kind, absent: true}
}

// member is what a set gets or loses. It is there: an input that may be absent is proven
// to be, or the branch refuses without it.
func (p *problem) member(s spec.Assign) value {
	v := p.assigned(s)
	v.maybe = false
	return v
}

// assigned is the right side of an assignment.
func (p *problem) assigned(s spec.Assign) value {
	var v value
	switch s.Value.Kind {
	case spec.ValueInput, spec.ValueInputOrAbsent, spec.ValueInputOrReject:
		v = p.input(s.Value.Input)
	case spec.ValueInputOrDefault:
		with := s
		with.Value = *s.Field.Default
		v = p.sentOr(p.input(s.Value.Input), p.assigned(with))
	case spec.ValueInputOrSame:
		v = p.sentOr(p.input(s.Value.Input), p.field(s.Field))
	case spec.ValueField:
		v = p.field(s.Value.Field)
	case spec.ValueSum:
		v = p.plus(s.Value.Parts, p.field)
	case spec.ValueActor:
		v = p.who()
	case spec.ValueNow:
		v = p.clock()
		v.off += micros(s.Value.Plus)
	case spec.ValueInt:
		v = p.constant(spec.KindInt, s.Value.Int)
	case spec.ValueSpan:
		v = p.constant(spec.KindDuration, s.Value.Int)
	case spec.ValueBool:
		v = constant(spec.KindBool, 0)
		if s.Value.Bool {
			v.off = 1
		}
	case spec.ValueWord:
		v = constant(spec.KindEnum, p.words[s.Value.Word.Name])
	case spec.ValueText:
		v = p.text(s.Field.Type.Kind, s.Value.Const)
	}
	if v.absent && s.Field.Type.Kind != spec.KindString {
		return empty(s.Field) // a counter without a value is 0, a set is empty
	}
	return v
}

// sentOr is what was sent, or else the old value.
func (p *problem) sentOr(sent, old value) value {
	if !sent.maybe {
		return sent
	}
	v := value{kind: old.kind, num: p.number(old.kind), length: sent.length}
	if !old.absent {
		v.length = sent.length.either(old.length)
	}
	came := formula{op: isTrue, v: sent.pres}
	if old.maybe || old.absent {
		v.maybe, v.pres = true, p.atom()
		is := formula{op: isTrue, v: v.pres}
		p.assume(anyOf(not(came), is))
		p.assume(anyOf(came, all(is, p.present(old)), all(not(is), not(p.present(old)))))
	}
	p.assume(anyOf(not(came), same(v, sent)))
	if !old.absent {
		p.assume(anyOf(came, same(v, old)))
	}
	return v
}

// stamped adds what the engine itself writes with a transition: updated_at is
// the later of the old one and the time of the call.
func (p *problem) stamped(a after) after {
	f := p.m.Field("updated_at")
	if f == nil {
		return a
	}
	done := maps.Clone(a)
	now := p.clock()
	old := p.field(f)
	if old.absent {
		done[f] = now
		return done
	}
	v := value{kind: spec.KindTime, num: p.number(spec.KindTime)}
	p.assume(compare(old, v, 0))
	p.assume(compare(now, v, 0))
	p.assume(anyOf(same(v, old), same(v, now)))
	done[f] = v
	return done
}
