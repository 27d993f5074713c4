package enginetest

import (
	"slices"
	"testing"
)

// A guard that fails only on records that break a MUST is one that no case fails at.
func TestMissedLooksAtLawfulRecords(t *testing.T) {
	t.Parallel()
	for fact, want := range map[string]bool{"tries >= 1": true, "tries >= 2": false, "level <= 9": true} {
		said, err := Missed(Table{
			Machine: "demo", RequestID: "required", ExpectedRev: "required",
			Matrix: `
        | (new)   | open      | closed
make    | -> open | .         | .
finish  | .       | -> closed | refused
`,
			Fields: []Field{{Name: "level", Type: "int 0..9"}, {Name: "tries", Type: "counter"}},
			States: []State{{Name: "open", Invariant: []string{"tries >= 1"}}, {Name: "closed", Terminal: true}},
			Guards: []Guard{{Name: "begun", When: []string{fact}, Error: "not_begun"}},
			Operations: []Operation{
				{Name: "make", Increment: "tries"},
				{Name: "finish", By: "operator", Require: "begun"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(said, "finish: no case fails at guard begun"); got != want {
			t.Errorf("begun asks for %s: missed is %t, want %t; %q", fact, got, want, said)
		}
	}
}
