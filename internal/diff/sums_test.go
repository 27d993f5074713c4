package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// The first sum that reads a field narrows it, and the finding says why; the last one leaves it
// wider, and breaks nobody.
func TestLimitOfSums(t *testing.T) {
	t.Parallel()
	machine := func(typ, fact string) *spec.Machine {
		m, found := spec.Parse("desk.yaml", []byte("fsm: 1\nmachine: desk\nentity: Desk\notherwise: reject\n"+
			"fields: {n: {type: "+typ+"}, k: int 0..9}\n"+
			"states: {open: {invariant: ["+fact+"]}}\noperations:\n  submit: {creates: open, set: {n: input, k: input}}\n"))
		if m == nil || found.HasErrors() {
			t.Fatal(found)
		}
		return m
	}
	for _, c := range []struct{ old, was, next, is, want string }{
		{"int", "n < 9", "int", "n + k < 9", "FSM702 field n is int within the limit of sums (2^60), it was int"},
		{"int 0..", "n < 9", "int 0..", "n + k < 9", "FSM702 field n is int 0.. within the limit of sums (2^60), it was int 0.."},
		{"int", "n + k < 9", "int", "n < 9", "field n is int, it was int within the limit of sums (2^60)"},
		{"int 0..9", "n < 9", "int 0..9", "n + k < 9", ""},
		{"int", "n - k < 9", "int", "n + k < 9", ""},
		{"int", "n + k < 9", "int 0..", "n + k < 9",
			"FSM702 field n is int 0.. within the limit of sums (2^60), it was int within the limit of sums (2^60)"},
	} {
		r := diff.Machines(machine(c.old, c.was), machine(c.next, c.is))
		var got []string
		for _, change := range r.Changes {
			if strings.Contains(change.Message, "field n is") {
				got = append(got, strings.TrimSpace(change.Code+" "+change.Message))
			}
		}
		if !slices.Equal(got, slices.DeleteFunc([]string{c.want}, func(s string) bool { return s == "" })) {
			t.Errorf("%s with %s becomes %s with %s: told %q, want %q", c.old, c.was, c.next, c.is, got, c.want)
		}
	}
}
