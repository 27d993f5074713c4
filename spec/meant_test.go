package spec_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// Findings tell each cause of a slip in a sound machine once, and no hint leads to
// a machine that promises less than was meant.
func TestEachCauseOnceAndNoWeakerMachine(t *testing.T) {
	t.Parallel()
	const sound = `fsm: 1
machine: m
entity: M
otherwise: reject
fields: {kind: low|high, size: int, note: optional int, n: {type: counter, changed_by: [change]}, tags: set}
states: {a: {invariant: [kind != high]}, z: {terminal: true}}
guards:
  g: {when: kind == low, error: e}
operations:
  make: {creates: a, set: {kind: low, size: input}}
  change: {from: a, to: same, require: [g], set: {kind: low, size: input}, increment: [n]}
  end: {from: a, to: z}
`
	for _, tt := range []struct {
		swaps  [][2]string
		finds  int
		says   string
		avoids string
	}{
		{nil, 0, "", ""},
		{[][2]string{{"low", "size"}}, 1, "choose another word", "compare terms"},
		{[][2]string{{"size: input}, inc", "size: input or default}, inc"}}, 1,
			"write `input` or `input or same`, or give the field a `default`", "absent"},
		{[][2]string{{"size: input}}\n", "size: input or reject}}\n"}}, 1, "write `input`", "or same"},
		{[][2]string{{"size: input}, inc", "size: note}, inc"}}, 1, "take the value from an input", "size optional"},
		{[][2]string{{"increment: [n]", "increment: [n], decrement: [note]"}}, 1, "make the field a counter", "did you mean"},
		{[][2]string{{"increment: [n]", "increment: [n], remove: {note: input}"}}, 1, "make the field a set", "did you mean"},
		{[][2]string{{"when: kind == low", "most: {same: kind, in: [a]}"}}, 1, "allowed here", "add `when"},
		{[][2]string{{"when: kind == low", "when: not kind == low"}}, 1, "`a != b` for `not a == b`", "x is present`, `x is absent`, `a =="},
		{[][2]string{{"tags: set", "tags: list"}}, 1, "json", `"set"`},
	} {
		src := sound
		for _, s := range tt.swaps {
			src = strings.ReplaceAll(src, s[0], s[1])
		}
		if _, found := spec.Parse("test.yaml", []byte(src)); len(found) != tt.finds ||
			tt.finds > 0 && (!strings.Contains(found[0].Hint, tt.says) || tt.avoids != "" && strings.Contains(found[0].Hint, tt.avoids)) {
			t.Errorf("%q: %d findings, want %d with a hint of %q and not of %q", tt.swaps, len(found), tt.finds, tt.says, tt.avoids)
			for _, d := range found {
				t.Logf("%s %s; hint %s", d.Code, d.Message, d.Hint)
			}
		}
	}
}
