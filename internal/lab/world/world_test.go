package world

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// A refusal that is recorded only leaves the revision, so the same startup again
// replays it: it takes no second step.
func TestStartupCountsNoReplay(t *testing.T) {
	t.Parallel()
	m, err := Compile(oracle.Table{
		Machine: "demo", RequestID: "required", ExpectedRev: "required",
		Matrix: `
        | (new)   | open    | closed
make    | -> open | .       | .
recover | .       | -> closed | .
`,
		Fields: []oracle.Field{{Name: "level", Type: "int 0..9"}},
		States: []oracle.State{{Name: "open"}, {Name: "closed", Terminal: true}},
		Guards: []oracle.Guard{{Name: "high", When: []string{"level > 5"}, Error: "low"}},
		Operations: []oracle.Operation{
			{Name: "make", Set: []string{"level: 1"}},
			{Name: "recover", By: "system", Triggers: []string{"startup"}, Require: "high", OnRefusal: "record only"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(m)
	w.Seed(m.BaseRow(m.StateByName["open"]))
	for i, want := range []int{1, 0} {
		if n := w.startup(oracle.TheNow); n != want {
			t.Errorf("startup %d took %d steps, want %d", i+1, n, want)
		}
	}
}

// The index of `dedupe_by` refuses what another creation puts into its place.
func TestDedupeIsAnIndex(t *testing.T) {
	t.Parallel()
	m, err := Compile(oracle.Table{
		Machine: "demo", RequestID: "none", ExpectedRev: "none",
		Matrix: `
        | (new)   | open
make    | -> open | .
copy    | -> open | .
`,
		Fields: []oracle.Field{{Name: "level", Type: "int 0..9"}},
		States: []oracle.State{{Name: "open", Terminal: true}},
		Operations: []oracle.Operation{
			{Name: "make", Set: []string{"level: 1"}, Dedupe: "level"},
			{Name: "copy", Set: []string{"level: 1"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(m)
	try := func(name, id string) Expected {
		o := m.OpNamed(name)
		c := m.BaseCall(o)
		c.ID = id
		return w.Create(o, c)
	}
	if e := try("make", "a"); e.Code != "" || e.Existing {
		t.Fatalf("the first is refused: %s", e.Code)
	}
	if e := try("make", "b"); !e.Existing {
		t.Errorf("the second is %q, want the existing one", e.Code)
	}
	if e := try("copy", "c"); e.Code != fsm.ErrNotUnique || e.Names[0] != "dedupe_make" {
		t.Errorf("the copy is %q %q, want not_unique dedupe_make", e.Code, e.Names)
	}
}

// A branch without a condition takes every record that comes to it: what stands
// below it is no way of the operation.
func TestWaysEndAtABranchThatTakesAll(t *testing.T) {
	t.Parallel()
	m, err := Compile(oracle.Table{
		Machine: "grant", RequestID: "none", ExpectedRev: "none",
		Matrix: `
     | (new)      | pending | approved | redeemed
make | -> pending | .       | .        | .
poll | .          | choose  | choose   | refused
`,
		States: []oracle.State{{Name: "pending"}, {Name: "approved"}, {Name: "redeemed", Terminal: true}},
		Operations: []oracle.Operation{
			{Name: "make"},
			{Name: "poll", Choose: []oracle.Branch{{From: "approved", To: "redeemed"}, {To: "same"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range m.AllWays() {
		got = append(got, w.String())
	}
	want := []string{"make to pending", "poll from pending to pending", "poll from approved to redeemed"}
	if !slices.Equal(got, want) {
		t.Errorf("ways %q, want %q", got, want)
	}
}
