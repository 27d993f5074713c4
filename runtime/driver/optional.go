package driver

import (
	"bytes"
	sqldriver "database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
)

// Optional is a value that may be absent. The zero Optional is absent. Copies
// share nothing, and making one allocates nothing.
type Optional[T any] struct {
	value T
	ok    bool
}

// Some returns a present value.
func Some[T any](v T) Optional[T] { return Optional[T]{value: v, ok: true} }

// Get returns the value and whether it is present.
func (o Optional[T]) Get() (T, bool) { return o.value, o.ok }

// Present reports whether there is a value.
func (o Optional[T]) Present() bool { return o.ok }

// Or returns the value, or v when it is absent.
func (o Optional[T]) Or(v T) T {
	if o.ok {
		return o.value
	}
	return v
}

// IsZero reports whether the value is absent, for `json:",omitzero"`.
func (o Optional[T]) IsZero() bool { return !o.ok }

// String returns the value's text, or "absent".
func (o Optional[T]) String() string {
	if !o.ok {
		return "absent"
	}
	return fmt.Sprint(o.value)
}

// MarshalJSON writes the value, or null when it is absent.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.ok {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads null as absent.
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*o = Optional[T]{}
		return nil
	}
	if err := json.Unmarshal(b, &o.value); err != nil {
		return err
	}
	o.ok = true
	return nil
}

// Scan reads a column; NULL is absent.
func (o *Optional[T]) Scan(src any) error {
	*o = Optional[T]{}
	if src == nil {
		return nil
	}
	err := scanInto(reflect.ValueOf(&o.value).Elem(), src)
	o.ok = err == nil
	return err
}

// Value writes a column; absent is NULL.
func (o Optional[T]) Value() (sqldriver.Value, error) {
	if !o.ok {
		return nil, nil
	}
	v := any(o.value)
	if valuer, ok := v.(sqldriver.Valuer); ok {
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() && p.Type().Elem().Implements(reflect.TypeFor[sqldriver.Valuer]()) {
			return nil, nil // its method would panic
		}
		var err error
		if v, err = valuer.Value(); err != nil {
			return v, err
		}
	}
	return sqldriver.DefaultParameterConverter.ConvertValue(v)
}
