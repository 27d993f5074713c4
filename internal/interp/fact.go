package interp

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Holds reports whether a fact holds for a record and a call. A comparison
// with an absent term is false, whatever the comparison: `x != 1` does not hold
// when x is absent. Of an `any` one list holds at least.
func Holds(m *spec.Machine, f *spec.Fact, r Record, c Call) bool {
	if f.Op == spec.AnyOf {
		return slices.ContainsFunc(f.Any, func(facts []*spec.Fact) bool { return all(m, facts, r, c) })
	}
	left := term(m, f.Left, r, c)
	switch f.Op {
	case spec.Present:
		return left.IsPresent()
	case spec.Absent:
		return !left.IsPresent()
	}
	right := term(m, f.Right, r, c)
	if left.Kind == KindAbsent || right.Kind == KindAbsent {
		return false
	}
	switch f.Op {
	case spec.Eq:
		return left == right
	case spec.Ne:
		return left != right
	case spec.Lt:
		return left.Compare(right) < 0
	case spec.Le:
		return left.Compare(right) <= 0
	case spec.Gt:
		return left.Compare(right) > 0
	case spec.Ge:
		return left.Compare(right) >= 0
	case spec.In:
		return right.Has(left.Text)
	case spec.NotIn:
		return !right.Has(left.Text)
	case spec.Covers:
		return left.Covers(right)
	}
	return false
}

// Keeps reports whether a rule over a step holds of a record before and after it.
func Keeps(m *spec.Machine, f *spec.Fact, before, after Record) bool {
	return Holds(m, f, after, Call{before: &before})
}

// Broken returns the first rule over a step that a record before and after it breaks, with
// the fact, or nil.
func Broken(m *spec.Machine, before, after Record) (*spec.StepRule, *spec.Fact) {
	for _, s := range m.Steps {
		for _, f := range s.When {
			if !Keeps(m, f, before, after) {
				return s, f
			}
		}
	}
	return nil, nil
}

// all reports whether every fact of a list holds: a list means and.
func all(m *spec.Machine, facts []*spec.Fact, r Record, c Call) bool {
	for _, f := range facts {
		if !Holds(m, f, r, c) {
			return false
		}
	}
	return true
}

// Term returns the value of one side of a fact.
func Term(m *spec.Machine, t spec.Term, r Record, c Call) Value { return term(m, t, r, c) }

// term is Term.
func term(m *spec.Machine, t spec.Term, r Record, c Call) Value {
	switch t.Kind {
	case spec.TermField:
		return r.Value(m, t.Field)
	case spec.TermOld:
		if c.before == nil {
			return Absent
		}
		return c.before.Value(m, t.Field)
	case spec.TermInput:
		if t.Input != nil {
			return c.Inputs[t.Input.Name]
		}
		return c.Inputs[t.Name]
	case spec.TermActor:
		if c.Actor == "" {
			return Absent
		}
		return String(c.Actor)
	case spec.TermNow:
		return Time(c.At)
	case spec.TermInt:
		return Int(t.Int)
	case spec.TermBool:
		return Bool(t.Bool)
	case spec.TermWord:
		return Word(t.Word.Name)
	case spec.TermText:
		return String(t.Const)
	case spec.TermSum:
		return sum(m, t.Parts, r, c)
	case spec.TermSpan:
		return Span(t.Int)
	case spec.TermBackoff:
		return backoff(m, t.Backoff, r, c)
	}
	return Absent
}

// sum adds numbers, or times and lengths, of a record and a call; it is absent where one of them
// is. With a time it makes an instant, with two of which one is taken off a length. No sum wraps:
// the types of its parts keep each one within [spec.SumLimit].
func sum(m *spec.Machine, parts []spec.Part, r Record, c Call) Value {
	total, times := Int(0), 0
	for _, p := range parts {
		v := term(m, p.Term, r, c)
		switch v.Kind {
		case KindAbsent:
			return Absent
		case KindTime:
			times += int(p.Signed(1))
			total.Kind = KindDuration
		case KindDuration:
			total.Kind = KindDuration
		}
		total.Num += p.Signed(v.Num)
	}
	if times == 1 {
		total.Kind = KindTime
	}
	return total
}

// backoff is a length that grows with a counter of the record; it is absent where an end is.
func backoff(m *spec.Machine, b *spec.Backoff, r Record, c Call) Value {
	base, longest := term(m, b.Base, r, c), term(m, b.Max, r, c)
	if base.Kind == KindAbsent || longest.Kind == KindAbsent {
		return Absent
	}
	return Span(b.Length(base.Num, longest.Num, r.Value(m, b.By).Num))
}
