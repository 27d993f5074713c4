package purekit

import (
	"errors"
	"fmt"
	"slices"
)

// word is a type of constants: 1, 2, 3 ... in the order of a table of words, which
// has nothing at 0.
type word interface{ ~uint8 | ~uint16 }

// nameOf returns the word of v, and for what is none the type with the number.
func nameOf[T word](words []string, v T, typ string) string {
	if v == 0 || int(v) >= len(words) {
		return fmt.Sprintf("%s(%d)", typ, v)
	}
	return words[v]
}

// textOf is MarshalText of such a type; the noun says what a value is.
func textOf[T word](words []string, v T, noun string) ([]byte, error) {
	if v == 0 || int(v) >= len(words) {
		return nil, fmt.Errorf("%d is no %s", v, noun)
	}
	return []byte(words[v]), nil
}

// parseWord is UnmarshalText of such a type.
func parseWord[T word](words []string, text []byte, to *T, noun string) error {
	at := slices.Index(words[1:], string(text))
	if at < 0 {
		return fmt.Errorf("%q is no %s", text, noun)
	}
	*to = T(at + 1)
	return nil
}

// allOf returns the values of such a type.
func allOf[T word](words []string) []T {
	all := make([]T, len(words)-1)
	for i := range all {
		all[i] = T(i + 1)
	}
	return all
}

// stateIn is nameOf for the state that a record is in, and nothing for a record that is new.
func stateIn[T word](names []string, state T) string {
	if state == 0 {
		return ""
	}
	return nameOf(names, state, "State")
}

// stateOf returns the state that a refusal of the machine names.
func stateOf[T word](names []string, machine string, err error) (state T, ok bool) {
	var r *Refusal
	ok = errors.As(err, &r) && r.Machine == machine && parseWord(names, []byte(r.State), &state, "state") == nil
	return state, ok
}
