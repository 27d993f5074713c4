package gen

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// The pairs of records that show the rules over a step.

// stepped is a record before and after a step, and the rule that this breaks.
type stepped struct {
	before, after interp.Record
	broken        string
	shows         string
}

// steps returns the pairs that show the rules over a step.
func (s search) steps() []stepped {
	var list []stepped
	for _, f := range s.m.Kept() {
		list = append(list, essential(s.pairs(f), func(x stepped) []string { return []string{x.shows} })...)
	}
	seen := map[string]bool{} // one pair may show several rules
	return slices.DeleteFunc(list, func(x stepped) bool {
		key := fmt.Sprint(x.before.State.Name, x.before.Fields, x.after.Fields)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// pairs are those among which steps chooses, for one rule. Before and after differ in one of
// its fields, and in what keeps the other rules.
func (s search) pairs(f *spec.Fact) []stepped {
	m := s.m
	base := tried{before: s.soundRecord(m.States[0])}
	fields := s.named(f)
	around := spec.Leaves([]*spec.Fact{f})
	var list []stepped
	try := func(before interp.Record, x *spec.Field) {
		for _, v := range s.beside(f, x, base.before) {
			pair := stepped{before: before, after: before.With(m, x.Name, v)}
			broken, kept := s.repaired(f, &pair)
			if !kept {
				continue
			}
			if broken {
				pair.broken = f.Text
			}
			for _, leaf := range around {
				pair.shows += fmt.Sprint(" ", interp.Keeps(m, leaf, pair.before, pair.after), stands(m, leaf, pair.before, pair.after))
			}
			list = append(list, pair)
		}
	}
	for _, x := range fields {
		for _, v := range s.beside(f, x, base.before) {
			before := base.before.With(m, x.Name, v)
			for _, y := range fields {
				try(before, y)
			}
			for _, y := range fields {
				if y != x && len(fields) <= 3 {
					for _, w := range s.beside(f, y, base.before) {
						try(before.With(m, y.Name, w), x)
					}
				}
			}
		}
	}
	return list
}

// named lists the fields that a rule names.
func (s search) named(f *spec.Fact) []*spec.Field {
	var list []*spec.Field
	for _, x := range s.m.Fields {
		if mentions(f, x) {
			list = append(list, x)
		}
	}
	return list
}

// beside lists values of a field: those that a rule compares it with, the ones around them, and
// those around what the record holds.
func (s search) beside(f *spec.Fact, x *spec.Field, r interp.Record) []interp.Value {
	list := s.pool(tried{before: r}, x.Type, nil, func(t spec.Term) bool { return t.Field == x })
	around := func(v interp.Value) {
		for d := int64(-1); d <= 1; d++ {
			list = append(list, interp.Value{Kind: v.Kind, Num: v.Num + d})
		}
	}
	for _, leaf := range spec.Leaves([]*spec.Fact{f}) {
		for _, t := range leaf.Names() {
			switch {
			case leaf.Reads(x) && t.Kind == spec.TermInt:
				around(interp.Int(t.Int))
			case leaf.Reads(x) && t.Kind == spec.TermSpan && x.Type.Kind == spec.KindDuration:
				around(interp.Span(t.Int))
			}
		}
	}
	if v := r.Value(s.m, x); v.Kind == interp.KindInt || v.Kind == interp.KindDuration {
		around(v)
	}
	list = slices.DeleteFunc(list, func(v interp.Value) bool {
		return v.Kind == interp.KindAbsent && !x.Type.Optional || v == interp.Word("") || v == interp.String("") || v.Num > spec.SumLimit ||
			v.Num < 0 && x.Type.Kind != spec.KindInt
	})
	var once []interp.Value
	for _, v := range list {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once[:min(len(once), 10)]
}

// repaired changes other fields after the step until no other rule is broken before this one. It
// reports whether this one is, and whether that could be done.
func (s search) repaired(f *spec.Fact, pair *stepped) (broken, kept bool) {
	for range len(s.m.Kept()) + 1 {
		_, other := interp.Broken(s.m, pair.before, pair.after)
		if other == nil || other == f {
			return other == f, true
		}
		fixed := false
		for _, y := range s.named(other) {
			for _, v := range s.beside(other, y, pair.before) {
				after := pair.after.With(s.m, y.Name, v)
				if !fixed && !mentions(f, y) && interp.Keeps(s.m, other, pair.before, after) {
					pair.after, fixed = after, true
				}
			}
		}
		if !fixed {
			return false, false // that rule is shown by itself
		}
	}
	return false, false
}

// stands says how the sides of a comparison stand to each other, which its operator does not
// tell: whether they are equal, and which fields are there.
func stands(m *spec.Machine, f *spec.Fact, before, after interp.Record) string {
	text := ""
	for _, t := range f.Names() {
		if t.Field != nil && t.Field.Type.Optional {
			text += fmt.Sprint(" ", interp.Keeps(m, &spec.Fact{Op: spec.Present, Left: t}, before, after))
		}
	}
	if k := f.Left.Field; f.Op == spec.Eq || f.Op == spec.Ne {
		if k != nil && slices.Contains([]spec.Kind{spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindTime, spec.KindDuration}, k.Type.Kind) {
			less := *f
			less.Op = spec.Lt
			text += fmt.Sprint(" ", interp.Keeps(m, &less, before, after))
		}
		return text
	}
	if f.Op < spec.Lt || f.Op > spec.Ge {
		return text
	}
	equal := *f
	if equal.Op = spec.Eq; interp.Keeps(m, &equal, before, after) {
		text += " equal"
	}
	return text
}
