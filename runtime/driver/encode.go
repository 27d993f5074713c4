package driver

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// timeLayout is how times stand in events: UTC, always six decimals, so that
// texts sort as the instants do.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// wrapped begins a JSON value that would else be taken for something it is
// not: a present null, which would read as absent, and an object that begins
// like a wrapped value.
const wrapped = `{"$json":`

// Member is one name and value of a JSON object.
type Member struct {
	Name  string
	Kind  Kind
	Value any // as in Row.Values
}

// MemberError says which member cannot be written.
type MemberError struct {
	Name string
	Err  error
}

// Error names the member.
func (e *MemberError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *MemberError) Unwrap() error { return e.Err }

// Object writes members as a compact JSON object, in the order given.
func Object(members []Member) (JSON, error) {
	var space [256]byte
	b, err := appendObject(space[:0], members)
	if err != nil {
		return JSON{}, err
	}
	return JSON{string(b)}, nil
}

// appendObject appends what Object writes.
func appendObject(b []byte, members []Member) (_ []byte, err error) {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(b, m.Name)
		b = append(b, ':')
		if b, err = AppendValue(b, m.Kind, m.Value); err != nil {
			return nil, &MemberError{m.Name, err}
		}
	}
	return append(b, '}'), nil
}

// InputObject writes inputs as a JSON object, after a look at what callers wrote.
func InputObject(inputs []Input) (JSON, error) {
	var some [8]Member
	members := some[:0]
	for _, in := range inputs {
		if text, ok := in.Value.(string); ok && in.Kind == KindJSON {
			if err := checkJSON(text); err != nil {
				return JSON{}, &MemberError{in.Name, err}
			}
		}
		members = append(members, Member{in.Name, in.Kind, in.Value})
	}
	return Object(members)
}

// AppendText appends s as a JSON string: the shortest form of RFC 8785, which
// no version of encoding/json can change under stored fingerprints.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		if from = i + 1; c < 0x20 {
			b = fmt.Appendf(b, `\u%04x`, c)
		} else {
			b = append(b, '\\', c)
		}
	}
	return append(append(b, s[from:]...), '"')
}

// appendTime appends a time in timeLayout. The layout of RFC 3339 takes a third of the time of
// another one.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	b = t.AppendFormat(b, time.RFC3339)
	b[len(b)-1] = '.' // was Z
	micros := t.Nanosecond() / 1000
	for unit := 100_000; unit > 0; unit /= 10 {
		b = append(b, '0'+byte(micros/unit%10))
	}
	return append(b, 'Z')
}

// AppendValue appends a value of Row.Values as JSON; absent is null.
func AppendValue(b []byte, k Kind, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		if k == KindBool {
			return strconv.AppendBool(b, v), nil
		}
	case int64:
		if k == KindInt || k == KindCounter || k == KindSequence {
			return strconv.AppendInt(b, v, 10), nil
		}
	case time.Time:
		if k == KindTime {
			return append(appendTime(append(b, '"'), v), '"'), nil
		}
	case string:
		switch k {
		case KindString, KindEnum:
			if err := CheckText(v); err != nil {
				return nil, err
			}
			return AppendText(b, v), nil
		case KindJSON:
			if !json.Valid([]byte(v)) {
				return nil, fmt.Errorf("not JSON: %q", v)
			}
			if v == "null" || strings.HasPrefix(v, wrapped) {
				b = append(b, wrapped...)
				b = append(b, v...)
				return append(b, '}'), nil
			}
			return append(b, v...), nil
		case KindSet:
			var s Set
			if err := s.UnmarshalJSON([]byte(v)); err != nil {
				return nil, fmt.Errorf("not a set: %q", v)
			}
			return append(b, v...), nil
		}
	}
	return nil, fmt.Errorf("a %T cannot be a value of kind %d", v, k)
}

// DecodeValue is the reverse of AppendValue.
func DecodeValue(k Kind, raw json.RawMessage) (any, error) {
	text := string(raw)
	if text == "null" {
		return nil, nil
	}
	switch k {
	case KindString, KindEnum:
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case KindInt, KindCounter, KindSequence:
		return strconv.ParseInt(text, 10, 64)
	case KindBool:
		return strconv.ParseBool(text)
	case KindTime:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		return Time(t), err
	case KindJSON:
		if strings.HasPrefix(text, wrapped) {
			return strings.TrimSuffix(strings.TrimPrefix(text, wrapped), "}"), nil
		}
		return text, nil
	case KindSet:
		s, err := parseSet(text)
		return setText(s), err
	}
	return nil, fmt.Errorf("no such kind of column: %d", k)
}

func parseSet(text string) (Set, error) {
	var s Set
	err := s.UnmarshalJSON([]byte(text))
	return s, err
}

// setText returns s as it stands in Row.Values.
func setText(s Set) string {
	b, _ := s.MarshalJSON() // strings always marshal
	return string(b)
}

// Members returns the members of a JSON object.
func (j JSON) Members() (map[string]json.RawMessage, error) {
	if j.IsZero() {
		return nil, nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal([]byte(j.text), &m)
	return m, err
}

// Same reports whether two values of Row.Values are the same.
func Same(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	return a == b
}

// SameRow reports whether two rows hold the same.
func SameRow(a, b *Row) bool {
	return a.ID == b.ID && a.State == b.State && a.Rev == b.Rev && a.CreatedAt.Equal(b.CreatedAt) && a.UpdatedAt.Equal(b.UpdatedAt) &&
		slices.EqualFunc(a.Values, b.Values, Same)
}

// sortedKeys returns the keys of a map in bytewise order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
