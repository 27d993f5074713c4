package fsmimpl

import (
	"fmt"
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
func Values(pairs ...any) string {
	const most = 80 // of one value
	b := make([]byte, 0, 128)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ", "...)
		}
		name, _ := pairs[i].(string)
		text := valueText(pairs[i+1])
		if len(text) > most {
			if r := []rune(text); len(r) > most {
				text = string(r[:most]) + "…"
			}
		}
		b = append(append(append(b, name...), ' '), text...)
	}
	return string(b)
}

func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case driver.Optional[string]:
		if s, ok := v.Get(); ok {
			return s
		}
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case interface{ Get() (time.Time, bool) }:
		if at, ok := v.Get(); ok {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return fmt.Sprint(v)
}
