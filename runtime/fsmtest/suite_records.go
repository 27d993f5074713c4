package fsmtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// records looks at the way between records and rows: a row that no record can
// be made of is an error, and two records are equal only when all is equal.
func (s *suite[R]) records(t *testing.T) {
	base := s.fullRow()
	t.Run("unknown state", func(t *testing.T) {
		for _, word := range []string{"", "no_such_state", "State(1)"} {
			r := base
			r.State = word
			if _, err := s.d.Descriptor.Decode(r); err == nil {
				t.Errorf("a row in state %q was decoded", word)
			}
		}
	})
	t.Run("wrong values", func(t *testing.T) {
		for _, name := range s.m.order {
			f := s.m.fields[name]
			bad := []any{3.5, []byte("x")}
			if f.kind != driver.KindTime {
				bad = append(bad, theNow)
			}
			if f.kind != driver.KindInt && f.kind != driver.KindCounter && f.kind != driver.KindSequence {
				bad = append(bad, int64(3))
			} else {
				bad = append(bad, "3")
			}
			if f.kind != driver.KindBool {
				bad = append(bad, true)
			}
			if f.kind == driver.KindEnum {
				bad = append(bad, "no such word", "")
			}
			if f.kind == driver.KindSet {
				bad = append(bad, "[", `{"a":1}`, "[1]")
			}
			if f.kind == driver.KindJSON {
				bad = append(bad, "", "{", "{} {}")
			}
			for _, v := range bad {
				r := base
				r.Values = slices.Clone(base.Values)
				r.Values[f.index] = v
				if _, err := s.d.Descriptor.Decode(r); err == nil {
					t.Errorf("%s: a row with %T %v was decoded", name, v, v)
				}
			}
		}
		r := base
		r.Values = append(slices.Clone(base.Values), "one too many")
		if _, err := s.d.Descriptor.Decode(r); err == nil {
			t.Error("a row with too many values was decoded")
		}
	})
	t.Run("equal", func(t *testing.T) {
		a, err := s.d.Descriptor.Decode(base)
		if err != nil {
			t.Fatal(err)
		}
		if !s.d.Equal(a, a) {
			t.Error("a record does not equal itself")
		}
		for _, name := range s.m.order {
			f := s.m.fields[name]
			if !f.optional {
				continue
			}
			absent, zero := base, base
			absent.Values, zero.Values = slices.Clone(base.Values), slices.Clone(base.Values)
			absent.Values[f.index], zero.Values[f.index] = nil, f.zero()
			x, errX := s.d.Descriptor.Decode(absent)
			y, errY := s.d.Descriptor.Decode(zero)
			if err := errors.Join(errX, errY); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if s.d.Equal(x, y) || s.d.Equal(y, x) {
				t.Errorf("a record without %s equals one in which it is zero", name)
			}
		}
		for what, change := range s.changes() {
			r := base
			r.Values = slices.Clone(base.Values)
			change(&r)
			b, err := s.d.Descriptor.Decode(r)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if s.d.Equal(a, b) || s.d.Equal(b, a) {
				t.Errorf("two records that differ in %s are equal", what)
			}
			if target, ok := any(b).(fsm.Target); !ok {
				t.Fatal("a record is no Target")
			} else if target.Ref() != r.Ref() {
				t.Errorf("Ref() = %v, want %v", target.Ref(), r.Ref())
			}
		}
	})
}

// fullRow is a record with a value in every field.
func (s *suite[R]) fullRow() driver.Row {
	r := s.m.baseRow(s.m.stateOrder[0])
	for _, d := range s.m.recordDims(&operation{}) {
		if f := s.m.fields[d.name[len(dimField):]]; f != nil {
			for _, v := range d.values {
				if v != nil && v != "[]" {
					r.Values[f.index] = v
					break
				}
			}
		}
	}
	return r
}

// changes are the smallest changes of a record, each by its name.
func (s *suite[R]) changes() map[string]func(*driver.Row) {
	list := map[string]func(*driver.Row){
		"id":         func(r *driver.Row) { r.ID = "record-2" },
		"rev":        func(r *driver.Row) { r.Rev++ },
		"created_at": func(r *driver.Row) { r.CreatedAt = r.CreatedAt.Add(microsecond) },
		"updated_at": func(r *driver.Row) { r.UpdatedAt = r.UpdatedAt.Add(microsecond) },
	}
	if len(s.m.stateOrder) > 1 {
		list["state"] = func(r *driver.Row) { r.State = s.m.stateOrder[1].stored }
	}
	for _, name := range s.m.order {
		f := s.m.fields[name]
		list[name] = func(r *driver.Row) { r.Values[f.index] = another(f, r.Values[f.index]) }
		if f.optional {
			list[name+", absent"] = func(r *driver.Row) { r.Values[f.index] = nil }
		}
	}
	return list
}

// zero returns the zero of a field's type, as a row has it when it is present.
func (f *field) zero() any {
	switch f.kind {
	case driver.KindString:
		return ""
	case driver.KindBool:
		return false
	case driver.KindTime:
		return time.Time{}
	case driver.KindEnum:
		return f.stored[0]
	case driver.KindJSON:
		return "null"
	case driver.KindSet:
		return "[]"
	}
	return int64(0)
}

// another returns a value of the field's type that is not v.
func another(f *field, v any) any {
	switch v := v.(type) {
	case int64:
		if f.max != nil && v == *f.max {
			return v - 1
		}
		return v + 1
	case bool:
		return !v
	case time.Time:
		return v.Add(microsecond)
	}
	switch f.kind {
	case driver.KindSet:
		return setOf(append(members(v), "one more")...)
	case driver.KindJSON:
		return `["another"]`
	case driver.KindEnum:
		for _, w := range f.stored {
			if w != v {
				return w
			}
		}
	}
	return "another"
}
