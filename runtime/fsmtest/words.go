package fsmtest

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Words describes a generated enum: all its values in order, their names, and
// the words under which they are stored. Both are separated by commas; empty
// stored words are the names. Each of gone is an old word and the name that it is
// read as, as in "left: done".
func Words[T interface {
	~uint8 | ~uint16
	Valid() bool
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](name string, values []T, names, stored string, gone ...string) Vocabulary {
	return Vocabulary{Name: name, Test: func(t *testing.T) {
		want, words := list(names), list(cmp.Or(stored, names))
		if len(values) != len(want) {
			t.Fatalf("%d values, want %d: %s", len(values), len(want), names)
		}
		for i, v := range values {
			if !v.Valid() {
				t.Errorf("%s is not valid", want[i])
			}
			if v.String() != want[i] {
				t.Errorf("value %d is %q, want %q", i, v, want[i])
			}
			text, err := v.MarshalText()
			if err != nil || string(text) != words[i] {
				t.Errorf("%s is written %q (%v), want %q", v, text, err, words[i])
			}
			var back T
			if err := P(&back).UnmarshalText([]byte(words[i])); err != nil || back != v {
				t.Errorf("%q is read as %v (%v), want %s", words[i], back, err, v)
			}
			b, err := json.Marshal(map[string]T{"v": v})
			if want := fmt.Sprintf(`{"v":%q}`, words[i]); err != nil || string(b) != want {
				t.Errorf("%s in JSON is %s (%v), want %s", v, b, err, want)
			}
			m := map[string]T{}
			if err := json.Unmarshal(b, &m); err != nil || m["v"] != v {
				t.Errorf("%s read back from JSON is %v (%v)", v, m["v"], err)
			}
		}
		for _, word := range gone {
			old, now, _ := strings.Cut(word, ": ")
			var v T
			if err := P(&v).UnmarshalText([]byte(old)); err != nil || v.String() != now {
				t.Errorf("%q, which is gone, is read as %v (%v), want %s", old, v, err, now)
			}
		}
		for _, no := range []T{0, T(len(values) + 1), ^T(0)} {
			if no.Valid() {
				t.Errorf("%d is valid, but no word", uint16(no))
			}
			if text := fmt.Sprintf("%s(%d)", name, uint16(no)); no.String() != text {
				t.Errorf("%d, which is no word, is %q, want %q", uint16(no), no, text)
			}
		}
		var zero T
		if text, err := zero.MarshalText(); err == nil {
			t.Errorf("the zero value, which is no word, is written %q", text)
		}
		for _, text := range []string{"", "no such word", strings.ToUpper(words[0]), words[0] + " "} {
			v := values[0]
			if err := P(&v).UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%q is read as %v, want an error", text, v)
			}
		}
	}}
}

// list reads names separated by commas.
func list(s string) []string {
	var names []string
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// setOf writes a set as rows hold it.
func setOf(members ...string) string {
	b, err := fsm.NewSet(members...).MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(b)
}

// show prints a value of a row.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}
