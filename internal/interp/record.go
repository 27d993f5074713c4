package interp

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Record is one record of a machine. Records are values: no function of this
// package changes the fields of a record it was given.
type Record struct {
	ID        string
	State     *spec.State // nil before the creation
	Rev       int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Fields    []Value // in the order of Machine.Fields
}

// NewRecord returns the record as it is before its creation: optional fields
// absent, counters 0, sets empty, everything else not set yet.
func NewRecord(m *spec.Machine, id string) Record {
	r := Record{ID: id, Fields: make([]Value, len(m.Fields))}
	for i, f := range m.Fields {
		r.Fields[i] = empty(f)
	}
	return r
}

// Older returns a record that is not created yet as a log begins that knows none of
// the fields: those that came later are at their default.
func Older(m *spec.Machine, r Record) Record {
	for _, f := range m.Fields {
		if f.Default != nil {
			r = r.with(m, f, Default(f))
		}
	}
	return r
}

// Default returns the default of a field, which has one.
func Default(f *spec.Field) Value {
	return valueOf(nil, spec.Assign{Field: f, Value: *f.Default}, Record{}, Call{})
}

// empty is what a field holds when nothing has set it.
func empty(f *spec.Field) Value {
	switch f.Type.Kind {
	case spec.KindCounter:
		return Int(0)
	case spec.KindSet:
		return Set()
	}
	return Absent
}

// Value returns what the record holds in a declared or built-in field.
func (r Record) Value(m *spec.Machine, f *spec.Field) Value {
	switch f {
	case m.ID:
		return String(r.ID)
	case m.Rev:
		return Int(r.Rev)
	}
	if f.Builtin {
		at := r.CreatedAt
		if f.Name == "updated_at" {
			at = r.UpdatedAt
		}
		if at.IsZero() {
			return Absent
		}
		return Time(at)
	}
	return r.Fields[fieldIndex(m, f)]
}

// With returns the record with one field changed. It panics when the machine
// has no such field: the name comes from a test, not from a user.
func (r Record) With(m *spec.Machine, field string, v Value) Record {
	f := m.Field(field)
	if f == nil || f.Builtin {
		panic(fmt.Sprintf("interp: machine %s has no field %q", m.Name, field))
	}
	return r.with(m, f, v)
}

// WithAll returns the record with all those fields changed that have a value in the
// function.
func (r Record) WithAll(m *spec.Machine, value func(*spec.Field) Value) Record {
	r.Fields = slices.Clone(r.Fields)
	for i, f := range m.Fields {
		if v := value(f); v.Kind != KindAbsent {
			r.Fields[i] = v
		}
	}
	return r
}

// In returns the record in another state.
func (r Record) In(s *spec.State) Record {
	r.State = s
	return r
}

func (r Record) with(m *spec.Machine, f *spec.Field, v Value) Record {
	if v.Kind == KindAbsent {
		v = empty(f)
	}
	r.Fields = slices.Clone(r.Fields)
	r.Fields[fieldIndex(m, f)] = v
	return r
}

// Equal reports whether two records are the same in every datum.
func (r Record) Equal(o Record) bool {
	return r.ID == o.ID && r.State == o.State && r.Rev == o.Rev &&
		r.CreatedAt.Equal(o.CreatedAt) && r.UpdatedAt.Equal(o.UpdatedAt) &&
		slices.Equal(r.Fields, o.Fields)
}

func fieldIndex(m *spec.Machine, f *spec.Field) int {
	i := m.FieldIndex(f)
	if i < 0 {
		panic(fmt.Sprintf("interp: field %q is not of machine %s", f.Name, m.Name))
	}
	return i
}

// group returns the values of the fields, and false when one is absent: absent
// fields never collide.
func group(m *spec.Machine, fields []spec.FieldRef, r Record) ([]Value, bool) {
	key := make([]Value, len(fields))
	for i, f := range fields {
		key[i] = r.Value(m, f.Field)
		if !key[i].IsPresent() {
			return nil, false
		}
	}
	return key, true
}

// inStates reports whether s is among the named states.
func inStates(s *spec.State, refs []spec.StateRef) bool {
	return slices.ContainsFunc(refs, func(r spec.StateRef) bool { return r.State == s })
}
