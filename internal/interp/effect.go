package interp

import (
	"math"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// apply returns target with the effects on it. Every right side reads the
// stored record; fields that are not named keep what target has. It names the
// first field that cannot hold its new value: no number wraps or is beyond the limit of
// sums, no length is negative or above 100 years, and no time leaves the years that a record can hold.
func apply(m *spec.Machine, e *spec.Effects, stored, target Record, c Call) (after Record, over *spec.Field) {
	exceeds := func(f *spec.Field, does bool) {
		if does && over == nil {
			over = f
		}
	}
	target.Fields = slices.Clone(target.Fields) // once, however many change
	put := func(f *spec.Field, v Value) {
		if v.Kind == KindAbsent {
			v = empty(f)
		}
		target.Fields[fieldIndex(m, f)] = v
	}
	for _, a := range e.Set {
		v := valueOf(m, a, stored, c)
		summed := a.Value.Kind == spec.ValueNow && a.Value.Plus > 0 || a.Value.Kind == spec.ValueSum
		exceeds(a.Field, summed && v.Kind == KindTime && !inYears(v.AsTime()) ||
			(v.Kind == KindInt || v.Kind == KindDuration) && a.Field.Type.Beyond(v.Num))
		put(a.Field, v)
	}
	for _, f := range e.Clear {
		put(f.Field, Absent)
	}
	for _, f := range e.Increment {
		n := target.Value(m, f.Field).Num
		exceeds(f.Field, n == math.MaxInt64 || f.Field.Type.Beyond(n+1))
		put(f.Field, Int(n+1))
	}
	for _, a := range e.Remove {
		gone := valueOf(m, a, stored, c)
		if gone.Kind == KindString {
			gone = Set(gone.Text)
		}
		put(a.Field, target.Value(m, a.Field).Without(gone))
	}
	for _, a := range e.Add {
		added := valueOf(m, a, stored, c)
		if added.Kind == KindString {
			added = Set(added.Text)
		}
		put(a.Field, target.Value(m, a.Field).Union(added))
	}
	for _, f := range e.Decrement {
		put(f.Field, Int(target.Value(m, f.Field).Num-1))
	}
	for _, f := range e.Reset {
		put(f.Field, Absent)
	}
	return target, over
}

// valueOf returns the right side of an assignment.
func valueOf(m *spec.Machine, a spec.Assign, stored Record, c Call) Value {
	v := a.Value
	switch v.Kind {
	case spec.ValueInput, spec.ValueInputOrAbsent, spec.ValueInputOrReject:
		return c.Inputs[v.Input.Name]
	case spec.ValueInputOrDefault:
		if sent, ok := c.Inputs[v.Input.Name]; ok {
			return sent
		}
		a.Value = *a.Field.Default
		return valueOf(m, a, stored, c)
	case spec.ValueInputOrSame:
		if sent, ok := c.Inputs[v.Input.Name]; ok {
			return sent
		}
		return stored.Value(m, a.Field)
	case spec.ValueField:
		return stored.Value(m, v.Field)
	case spec.ValueActor:
		return String(c.Actor)
	case spec.ValueNow:
		return Time(c.At.Add(v.Plus))
	case spec.ValueInt:
		return Int(v.Int)
	case spec.ValueBool:
		return Bool(v.Bool)
	case spec.ValueWord:
		return Word(v.Word.Name)
	case spec.ValueText:
		return text(a.Field, v.Const)
	case spec.ValueSum:
		return sum(m, v.Parts, stored, c)
	case spec.ValueSpan:
		return Span(v.Int)
	}
	return Absent
}

// text is a constant that the file holds as a text.
func text(f *spec.Field, constant string) Value {
	switch f.Type.Kind {
	case spec.KindTime:
		at, err := time.Parse(time.RFC3339Nano, constant)
		if err != nil {
			panic("interp: the parser took a time that is none: " + err.Error())
		}
		return Time(at)
	case spec.KindJSON:
		return JSON(constant)
	}
	return String(constant)
}
