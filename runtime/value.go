package fsm

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Time returns t as records hold it: UTC, cut to microseconds, without a
// monotonic clock. Two such times are the same instant when they are ==.
func Time(t time.Time) time.Time {
	t = t.UTC() // which takes the monotonic clock away, too
	// Truncate divides the whole time since the year 1; the second is enough.
	if rest := t.Nanosecond() % 1000; rest != 0 {
		return t.Add(-time.Duration(rest))
	}
	return t
}

// JSON is one compact JSON text. It is made by ParseJSON or MarshalValue, so it is
// always valid; the zero JSON is no text and stands for nothing given. Two JSON
// values are == when their compact texts are the same bytes.
type JSON struct{ text string }

// ParseJSON checks and compacts a JSON text. Keys and numbers stay as written.
func ParseJSON(text string) (JSON, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return JSON{}, fmt.Errorf("not a JSON text: %w", err)
	}
	return JSON{b.String()}, nil
}

// MustJSON is ParseJSON for texts that stand in the program; it panics on a
// text that is no JSON.
func MustJSON(text string) JSON {
	j, err := ParseJSON(text)
	if err != nil {
		panic(err)
	}
	return j
}

// MarshalValue returns v as JSON.
func MarshalValue(v any) (JSON, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return JSON{}, err
	}
	return ParseJSON(string(b))
}

// String returns the text.
func (j JSON) String() string { return j.text }

// IsZero reports whether j is no text.
func (j JSON) IsZero() bool { return j.text == "" }

// Decode stores the value in v, as json.Unmarshal does.
func (j JSON) Decode(v any) error { return json.Unmarshal([]byte(j.text), v) }

// MarshalJSON writes the text; the zero JSON is null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j.text == "" {
		return []byte("null"), nil
	}
	return []byte(j.text), nil
}

// UnmarshalJSON takes any JSON text, null included.
func (j *JSON) UnmarshalJSON(b []byte) error {
	v, err := ParseJSON(string(b))
	if err != nil {
		return err
	}
	*j = v
	return nil
}

// Scan reads a text column.
func (j *JSON) Scan(src any) error {
	switch s := src.(type) {
	case string:
		return j.UnmarshalJSON([]byte(s))
	case []byte:
		return j.UnmarshalJSON(s)
	}
	return fmt.Errorf("cannot read a JSON text from %T", src)
}

// Value writes a text column.
func (j JSON) Value() (driver.Value, error) { return j.text, nil }

// Set is a sorted set of strings. It never changes, so copies may share it.
// The zero Set is empty.
type Set struct{ items []string }

// NewSet returns the set of the given strings.
func NewSet(items ...string) Set {
	if len(items) == 0 {
		return Set{}
	}
	s := slices.Clone(items)
	slices.Sort(s)
	return Set{slices.Compact(s)}
}

// Has reports whether item is in s.
func (s Set) Has(item string) bool {
	_, ok := slices.BinarySearch(s.items, item)
	return ok
}

// Covers reports whether every member of t is in s.
func (s Set) Covers(t Set) bool {
	for _, item := range t.items {
		if !s.Has(item) {
			return false
		}
	}
	return true
}

// With returns s and item. It returns s itself when item is in it.
func (s Set) With(item string) Set {
	i, ok := slices.BinarySearch(s.items, item)
	if ok {
		return s
	}
	items := make([]string, 0, len(s.items)+1)
	items = append(append(append(items, s.items[:i]...), item), s.items[i:]...)
	return Set{items}
}

// Without returns the members of s that are not in t.
func (s Set) Without(t Set) Set {
	var items []string
	for _, item := range s.items {
		if !t.Has(item) {
			items = append(items, item)
		}
	}
	return Set{items}
}

// Len returns the number of members.
func (s Set) Len() int { return len(s.items) }

// IsZero reports whether s is empty.
func (s Set) IsZero() bool { return len(s.items) == 0 }

// Items returns a copy of the members, sorted bytewise.
func (s Set) Items() []string { return slices.Clone(s.items) }

// Equal reports whether both sets have the same members.
func (s Set) Equal(t Set) bool { return slices.Equal(s.items, t.items) }

// String returns the members between braces.
func (s Set) String() string { return "{" + strings.Join(s.items, ", ") + "}" }

// MarshalJSON writes a sorted array.
func (s Set) MarshalJSON() ([]byte, error) {
	if s.items == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(s.items)
}

// UnmarshalJSON reads an array of strings in any order.
func (s *Set) UnmarshalJSON(b []byte) error {
	var items []string
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	*s = NewSet(items...)
	return nil
}

// Scan reads a text column that holds a JSON array.
func (s *Set) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s = Set{}
		return nil
	case string:
		return s.UnmarshalJSON([]byte(v))
	case []byte:
		return s.UnmarshalJSON(v)
	}
	return fmt.Errorf("cannot read a set from %T", src)
}

// Value writes a text column that holds a JSON array.
func (s Set) Value() (driver.Value, error) {
	b, err := s.MarshalJSON()
	return string(b), err
}
