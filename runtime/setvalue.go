package fsm

import "fmt"

// CheckSet returns an error unless every member of s is a text that stores can
// hold: see CheckText.
func CheckSet(s Set) error {
	for _, item := range s.items {
		if err := CheckText(item); err != nil {
			return fmt.Errorf("member %q: %w", item, err)
		}
	}
	return nil
}

// Text returns s as rows hold it: a sorted JSON array.
func (s Set) Text() string { return setText(s) }
