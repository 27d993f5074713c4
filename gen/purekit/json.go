package purekit

import (
	"bytes"
	"encoding/json"
)

// JSON is one compact text in the notation of its name, and never null. The zero
// JSON is no text. Two are == when their texts are the same bytes.
type JSON struct{ text string }

// ParseJSON checks and compacts a text. Keys and numbers stay as written, and of
// null it makes the zero JSON.
func ParseJSON(text string) (JSON, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return JSON{}, err
	}
	if b.String() == "null" {
		return JSON{}, nil
	}
	return JSON{b.String()}, nil
}

// MustJSON is ParseJSON for texts that stand in the program; it panics where
// ParseJSON returns an error.
func MustJSON(text string) JSON {
	v, err := ParseJSON(text)
	if err != nil {
		panic(err)
	}
	return v
}

// String returns the text.
func (v JSON) String() string { return v.text }

// IsZero reports whether there is no text.
func (v JSON) IsZero() bool { return v.text == "" }

// Decode stores the value in to, as json.Unmarshal does.
func (v JSON) Decode(to any) error { return json.Unmarshal([]byte(v.text), to) }

// MarshalJSON writes the text, or null when there is none.
func (v JSON) MarshalJSON() ([]byte, error) {
	if v.IsZero() {
		return []byte("null"), nil
	}
	return []byte(v.text), nil
}

// UnmarshalJSON takes any text that ParseJSON takes.
func (v *JSON) UnmarshalJSON(text []byte) (err error) {
	*v, err = ParseJSON(string(text))
	return err
}
