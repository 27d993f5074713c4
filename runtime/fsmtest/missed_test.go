package fsmtest

import (
	"slices"
	"testing"
)

// A guard that fails only on records that break a MUST is one that no case fails at.
func TestMissedLooksAtLawfulRecords(t *testing.T) {
	t.Parallel()
	for fact, want := range map[string]bool{"tries >= 1": true, "tries >= 2": false, "level <= 9": true} {
		x := demo
		x.Guards = append(slices.Clone(x.Guards), Guard{Name: "begun", When: []string{fact}, Error: "not_begun"})
		x.Operations = slices.Clone(x.Operations)
		x.Operations[2].Require = "begun"
		x.Matrix = demo.Matrix
		said, err := Missed(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(said, "finish: no case fails at guard begun"); got != want {
			t.Errorf("begun asks for %s: missed is %t, want %t; %q", fact, got, want, said)
		}
	}
}
