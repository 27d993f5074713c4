package enginetest

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// records looks at the way between records and rows: a row that no record can
// be made of is an error, and two records are equal only when all is equal.
func records[R any](s *world.Suite[R], t *testing.T) {
	full := fullRecord(s.M)
	base := world.Row(s.M, full)
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
		for i, f := range s.M.Fields {
			for _, v := range wrong(f.Type.Kind) {
				r := base
				r.Values = slices.Clone(base.Values)
				r.Values[i] = v
				if _, err := s.D.Descriptor.Decode(r); err == nil {
					t.Errorf("%s: a row with %T %v was decoded", f.Name, v, v)
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
		for _, f := range s.M.Fields {
			if !f.Type.Optional {
				continue
			}
			x, errX := s.D.Descriptor.Decode(world.Row(s.M, full.With(s.M, f.Name, interp.Absent)))
			y, errY := s.D.Descriptor.Decode(world.Row(s.M, full.With(s.M, f.Name, zero(f.Type))))
			if err := errors.Join(errX, errY); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			} else if s.D.Equal(x, y) || s.D.Equal(y, x) {
				t.Errorf("a record without %s equals one in which it is zero", f.Name)
			}
		}
		for what, changed := range changes(s.M, full) {
			row := world.Row(s.M, changed)
			b, err := s.D.Descriptor.Decode(row)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if s.D.Equal(a, b) || s.D.Equal(b, a) {
				t.Errorf("two records that differ in %s are equal", what)
			}
			if target, ok := any(b).(fsm.Target); !ok {
				t.Fatal("a record is no Target")
			} else if target.Ref() != row.Ref() {
				t.Errorf("Ref() = %v, want %v", target.Ref(), row.Ref())
			}
		}
	})
}

// wrong lists values that no row has in a field of a kind.
func wrong(k spec.Kind) []any {
	bad := []any{3.5, []byte("x")}
	if k != spec.KindTime {
		bad = append(bad, world.Noon)
	}
	if k != spec.KindInt && k != spec.KindCounter && k != spec.KindSequence && k != spec.KindDuration {
		bad = append(bad, int64(3))
	} else {
		bad = append(bad, "3")
	}
	if k != spec.KindBool {
		bad = append(bad, true)
	}
	switch k {
	case spec.KindEnum:
		bad = append(bad, "no such word", "")
	case spec.KindSet:
		bad = append(bad, "[", `{"a":1}`, "[1]")
	case spec.KindJSON:
		bad = append(bad, "", "{", "{} {}")
	case spec.KindDuration:
		bad = append(bad, int64(math.MaxInt64)) // more than Go holds
	}
	return bad
}

// fullRecord is a record with a value in every field.
func fullRecord(m *spec.Machine) interp.Record {
	r := interp.NewRecord(m, "record-1").In(m.States[0])
	r.Rev, r.CreatedAt, r.UpdatedAt = 7, world.Noon, world.Noon
	return r.WithAll(m, func(f *spec.Field) interp.Value { return world.Another(f.Type, zero(f.Type)) })
}

// zero is the zero of a type, as a record has it when it is present.
func zero(t spec.Type) interp.Value {
	switch t.Kind {
	case spec.KindString:
		if t.HasLength() {
			return interp.String(t.Fitted("-"))
		}
		return interp.String("")
	case spec.KindBool:
		return interp.Bool(false)
	case spec.KindTime:
		return interp.Time(time.Time{})
	case spec.KindEnum:
		return interp.Word(t.Values[0].Name)
	case spec.KindJSON:
		return interp.JSON("null")
	case spec.KindSet:
		return interp.Set()
	case spec.KindDuration:
		return interp.Span(0)
	}
	return interp.Int(0)
}

// changes are the smallest changes of a record, each by its name.
func changes(m *spec.Machine, r interp.Record) map[string]interp.Record {
	id, rev, created, updated := r, r, r, r
	id.ID, rev.Rev = "record-2", r.Rev+1
	created.CreatedAt, updated.UpdatedAt = r.CreatedAt.Add(time.Microsecond), r.UpdatedAt.Add(time.Microsecond)
	list := map[string]interp.Record{"id": id, "rev": rev, "created_at": created, "updated_at": updated}
	if len(m.States) > 1 {
		list["state"] = r.In(m.States[1])
	}
	for _, f := range m.Fields {
		list[f.Name] = r.With(m, f.Name, world.Another(f.Type, r.Value(m, f)))
		if f.Type.Optional {
			list[f.Name+", absent"] = r.With(m, f.Name, interp.Absent)
		}
	}
	return list
}
