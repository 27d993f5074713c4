package driver

import (
	"encoding/json"
	"fmt"
)

// emptySet is the stored form of a set without members.
const emptySet = "[]"

// SetChange is what an event says of a set that lost members and has others.
type SetChange struct {
	Came Set `json:"came"`
	Gone Set `json:"gone"`
}

// ReadSetChange reads what an event says of a set: an array of the members that came, an
// object where some went, and null where it is empty.
func ReadSetChange(raw json.RawMessage) (c SetChange, empty bool, err error) {
	switch text := string(raw); {
	case text == "null":
		return c, true, nil
	case text != "" && text[0] == '{':
		err = json.Unmarshal(raw, &c)
	default:
		c.Came, err = parseSet(text)
	}
	return c, false, err
}

// changedSet is the stored form of a set after what an event says of it.
func changedSet(old any, raw json.RawMessage) (any, error) {
	c, empty, err := ReadSetChange(raw)
	if empty || err != nil {
		return emptySet, err
	}
	s, err := parseSet(old.(string))
	if err != nil {
		return nil, err
	}
	s = s.Without(c.Gone)
	for _, item := range c.Came.Items() {
		s = s.With(item)
	}
	return setText(s), nil
}

// setChange is the member of an event for a set.
func setChange(name string, old, next any) (Member, error) {
	o, _ := old.(string) // a set is never absent, and no text is no set
	n, _ := next.(string)
	a, err := parseSet(o)
	if err != nil {
		return Member{}, err
	}
	b, err := parseSet(n)
	if err != nil {
		return Member{}, err
	}
	came, gone := b.Without(a), a.Without(b)
	switch {
	case b.IsZero():
		return Member{name, KindSet, nil}, nil
	case gone.IsZero():
		return Member{name, KindSet, setText(came)}, nil
	}
	return Member{name, KindJSON, fmt.Sprintf(`{"came":%s,"gone":%s}`, setText(came), setText(gone))}, nil
}
