package purekit

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Set is a sorted set of strings. It never changes, and two sets of the same
// members are ==. The zero Set is empty.
type Set struct {
	text string // the members, each quoted and with a comma behind it
}

// NewSet returns the set of the given strings.
func NewSet(items ...string) Set {
	var text []byte
	for _, item := range slices.Compact(slices.Sorted(slices.Values(items))) {
		text = append(strconv.AppendQuote(text, item), ',')
	}
	return Set{string(text)}
}

// Items returns the members, sorted.
func (s Set) Items() []string {
	items := []string{}
	for rest := s.text; rest != ""; {
		quoted, _ := strconv.QuotedPrefix(rest)
		item, _ := strconv.Unquote(quoted)
		items = append(items, item)
		rest = rest[len(quoted)+1:]
	}
	return items
}

// Has reports whether item is in s.
func (s Set) Has(item string) bool { return slices.Contains(s.Items(), item) }

// Covers reports whether every member of t is in s.
func (s Set) Covers(t Set) bool { return NewSet(append(s.Items(), t.Items()...)...) == s }

// Equal reports whether both sets have the same members, as == does.
func (s Set) Equal(t Set) bool { return s == t }

// With returns s and item.
func (s Set) With(item string) Set { return NewSet(append(s.Items(), item)...) }

// Without returns the members of s that are not in t.
func (s Set) Without(t Set) Set { return NewSet(slices.DeleteFunc(s.Items(), t.Has)...) }

// Len returns the number of members.
func (s Set) Len() int { return len(s.Items()) }

// IsZero reports whether s is empty.
func (s Set) IsZero() bool { return s.text == "" }

// String returns the members between braces.
func (s Set) String() string { return "{" + strings.Join(s.Items(), ", ") + "}" }

// MarshalJSON writes a sorted array.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Items()) }

// UnmarshalJSON reads an array of strings in any order.
func (s *Set) UnmarshalJSON(text []byte) error {
	var items []string
	err := json.Unmarshal(text, &items)
	*s = NewSet(items...)
	return err
}
