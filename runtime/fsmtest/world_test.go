package fsmtest

import (
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

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

// The index of `dedupe_by` refuses what another creation puts into its place.
func TestDedupeIsAnIndex(t *testing.T) {
	t.Parallel()
	m, err := compile(Table{
		Machine: "demo", RequestID: "none", ExpectedRev: "none",
		Matrix: `
        | (new)   | open
make    | -> open | .
copy    | -> open | .
`,
		Fields: []Field{{Name: "level", Type: "int 0..9"}},
		States: []State{{Name: "open", Terminal: true}},
		Operations: []Operation{
			{Name: "make", Set: []string{"level: 1"}, Dedupe: "level"},
			{Name: "copy", Set: []string{"level: 1"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(m)
	try := func(name, id string) expected {
		o := m.operation(name)
		c := m.baseCall(o)
		c.ID = id
		return w.create(o, c)
	}
	if e := try("make", "a"); e.code != "" || e.existing {
		t.Fatalf("the first is refused: %s", e.code)
	}
	if e := try("make", "b"); !e.existing {
		t.Errorf("the second is %q, want the existing one", e.code)
	}
	if e := try("copy", "c"); e.code != fsm.CodeNotUnique || e.names[0] != "dedupe_make" {
		t.Errorf("the copy is %q %q, want not_unique dedupe_make", e.code, e.names)
	}
}
