package enginetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// records looks at the way between records and rows: a row that no record can
// be made of is an error, and two records are equal only when all is equal.
func records[R any](s *world.Suite[R], t *testing.T) {
	base := fullRow(s)
	t.Run("unknown state", func(t *testing.T) {
		for _, word := range []string{"", "no_such_state", "State(1)"} {
			r := base
			r.State = word
			if _, err := s.D.Descriptor.Decode(r); err == nil {
				t.Errorf("a row in state %q was decoded", word)
			}
		}
	})
	t.Run("wrong values", func(t *testing.T) {
		for _, name := range s.M.Order {
			f := s.M.FieldByName[name]
			bad := []any{3.5, []byte("x")}
			if f.Kind != driver.KindTime {
				bad = append(bad, oracle.TheNow)
			}
			if f.Kind != driver.KindInt && f.Kind != driver.KindCounter && f.Kind != driver.KindSequence {
				bad = append(bad, int64(3))
			} else {
				bad = append(bad, "3")
			}
			if f.Kind != driver.KindBool {
				bad = append(bad, true)
			}
			if f.Kind == driver.KindEnum {
				bad = append(bad, "no such word", "")
			}
			if f.Kind == driver.KindSet {
				bad = append(bad, "[", `{"a":1}`, "[1]")
			}
			if f.Kind == driver.KindJSON {
				bad = append(bad, "", "{", "{} {}")
			}
			for _, v := range bad {
				r := base
				r.Values = slices.Clone(base.Values)
				r.Values[f.Index] = v
				if _, err := s.D.Descriptor.Decode(r); err == nil {
					t.Errorf("%s: a row with %T %v was decoded", name, v, v)
				}
			}
		}
		r := base
		r.Values = append(slices.Clone(base.Values), "one too many")
		if _, err := s.D.Descriptor.Decode(r); err == nil {
			t.Error("a row with too many values was decoded")
		}
	})
	t.Run("equal", func(t *testing.T) {
		a, err := s.D.Descriptor.Decode(base)
		if err != nil {
			t.Fatal(err)
		}
		if !s.D.Equal(a, a) {
			t.Error("a record does not equal itself")
		}
		for _, name := range s.M.Order {
			f := s.M.FieldByName[name]
			if !f.Optional {
				continue
			}
			absent, zero := base, base
			absent.Values, zero.Values = slices.Clone(base.Values), slices.Clone(base.Values)
			absent.Values[f.Index], zero.Values[f.Index] = nil, f.Zero()
			x, errX := s.D.Descriptor.Decode(absent)
			y, errY := s.D.Descriptor.Decode(zero)
			if err := errors.Join(errX, errY); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if s.D.Equal(x, y) || s.D.Equal(y, x) {
				t.Errorf("a record without %s equals one in which it is zero", name)
			}
		}
		for what, change := range changes(s) {
			r := base
			r.Values = slices.Clone(base.Values)
			change(&r)
			b, err := s.D.Descriptor.Decode(r)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if s.D.Equal(a, b) || s.D.Equal(b, a) {
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
func fullRow[R any](s *world.Suite[R]) driver.Row {
	r := s.M.BaseRow(s.M.StateOrder[0])
	for _, d := range s.M.RecordDims(&oracle.Op{}) {
		if f := s.M.FieldByName[d.Name[len(oracle.DimField):]]; f != nil {
			for _, v := range d.Values {
				if v != nil && v != "[]" {
					r.Values[f.Index] = v
					break
				}
			}
		}
	}
	return r
}

// changes are the smallest changes of a record, each by its name.
func changes[R any](s *world.Suite[R]) map[string]func(*driver.Row) {
	list := map[string]func(*driver.Row){
		"id":         func(r *driver.Row) { r.ID = "record-2" },
		"rev":        func(r *driver.Row) { r.Rev++ },
		"created_at": func(r *driver.Row) { r.CreatedAt = r.CreatedAt.Add(oracle.Microsecond) },
		"updated_at": func(r *driver.Row) { r.UpdatedAt = r.UpdatedAt.Add(oracle.Microsecond) },
	}
	if len(s.M.StateOrder) > 1 {
		list["state"] = func(r *driver.Row) { r.State = s.M.StateOrder[1].StoredName }
	}
	for _, name := range s.M.Order {
		f := s.M.FieldByName[name]
		list[name] = func(r *driver.Row) { r.Values[f.Index] = another(f, r.Values[f.Index]) }
		if f.Optional {
			list[name+", absent"] = func(r *driver.Row) { r.Values[f.Index] = nil }
		}
	}
	return list
}

// another returns a value of the field's type that is not v.
func another(f *oracle.FieldInfo, v any) any {
	switch v := v.(type) {
	case int64:
		if f.Max != nil && v == *f.Max {
			return v - 1
		}
		return v + 1
	case bool:
		return !v
	case time.Time:
		return v.Add(oracle.Microsecond)
	}
	switch f.Kind {
	case driver.KindSet:
		return oracle.SetOf(append(oracle.Members(v), "one more")...)
	case driver.KindJSON:
		return `["another"]`
	case driver.KindEnum:
		for _, w := range f.StoredWords {
			if w != v {
				return w
			}
		}
	}
	return "another"
}
