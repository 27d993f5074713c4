package prove

import "github.com/fsmgen/fsmgen/spec"

// reader says what a field holds: before the step, or after some effects.
type reader func(*spec.Field) value

// term is the value of one side of a fact.
func (p *problem) term(t spec.Term, read reader) value {
	switch t.Kind {
	case spec.TermField:
		return read(t.Field)
	case spec.TermOld:
		return p.field(t.Field)
	case spec.TermInput:
		if t.Input == nil {
			return value{opaque: true}
		}
		return p.input(t.Input)
	case spec.TermActor:
		return p.who()
	case spec.TermNow:
		return p.clock()
	case spec.TermInt:
		return p.constant(spec.KindInt, t.Int)
	case spec.TermBool:
		if t.Bool {
			return constant(spec.KindBool, 1)
		}
		return constant(spec.KindBool, 0)
	case spec.TermWord:
		if t.Word == nil {
			return value{kind: spec.KindEnum, opaque: true}
		}
		return constant(spec.KindEnum, p.words[t.Word.Name])
	case spec.TermText:
		return p.text(spec.KindString, t.Const)
	case spec.TermSum:
		return p.plus(t.Parts, read)
	case spec.TermSpan:
		return p.constant(spec.KindDuration, t.Int)
	case spec.TermBackoff:
		return p.backoff(t.Backoff, read)
	}
	return value{opaque: true}
}

// fact is the condition that a fact states, and false when it cannot be
// expressed: it names a number too large to calculate with.
func (p *problem) fact(f *spec.Fact, read reader) (formula, bool) {
	if f.Op == spec.AnyOf {
		one := formula{op: or}
		for _, facts := range f.Any {
			every := formula{op: and}
			for _, x := range facts {
				c, ok := p.fact(x, read)
				if !ok {
					return yes, false
				}
				every.kids = append(every.kids, c)
			}
			one.kids = append(one.kids, every)
		}
		return one, true
	}
	left := p.term(f.Left, read)
	switch f.Op {
	case spec.Present:
		return p.present(left), true
	case spec.Absent:
		return not(p.present(left)), true
	}
	right := p.term(f.Right, read)
	if left.opaque || right.opaque {
		return yes, false
	}
	there := all(p.there(left), p.there(right))
	if left.absent || right.absent {
		return no, true
	}
	var rel formula
	switch f.Op {
	case spec.Eq, spec.Ne:
		if rel = same(left, right); left.kind == spec.KindString && left.length.apart(right.length) {
			rel = no
		}
		if f.Op == spec.Ne {
			rel = not(rel)
		}
	case spec.Lt:
		rel = compare(left, right, -1)
	case spec.Le:
		rel = compare(left, right, 0)
	case spec.Gt:
		rel = compare(right, left, -1)
	case spec.Ge:
		rel = compare(right, left, 0)
	case spec.In, spec.NotIn:
		if right.set == nil {
			return yes, false
		}
		rel = p.holds(p.elem(left), *right.set)
		if f.Op == spec.NotIn {
			rel = not(rel)
		}
	case spec.Covers:
		if left.set == nil || right.set == nil {
			return yes, false
		}
		rel = p.covering(*left.set, *right.set)
	}
	return all(there, rel), true
}

// assumed returns the facts that can be expressed: dropping the others only
// makes the proof harder.
func (p *problem) assumed(facts []*spec.Fact, read reader) []formula {
	var fs []formula
	for _, f := range facts {
		if c, ok := p.fact(f, read); ok {
			fs = append(fs, c)
		}
	}
	return fs
}

// refuted returns the condition that not all of the facts hold, and false when
// it cannot be expressed.
func (p *problem) refuted(facts []*spec.Fact, read reader) (formula, bool) {
	f := formula{op: or}
	for _, fact := range facts {
		c, ok := p.fact(fact, read)
		if !ok {
			return yes, false
		}
		f.kids = append(f.kids, not(c))
	}
	return f, true
}
