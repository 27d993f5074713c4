package driver

import (
	"errors"
	"fmt"
	"strings"
)

// The limits of what is stored. They are the same over every store, and a call is
// held against them before anything is written, so that whatever is accepted can
// be read again everywhere: an event wraps the values of a call, and a transaction
// of the smallest store (etcd: 1.5 MiB) holds inputs, changes and image of an
// event, the row that was and the row that comes.
const (
	// MaxCall is the greatest size of a call in bytes: inputs as JSON, labels and
	// reason. It is also that of a record: all its fields as JSON. See WithMaxCall.
	MaxCall = 192 << 10
	// MaxDepth is how deep arrays and objects of a JSON value may be nested.
	// SQLite reads 1 000 levels, encoding/json 10 000; an event adds two.
	MaxDepth = 500
	// MaxIndexed is how many bytes, as JSON, the texts of one record may have that
	// stand together in an index: those of a unique rule, of an order, of a group.
	MaxIndexed = 2000
)

// SizeError is what a value is too large for; it becomes a refusal.
type SizeError struct{ Text string }

// Error says what the limit is.
func (e *SizeError) Error() string { return e.Text }

// CheckJSON is CheckText for a JSON text, whose strings and names may write NUL as an escape.
func CheckJSON(text string) error {
	if err := CheckText(text); err != nil {
		return err
	}
	for rest := text; ; {
		before, after, found := strings.Cut(rest, `\u0000`)
		if !found {
			return nil
		}
		if backslashes := len(before) - len(strings.TrimRight(before, `\`)); backslashes%2 == 0 {
			return errors.New(`it holds a NUL character, as \u0000, which no text can hold`)
		}
		rest = after
	}
}

// checkJSON returns an error unless a JSON text can be stored and read everywhere.
func checkJSON(text string) error {
	if err := CheckJSON(text); err != nil {
		return err
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	if deepest > MaxDepth {
		return &SizeError{fmt.Sprintf("it is nested %d levels deep, at most %d are possible", deepest, MaxDepth)}
	}
	return nil
}

// TextSize returns how many bytes AppendText makes of s, its quotes aside.
func TextSize(s string) int {
	size := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			size++
		case c < 0x20:
			size += len(`\u0000`) - 1
		}
	}
	return size
}
