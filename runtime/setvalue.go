package fsm

import (
	"errors"
	"fmt"
)

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
