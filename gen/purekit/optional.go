package purekit

import (
	"encoding/json"
	"fmt"
	"time"
)

// Optional is a value that may be absent. The zero Optional is absent.
type Optional[T any] struct {
	value T
	ok    bool
}

// Some returns a value that is there.
func Some[T any](v T) Optional[T] { return Optional[T]{value: v, ok: true} }

// Get returns the value and whether it is there.
func (o Optional[T]) Get() (T, bool) { return o.value, o.ok }

// Present reports whether there is a value.
func (o Optional[T]) Present() bool { return o.ok }

// Or returns the value, or v when there is none.
func (o Optional[T]) Or(v T) T {
	if o.ok {
		return o.value
	}
	return v
}

// IsZero reports whether there is no value, for omitzero in JSON.
func (o Optional[T]) IsZero() bool { return !o.ok }

// String returns the value's text, or "absent".
func (o Optional[T]) String() string {
	if !o.ok {
		return "absent"
	}
	return fmt.Sprint(o.value)
}

// MarshalJSON writes the value, or null when there is none.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.ok {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// microsOf returns a length that may be absent as a number of microseconds.
func microsOf(o Optional[time.Duration]) Optional[int64] {
	if d, ok := o.Get(); ok {
		return Some(d.Microseconds())
	}
	return Optional[int64]{}
}

// ofMicros is the inverse of microsOf.
func ofMicros(o Optional[int64]) Optional[time.Duration] {
	if n, ok := o.Get(); ok {
		return Some(time.Duration(n) * time.Microsecond)
	}
	return Optional[time.Duration]{}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	*o = Optional[T]{}
	if string(text) == "null" {
		return nil
	}
	err := json.Unmarshal(text, &o.value)
	o.ok = err == nil
	return err
}
