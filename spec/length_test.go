package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

const codeOf = `fsm: 1
machine: door
entity: Door
otherwise: reject
fields:
  code: %s
states: {open: {}}
operations:
  make: {creates: open, set: {code: %s}}
`

func TestLengths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ typ, value, want string }{
		{"string 1..64", "input", "string 1..64"},
		{"string 3..", "input", "string 3.."},
		{" string  3 .. 4 ", "input", "string 3..4"},
		{"optional string 3..3", "input or absent", "optional string 3..3"},
		{"string 4..4", `"'äöüß'"`, "string 4..4"},
	} {
		m, found := spec.Parse("door.yaml", fmt.Appendf(nil, codeOf, "'"+tt.typ+"'", tt.value))
		if m == nil {
			t.Errorf("%s: %v", tt.typ, found)
			continue
		}
		if got := m.Field("code").Type; got.String() != tt.want || !got.HasLength() {
			t.Errorf("%s is %s", tt.typ, got)
		}
	}
}

// What is no length is told, and where there is one way out, the fix of it works.
func TestLengthsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ typ, value, want, fixed string }{
		{"string ..64", "input", "cannot read the bounds of \"string ..64\" [FSM004]", "string 1..64"},
		{"string 64", "input", "cannot read the bounds of", "string 1..64"},
		{"string 0..64", "input", "cannot read the bounds of", "string 1..64"},
		{"optional string ..9", "input or absent", "cannot read the bounds of", "optional string 1..9"},
		{"string 9..3", "input", "the bounds are reversed: 9 is above 3 [FSM021]", "string 3..9"},
		{"string a..b", "input", "cannot read the bounds of", ""},
		{"string 01..2", "input", "cannot read the bounds of", ""},
		{"string 1..0", "input", "cannot read the bounds of", ""},
		{"string ..", "input", "cannot read the bounds of", ""},
		{"string 1..99999999", "input", "no text has 99999999 characters", ""},
		{"string 1..99999999999999999999", "input", "cannot read the bounds of", ""},
		{"set 1..64", "input", "the members of a set have no bounds [FSM004]", "set"},
		{"string 1..3", `"'four'"`, "'four' has 4 characters, and field code is string 1..3 [FSM015]", ""},
		{"string 5..9", `"'four'"`, "'four' has 4 characters, and field code is string 5..9 [FSM015]", ""},
	} {
		src := fmt.Appendf(nil, codeOf, tt.typ, tt.value)
		_, found := spec.Parse("door.yaml", src)
		if len(found) != 1 || !strings.Contains(found[0].String(), tt.want) {
			t.Errorf("%s, %s: %v, expected %s", tt.typ, tt.value, found, tt.want)
			continue
		}
		if len(found[0].Fix) == 0 {
			if tt.fixed != "" {
				t.Errorf("%s: no fix, expected %s", tt.typ, tt.fixed)
			}
			continue
		}
		m, again := spec.Parse("door.yaml", fixed(found, src))
		if m == nil || m.Field("code").Type.String() != tt.fixed {
			t.Errorf("%s: the fix makes %v, expected %s", tt.typ, again, tt.fixed)
		}
	}
	for _, tt := range []struct{ typ, text, want string }{
		{"string 1..3", "four", "default of field code: it has 4 characters, and the field is string 1..3 [FSM015]"},
	} {
		_, found := spec.Parse("door.yaml", fmt.Appendf(nil, codeOf, "{type: "+tt.typ+", default: "+tt.text+"}", "input"))
		if len(found) != 1 || !strings.Contains(found[0].String(), tt.want) {
			t.Errorf("default %s: %v, expected %s", tt.text, found, tt.want)
		}
	}
}

func fixed(found []spec.Diagnostic, src []byte) []byte {
	next, _ := spec.Diagnostics(found).Fixed(src)
	return next
}

func TestFitted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ typ, text, want string }{
		{"string", "abc", "abc"},
		{"string 2..4", "abc", "abc"},
		{"string 2..4", "é", "éé"},
		{"string 2..2", "äöü", "öü"},
		{"string 5..", "ab", "abbbb"},
	} {
		m, _ := spec.Parse("door.yaml", fmt.Appendf(nil, codeOf, tt.typ, "input"))
		if got := m.Field("code").Type.Fitted(tt.text); got != tt.want {
			t.Errorf("%q as %s is %q, expected %q", tt.text, tt.typ, got, tt.want)
		}
	}
}
