package difftest

import (
	"strings"
	"testing"
)

// sameGroup lists the mutants of groups and limits that mean the same as the original, with the
// reason.
var sameGroup = map[string]string{
	"loans: acquire: guard few_new: whose place is input.place in place of place": "a creation reads the place as it is being set",
}

// TestGroupMutants lets guards count the records of another value, or up to another number, than
// their machine says. The cases of its generated tests notice each.
func TestGroupMutants(t *testing.T) {
	t.Parallel()
	planted, used := 0, map[string]bool{}
	const owners = "../internal/lab/fuzzmachines/testdata/owners"
	for _, name := range []string{"loans", "allowance", "owners"} {
		name = "../internal/lab/fuzzmachines/testdata/" + name
		asked := generatedCases(t, parsed(t, name))
		for i, mutant := range specMutants(parsed(t, name)) {
			if !strings.Contains(mutant.name, ": whose ") && !strings.Contains(mutant.name, ": fewer than ") &&
				!strings.Contains(mutant.name, "in place of some") && (name != owners || !strings.Contains(mutant.name, ": guard ")) {
				continue
			}
			planted++
			m, original := parsed(t, name), parsed(t, name)
			specMutants(m)[i].apply()
			used[mutant.name] = true
			if got := noticed(original, m, asked); got == (sameGroup[mutant.name] != "") {
				t.Errorf("%s: noticed: %t", mutant.name, got)
			}
		}
	}
	for name := range sameGroup {
		if !used[name] {
			t.Errorf("there is no mutant %s", name)
		}
	}
	if planted < 40 {
		t.Errorf("%d mutants, want 40", planted)
	}
}
