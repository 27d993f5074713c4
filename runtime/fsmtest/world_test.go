package fsmtest

import "testing"

// A refusal that is recorded only leaves the revision, so the same startup again
// replays it: it takes no second step.
func TestStartupCountsNoReplay(t *testing.T) {
	t.Parallel()
	m, err := compile(Table{
		Machine: "demo", RequestID: "required", ExpectedRev: "required",
		Matrix: `
        | (new)   | open    | closed
make    | -> open | .       | .
recover | .       | -> closed | .
`,
		Fields: []Field{{Name: "level", Type: "int 0..9"}},
		States: []State{{Name: "open"}, {Name: "closed", Terminal: true}},
		Guards: []Guard{{Name: "high", When: []string{"level > 5"}, Error: "low"}},
		Operations: []Operation{
			{Name: "make", Set: []string{"level: 1"}},
			{Name: "recover", By: "system", Triggers: []string{"startup"}, Require: "high", OnRefusal: "record only"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(m)
	w.seed(m.baseRow(m.states["open"]))
	for i, want := range []int{1, 0} {
		if n := w.startup(theNow); n != want {
			t.Errorf("startup %d took %d steps, want %d", i+1, n, want)
		}
	}
}

// A guard that never fails is no mistake of the generated code: the check lets
// one pass that always holds.
func TestGuardThatNeverFails(t *testing.T) {
	t.Parallel()
	o := &operation{require: []*guard{{Guard: Guard{Name: "always", When: []string{"level == level"}}}}}
	(&suite[struct{}]{}).mustHappen(t, o, map[string]int{}, map[string]bool{})
}
