package driver

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// JSON is one compact JSON text. It is made by ParseJSON or MarshalValue, so it is
// always valid; the zero JSON is no text and stands for nothing given. Two JSON
// values are == when their compact texts are the same bytes.
type JSON struct{ text string }

// ParseJSON checks and compacts a JSON text. Keys and numbers stay as written.
func ParseJSON(text string) (JSON, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return JSON{}, fmt.Errorf("not JSON: %w", err)
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

// RawJSON is ParseJSON without its check, for text that is known to be one compact
// JSON text, as what a log holds is.
func RawJSON(text string) JSON { return JSON{text} }

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
	return fmt.Errorf("cannot read JSON from %T", src)
}

// Value writes a text column.
func (j JSON) Value() (driver.Value, error) { return j.text, nil }
