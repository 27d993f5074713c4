package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

const doorOf = `fsm: 1
machine: door
entity: Door
otherwise: reject
%sfields:
  other: optional string
  f: {type: %s, default: %s}
states: {open: {}}
operations:
  make: {creates: open}
  paint: {from: open, to: same, set: {f: input}}
`

func TestDefaults(t *testing.T) {
	for _, tt := range []struct{ typ, text, want string }{
		{"int", "5", "f = 5"},
		{"int -3..", "-3", "f = -3"},
		{"bool", "true", "f = true"},
		{"low|high", "high", "f = word high"},
		{"string", "front desk", `f = "front desk"`},
		{"string", "'5'", `f = "5"`},
		{"string", `"it's"`, `f = "it's"`},
		{"time", "2026-01-31T12:00:00.1234567+01:00", `f = "2026-01-31T11:00:00.123456Z"`},
		{"json", "'{\"a\": [1]}'", `f = "{\"a\":[1]}"`},
	} {
		m, found := spec.Parse("door.yaml", fmt.Appendf(nil, doorOf, "", tt.typ, tt.text))
		if m == nil {
			t.Errorf("%s, default %s: %v", tt.typ, tt.text, found)
			continue
		}
		set := m.Operations[0].Effects.Set
		if len(set) != 1 || !set[0].Default || spec.AssignText(set[0]) != tt.want {
			t.Errorf("%s, default %s: the creation sets %+v, expected %s", tt.typ, tt.text, set, tt.want)
		}
		if sets := m.Operations[1].Effects.Set; len(sets) != 1 {
			t.Errorf("%s: paint sets %+v", tt.typ, sets)
		}
	}
}

func TestDefaultsThatAreNone(t *testing.T) {
	for _, tt := range []struct{ head, typ, text, want string }{
		{"", "int 1..9", "10", "7:32: error: default of field f: 10 is outside the bounds of the field [FSM015]"},
		{"", "int", "'10'", `"10" is not a whole number [FSM015]`},
		{"", "int", "99999999999999999999", "is too large [FSM015]"},
		{"", "bool", "yes", `"yes" is not a boolean [FSM015]`},
		{"", "low|high", "middle", `"middle" is none of its words [FSM015]`},
		{"", "string", "''", "it is empty [FSM015]"},
		{"", "string", "5", "5 is not a text [FSM015]"},
		{"", "string", "[a]", "default of field f: expected a constant instead of a list [FSM002]"},
		{"", "time", "tomorrow", `"tomorrow" is not a time [FSM015]`},
		{"", "time", "0001-01-01T00:00:00Z", "is not a time [FSM015]"},
		{"", "json", "'{'", `"{" is not JSON [FSM015]`},
		{"", "json", `'{"a":["\u0000"]}'`, `holds a NUL character [FSM015]`},
		{"", "json", "'" + strings.Repeat("[", 101) + strings.Repeat("]", 101) + "'", "is not JSON [FSM015]"},
		{"", "optional int", "1", "`default` does not go with `optional`: the field starts absent [FSM021]"},
		{"", "counter", "1", "`default` does not go with a counter: it starts at 0 [FSM021]"},
		{"", "set", "a", "`default` does not go with a set: it starts empty [FSM021]"},
		{"", "sequence", "1", "`default` does not go with a sequence: the store gives its number [FSM021]"},
		{"invariant: [f < 5]\n", "int", "5", "the invariant `f < 5` does not hold for it [FSM015]"},
		{"invariant: [f != high]\n", "low|high", "high", "the invariant `f != high` does not hold for it [FSM015]"},
	} {
		_, found := spec.Parse("door.yaml", fmt.Appendf(nil, doorOf, tt.head, tt.typ, tt.text))
		var texts []string
		for _, d := range found {
			texts = append(texts, d.String())
		}
		if all := strings.Join(texts, "\n"); !strings.Contains(all, tt.want) {
			t.Errorf("%s, default %s: found\n%s\nexpected %s", tt.typ, tt.text, all, tt.want)
		}
	}
}

// A default is a part of what the file means.
func TestDefaultIsPartOfTheMeaning(t *testing.T) {
	hash := func(text string) string {
		m, found := spec.Parse("door.yaml", fmt.Appendf(nil, doorOf, "", "int", text))
		if m == nil {
			t.Fatal(found)
		}
		return m.Hash
	}
	if hash("1") == hash("2") {
		t.Error("the hash does not tell one default from another")
	}
}
