package interp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// ValueKind says what a [Value] holds.
type ValueKind uint8

const (
	// KindAbsent is the kind of the zero Value: there is none.
	KindAbsent ValueKind = iota
	// KindString is text.
	KindString
	// KindInt is a whole number: an int, a counter or a sequence.
	KindInt
	// KindBool is true or false.
	KindBool
	// KindTime is an instant at microsecond precision, in UTC.
	KindTime
	// KindJSON is compact JSON text.
	KindJSON
	// KindSet is a sorted set of strings.
	KindSet
	// KindWord is a word of an enum, under its present name.
	KindWord
	// KindDuration is a length of time in microseconds.
	KindDuration
)

// Value is what a field, an input or a term holds. Values are comparable:
// two values are equal exactly when == says so.
type Value struct {
	Kind ValueKind
	Num  int64  // KindInt; KindBool as 0 or 1; KindTime as microseconds since 1970; KindDuration as microseconds
	Text string // KindString, KindJSON, KindWord; KindSet as a JSON array of the sorted members
}

// Absent is the value of a field that has none.
var Absent Value

// String makes a string value.
func String(s string) Value { return Value{Kind: KindString, Text: s} }

// Int makes an int, counter or sequence value.
func Int(n int64) Value { return Value{Kind: KindInt, Num: n} }

// Bool makes a bool value.
func Bool(b bool) Value {
	if b {
		return Value{Kind: KindBool, Num: 1}
	}
	return Value{Kind: KindBool}
}

// Time makes a time value: UTC, cut to microseconds.
func Time(t time.Time) Value { return Value{Kind: KindTime, Num: cut(t).UnixMicro()} }

// Span makes a duration value of microseconds.
func Span(micros int64) Value { return Value{Kind: KindDuration, Num: micros} }

// JSON makes a json value. The text is compacted; text that is no JSON is kept
// as it is, so that [Accept] can refuse it.
func JSON(text string) Value {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return Value{Kind: KindJSON, Text: text}
	}
	return Value{Kind: KindJSON, Text: b.String()}
}

// Set makes a set value of the members, in any order and with repetitions.
func Set(members ...string) Value {
	sorted := slices.Compact(slices.Sorted(slices.Values(members)))
	if len(sorted) == 0 {
		return Value{Kind: KindSet, Text: "[]"}
	}
	var b []byte
	for i, s := range sorted {
		b = append(b, "[,"[min(i, 1)])
		b = appendMember(b, s)
	}
	return Value{Kind: KindSet, Text: string(append(b, ']'))}
}

// appendMember appends a text of JSON that is one of Go as well. One that is not UTF-8, and that [Accept] has
// yet to refuse, keeps its bytes in the form of Go; encoding/json would replace them.
func appendMember(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		return strconv.AppendQuote(b, s)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// Word makes an enum value.
func Word(name string) Value { return Value{Kind: KindWord, Text: name} }

// IsPresent reports whether there is a value; a set is present when it is not
// empty.
func (v Value) IsPresent() bool {
	switch v.Kind {
	case KindAbsent:
		return false
	case KindSet:
		return v.Text != "[]"
	}
	return true
}

// AsTime returns the instant of a time value.
func (v Value) AsTime() time.Time { return time.UnixMicro(v.Num).UTC() }

// Members returns the sorted members of a set value.
func (v Value) Members() []string {
	if v.Kind != KindSet {
		return nil
	}
	var members []string
	for rest := v.Text[1:]; rest != "" && rest != "]"; {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			panic(fmt.Sprintf("interp: set value %s was not made by Set", v.Text))
		}
		member, _ := strconv.Unquote(quoted) // cannot fail: it is a quoted prefix
		members = append(members, member)
		rest = rest[len(quoted)+1:] // and the comma or bracket after it
	}
	return members
}

// Has reports whether a set value holds the member.
func (v Value) Has(member string) bool { return slices.Contains(v.Members(), member) }

// Covers reports whether set v holds every member of set o.
func (v Value) Covers(o Value) bool {
	for _, member := range o.Members() {
		if !v.Has(member) {
			return false
		}
	}
	return true
}

// Union returns the set with the members of both.
func (v Value) Union(o Value) Value { return Set(append(v.Members(), o.Members()...)...) }

// Without returns the members of set v that are not in set o.
func (v Value) Without(o Value) Value {
	return Set(slices.DeleteFunc(v.Members(), o.Has)...)
}

// Compare orders two values: absent first, then by number, then text by bytes.
func (v Value) Compare(o Value) int {
	return cmp.Or(
		cmp.Compare(min(v.Kind, KindString), min(o.Kind, KindString)), // absent or not
		cmp.Compare(v.Num, o.Num),
		cmp.Compare(v.Text, o.Text),
	)
}

// String returns the value as a message shows it.
func (v Value) String() string {
	switch v.Kind {
	case KindAbsent:
		return "absent"
	case KindInt:
		return strconv.FormatInt(v.Num, 10)
	case KindBool:
		return strconv.FormatBool(v.Num != 0)
	case KindTime:
		return v.AsTime().Format(time.RFC3339Nano)
	case KindDuration:
		return spec.SpanText(v.Num)
	case KindString:
		return strconv.Quote(v.Text)
	}
	return v.Text
}

// cut brings an instant to the precision that every store keeps.
func cut(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
