package fsmimpl

import (
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Error is an error of a machine's own, under the name that the specification gives it.
type Error struct{ name, text string }

// NewError returns such an error. Each is equal to itself alone.
func NewError(name, text string) error { return &Error{name, text} }

// Error returns the text.
func (e *Error) Error() string { return e.text }

// ErrorName returns the name.
func (e *Error) ErrorName() string { return e.name }

// Values tells what a guard looked at, by name and value in turns: "owner ben, actor ann".
// It knows the types that generated code hands over. None of them has a method to be
// called here, so the values stay on the caller's stack: the text alone is allocated.
func Values(pairs ...any) string {
	b := make([]byte, 0, 128)
	for i := 1; i < len(pairs); i += 2 {
		name, _ := pairs[i-1].(string)
		b = append(append(b, name...), ' ')
		b = append(appendValue(b, pairs[i]), ", "...)
	}
	return string(b[:max(0, len(b)-2)])
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendText(b, v)
	case driver.Optional[string]:
		return appendText(b, v.Or("absent"))
	case time.Time:
		return v.UTC().AppendFormat(b, time.RFC3339Nano)
	case driver.Optional[time.Time]:
		if at, ok := v.Get(); ok {
			return at.UTC().AppendFormat(b, time.RFC3339Nano)
		}
		return append(b, "absent"...)
	case time.Duration:
		return appendSpan(b, v)
	case driver.Optional[time.Duration]:
		if d, ok := v.Get(); ok {
			return appendSpan(b, d)
		}
		return append(b, "absent"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int: // a number that generated code has as it stands in the file
		return strconv.AppendInt(b, int64(v), 10)
	case driver.Optional[int64]:
		if n, ok := v.Get(); ok {
			return strconv.AppendInt(b, n, 10)
		}
		return append(b, "absent"...)
	case bool:
		return strconv.AppendBool(b, v)
	case driver.Optional[bool]:
		if is, ok := v.Get(); ok {
			return strconv.AppendBool(b, is)
		}
		return append(b, "absent"...)
	}
	return append(b, '?')
}

// appendText appends a text, of a long one the beginning.
func appendText(b []byte, s string) []byte {
	const most = 80
	if len(s) > most {
		n := 0
		for i := range s {
			if n++; n > most {
				return append(append(b, s[:i]...), "…"...)
			}
		}
	}
	return append(b, s...)
}
