package fsmimpl

import (
	"context"
	"encoding"
	"fmt"
)

// word is a type of generated constants: 1, 2, 3 ... in the order of a table of
// words, which has nothing at 0.
type word interface{ ~uint8 | ~uint16 }

// Name returns the word of v, and for what is none the type with the number.
func Name[T word](words []string, v T, typ string) string {
	if v == 0 || int(v) >= len(words) {
		return unknown(typ, int(v))
	}
	return words[v]
}

// InState is Name of the state that a record is in, and nothing of a record that is new.
func InState[T word](names []string, state T) string {
	if i := int(state); i < len(names) {
		return names[i]
	}
	return unknown("State", int(state))
}

func unknown(typ string, v int) string { return fmt.Sprintf("%s(%d)", typ, v) }

// Text is MarshalText of such a type; the noun says what a value is.
func Text[T word](words []string, v T, noun string) ([]byte, error) {
	if v == 0 || int(v) >= len(words) {
		return nil, fmt.Errorf("%d is not a %s", v, noun)
	}
	return []byte(words[v]), nil
}

// Parse is UnmarshalText of such a type.
func Parse[T word](words []string, text []byte, to *T, noun string) error {
	for i, w := range words {
		if i > 0 && w == string(text) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q; expected %s", noun, text, expected(words[1:]))
}

// StateOf returns the state of the machine's record that an error names: the first one
// in its chain whose InState names the machine.
func StateOf[T word](names []string, machine string, err error) (state T, ok bool) {
	if in, is := err.(interface {
		InState() (machine, state string)
	}); is {
		if of, name := in.InState(); of == machine && name != "" && Parse(names, []byte(name), &state, "state") == nil {
			return state, true
		}
	}
	var behind []error
	switch err := any(err).(type) {
	case interface{ Unwrap() error }:
		behind = []error{err.Unwrap()}
	case interface{ Unwrap() []error }:
		behind = err.Unwrap()
	}
	for _, err := range behind {
		if state, ok := StateOf[T](names, machine, err); ok {
			return state, true
		}
	}
	return 0, false
}

// expected lists words, unless they are many.
func expected(words []string) string {
	const many = 12
	if len(words) > many {
		return fmt.Sprint(len(words), " words that the specification lists")
	}
	text := words[0]
	for i, w := range words[1:] {
		if i == len(words)-2 {
			text += " or " + w
		} else {
			text += ", " + w
		}
	}
	return text
}

// All returns the values of such a type.
func All[T word](words []string) []T {
	all := make([]T, len(words)-1)
	for i := range all {
		all[i] = T(i + 1)
	}
	return all
}

// Words returns the stored words of values; nil of none.
func Words[T any](stored func(T) string, values []T) []string {
	if len(values) == 0 {
		return nil
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = stored(v)
	}
	return words
}

// Count counts records by state: count takes and gives stored words.
func Count[T word](ctx context.Context, count func(context.Context, ...string) (map[string]int64, error), stored func(T) string, states []T) (map[T]int64, error) {
	words := Words(stored, states)
	byWord, err := count(ctx, words...)
	if err != nil {
		return nil, err
	}
	counts := make(map[T]int64, len(states))
	for i, s := range states {
		counts[s] = byWord[words[i]]
	}
	return counts, nil
}

// textual is a type that reads its stored word.
type textual[T any] interface {
	*T
	encoding.TextUnmarshaler
}
