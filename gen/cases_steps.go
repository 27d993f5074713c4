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

// pairs are those among which steps chooses, for one rule. Before and after differ in one field.
func (s search) pairs(f *spec.Fact) []stepped {
	m := s.m
	base := tried{before: s.soundRecord(m.States[0])}
	var fields []*spec.Field
	for _, x := range m.Fields {
		if mentions(f, x) {
			fields = append(fields, x)
		}
	}
	around := spec.Leaves([]*spec.Fact{f})
	values := func(x *spec.Field) []interp.Value {
		is := func(t spec.Term) bool { return t.Field == x }
		list := s.pool(base, x.Type, nil, is)
		for _, leaf := range around { // what a rule compares with, and the number beside it
			for _, t := range leaf.Names() {
				if leaf.Reads(x) && t.Kind == spec.TermInt {
					list = append(list, interp.Int(t.Int-1), interp.Int(t.Int), interp.Int(t.Int+1))
				}
			}
		}
		list = slices.DeleteFunc(list, func(v interp.Value) bool {
			return v.Kind == interp.KindAbsent && !x.Type.Optional || v == interp.Word("") || v == interp.String("") || v.Num > spec.SumLimit ||
				v.Num < 0 && x.Type.Kind != spec.KindInt
		})
		return list[:min(len(list), 8)]
	}
	var list []stepped
	try := func(before interp.Record, x *spec.Field) {
		for _, v := range values(x) {
			pair := stepped{before: before, after: before.With(m, x.Name, v)}
			rule, other := interp.Broken(m, pair.before, pair.after)
			if other != f && rule != nil {
				continue // that one is shown by itself
			}
			if rule != nil {
				pair.broken = f.Text
			}
			for _, leaf := range around {
				pair.shows += fmt.Sprint(" ", interp.Keeps(m, leaf, pair.before, pair.after), stands(m, leaf, pair.before, pair.after))
			}
			list = append(list, pair)
		}
	}
	for _, x := range fields {
		for _, v := range values(x) {
			before := base.before.With(m, x.Name, v)
			for _, y := range fields {
				try(before, y)
			}
			for _, y := range fields {
				if y != x && len(fields) <= 3 {
					for _, w := range values(y) {
						try(before.With(m, y.Name, w), x)
					}
				}
			}
		}
	}
	return list
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
	if f.Op < spec.Lt || f.Op > spec.Ge {
		return text
	}
	equal := *f
	if equal.Op = spec.Eq; interp.Keeps(m, &equal, before, after) {
		text += " equal"
	}
	return text
}
