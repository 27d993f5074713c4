package fsmimpl

import (
	"fmt"
	"strings"
	"time"
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
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		text := fmt.Sprint(pairs[i+1])
		if t, ok := pairs[i+1].(interface{ Get() (time.Time, bool) }); ok {
			if at, there := t.Get(); there {
				text = at.UTC().Format(time.RFC3339Nano)
			}
		}
		if t, ok := pairs[i+1].(time.Time); ok {
			text = t.UTC().Format(time.RFC3339Nano)
		}
		if r := []rune(text); len(r) > most {
			text = string(r[:most]) + "…"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", pairs[i], text)
	}
	return b.String()
}
