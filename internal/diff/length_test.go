package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// A text that may be less long is looked for in old rows first; a longer one breaks nobody.
func TestLengthOfText(t *testing.T) {
	t.Parallel()
	machine := func(typ string) *spec.Machine {
		m, found := spec.Parse("ticket.yaml", []byte("fsm: 1\nmachine: ticket\nentity: Ticket\notherwise: reject\nfields: {code: "+typ+"}\n"+
			"states: {open: {terminal: true}}\noperations:\n  submit: {creates: open, set: {code: input}}\n"))
		if m == nil || found.HasErrors() {
			t.Fatal(found)
		}
		return m
	}
	for _, c := range []struct{ old, next, want string }{
		{"string", "string 1..64", "FSM706 field code is string 1..64, it was string"},
		{"string 1..64", "string 1..63", "FSM706 field code is string 1..63, it was string 1..64"},
		{"string 1..64", "string 2..64", "FSM706 field code is string 2..64, it was string 1..64"},
		{"string 1..64", "string 1..65", "field code is string 1..65, it was string 1..64"},
		{"string 3..4", "string", "field code is string, it was string 3..4"},
		{"string 2..", "string 1..", "field code is string, it was string 2.."},
		{"string 1..64", "string 2..65", "FSM706 field code is string 2..65, it was string 1..64"},
		{"string", "string 1..", ""},
		{"string 1..64", "string 1..64", ""},
	} {
		r := diff.Machines(machine(c.old), machine(c.next))
		var got []string
		for _, change := range r.Changes {
			if strings.Contains(change.Message, "field code") {
				got = append(got, strings.TrimSpace(change.Code+" "+change.Message))
			}
		}
		if !slices.Equal(got, slices.DeleteFunc([]string{c.want}, func(s string) bool { return s == "" })) {
			t.Errorf("%s becomes %s: told %q, want %q", c.old, c.next, got, c.want)
		}
	}
}
