package driver

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

// CheckSet returns an error unless every member of s can be an input: a text that
// stores can hold, see CheckText, and not an empty one, as a mandatory string is not.
func CheckSet(s Set) error {
	for _, item := range s.items {
		if item == "" {
			return errors.New("a member is empty")
		}
		if err := CheckText(item); err != nil {
			return fmt.Errorf("member %q: %w", item, err)
		}
	}
	return nil
}

// Text returns s as rows hold it: a sorted JSON array.
func (s Set) Text() string { return setText(s) }
