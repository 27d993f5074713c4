package fsmcases

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Vocabulary is one generated enum with its words, or one group of states, ready to
// be tested. It is made by Words or InGroup.
type Vocabulary struct {
	Name string
	Test func(t *testing.T)
}

// Words describes a generated enum: all its values in order, their names, and
// the words under which they are stored. Both are separated by commas, and a word may
// stand in single quotes; empty
// stored words are the names. Each of gone is an old word and the name that it is
// read as, as in "left: done".
func Words[T interface {
	~uint8 | ~uint16
	Valid() bool
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](name string, values []T, names, stored string, gone ...string) Vocabulary {
	return Vocabulary{Name: name, Test: func(t *testing.T) {
		want, words := list(names), list(cmp.Or(stored, names))
		if len(values) != len(want) {
			t.Fatalf("%d values, want %d: %s", len(values), len(want), names)
		}
		for i, v := range values {
			if !v.Valid() || v.String() != want[i] {
				t.Errorf("value %d is %q, valid %t, want %q", i, v, v.Valid(), want[i])
			}
			b, err := json.Marshal(v)
			if want, _ := json.Marshal(words[i]); err != nil || !bytes.Equal(b, want) {
				t.Errorf("%s is written %s (%v), want %s", v, b, err, want)
			}
			var back T
			if err := json.Unmarshal(b, P(&back)); err != nil || back != v {
				t.Errorf("%s is read as %v (%v), want %s", b, back, err, v)
			}
		}
		for _, word := range gone {
			old, now, _ := strings.Cut(word, ": ")
			var v T
			if err := P(&v).UnmarshalText([]byte(old)); err != nil || v.String() != now {
				t.Errorf("%q, which is gone, is read as %v (%v), want %s", old, v, err, now)
			}
		}
		for _, no := range []T{0, T(len(values) + 1), ^T(0)} {
			if text := fmt.Sprintf("%s(%d)", name, uint16(no)); no.Valid() || no.String() != text {
				t.Errorf("%d, which is no word, is %q, valid %t, want %q", uint16(no), no, no.Valid(), text)
			}
		}
		if text, err := T(0).MarshalText(); err == nil {
			t.Errorf("the zero value, which is no word, is written %q", text)
		}
		for _, text := range []string{"", NoWord, words[0] + "?", words[0] + " "} {
			v := values[0]
			if err := P(&v).UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%q is read as %v, want an error", text, v)
			}
		}
	}}
}

// InGroup describes the method that asks whether a state is in a group of the
// specification. The names of the states in it are separated by commas.
func InGroup[T fmt.Stringer](name string, in func(T) bool, states []T, names string) Vocabulary {
	return Vocabulary{Name: name, Test: func(t *testing.T) {
		group := list(names)
		for _, s := range states {
			if want := slices.Contains(group, s.String()); in(s) != want {
				t.Errorf("%s of %s is %t, want %t", name, s, in(s), want)
			}
		}
	}}
}
