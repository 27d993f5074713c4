package spec_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// What a hint says must not lead to another machine than was meant.
func TestHintsOfUnreadableFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ guard, says, never string }{
		{"{when: size >= 1 or size <= 3, error: e}", "write `{any: [size >= 1, size <= 3]}`", "two guards of"},
		{"{when: size >= 1 and size <= 3, error: e}", "a list of facts means all of them", "branches"},
		{"{when: size * 2 < 10, error: e}", "write a sum", "now + 1m"},
		{"{when: size-1 < 10, error: e}", "`size - 1`", "now + 1m"},
		{"{when: size -1 < 10, error: e}", "`size - 1`", "now + 1m"},

		{"{when: now > until + 5, error: e}", "`5m` minutes", "`size < 9`"},
		{"{when: now > until + size, error: e}", "`size: duration`", "`size < 9`"},
		{"{when: now > until + 1h30m, error: e}", "write `90m`", "`size < 9`"},
		{"{when: until < 5m, error: e}", "`created_at + 5m`", "of one type"},
		{"{when: size == 1, error: e, message: a text, so this one is over.}", "put the text before it in quotes", "did you mean"},
	} {
		src := "fsm: 1\nmachine: m\nentity: M\notherwise: reject\nfields: {size: int, until: time}\nstates: {a: {}, z: {terminal: true}}\nguards:\n  g: " + c.guard +
			"\noperations:\n  make: {creates: a, set: {size: input, until: input}}\n  end: {from: a, to: z, require: [g]}\n"
		_, found := spec.Parse("test.yaml", []byte(src))
		if len(found) != 1 || !strings.Contains(found[0].Hint, c.says) || strings.Contains(found[0].Hint, c.never) {
			t.Errorf("%s: %v, want a hint with %q and without %q", c.guard, found, c.says, c.never)
			for _, d := range found {
				t.Log(d.Hint)
			}
		}
	}
}
