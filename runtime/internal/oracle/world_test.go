package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// A refusal that is recorded only leaves the revision, so the same startup again
// replays it: it takes no second step.
func TestStartupCountsNoReplay(t *testing.T) {
	t.Parallel()
	m, err := Compile(Table{
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
	w.Seed(m.BaseRow(m.StateByName["open"]))
	for i, want := range []int{1, 0} {
		if n := w.startup(TheNow); n != want {
			t.Errorf("startup %d took %d steps, want %d", i+1, n, want)
		}
	}
}

// noted keeps what a test says instead of saying it.
type noted struct{ errors, logs []string }

func (n *noted) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}
func (n *noted) Logf(format string, args ...any) {
	n.logs = append(n.logs, fmt.Sprintf(format, args...))
}

// A guard that no case fails at is untested, unless the proof says that it can
// refuse nothing, or that it does not know.
func TestGuardThatNeverFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		implied       string
		ways          map[string]int
		alone         map[string]bool
		table         []Witness
		errors, notes int
	}{
		{"untested", "", nil, nil, nil, 1, 0},
		{"implied", "always", nil, nil, nil, 0, 0},
		{"another is implied", "other", nil, nil, nil, 1, 0},
		{"it fails", "", map[string]int{"guard always": 3}, map[string]bool{"always": true}, nil, 0, 0},
		{"it is recorded", "", map[string]int{"record only, guard always": 1}, map[string]bool{"always": true}, nil, 0, 0},
		{"it fails with others only", "", map[string]int{"guard always": 3}, nil, nil, 0, 1},
		{"the witness is decided otherwise", "", nil, nil, []Witness{{Way: "guard always"}}, 1, 0},
		{"nobody knows", "", nil, nil, []Witness{{Way: "guard always", Unknown: "too much to look at"}}, 0, 1},
		{"nothing passes", "always", map[string]int{"move": 0}, nil, nil, 1, 0},
		{"nothing can pass", "always", map[string]int{"move": 0}, nil, []Witness{{Way: "move", Never: "the state is empty"}}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := &Op{Operation: Operation{Implied: tt.implied}, Guards: []*GuardInfo{{Guard: Guard{Name: "always"}}}}
			o.Witnesses = tt.table
			var n noted
			ways := map[string]int{"move": 1}
			maps.Copy(ways, tt.ways)
			MustHappen(&n, o, ways, tt.alone)
			if len(n.errors) != tt.errors || len(n.logs) != tt.notes {
				t.Errorf("errors %q, notes %q", n.errors, n.logs)
			}
		})
	}
}

// What the table calls implied has to be required.
func TestImpliedIsRequired(t *testing.T) {
	t.Parallel()
	x := demo
	x.Operations = slices.Clone(x.Operations)
	x.Operations[1].Implied = "over"
	if _, err := Compile(x); err == nil || !strings.Contains(err.Error(), "not required") {
		t.Errorf("got %v, want an error", err)
	}
}

// The index of `dedupe_by` refuses what another creation puts into its place.
func TestDedupeIsAnIndex(t *testing.T) {
	t.Parallel()
	m, err := Compile(Table{
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
	if e := try("copy", "c"); e.Code != fsm.ErrNotUnique || e.names[0] != "dedupe_make" {
		t.Errorf("the copy is %q %q, want not_unique dedupe_make", e.Code, e.names)
	}
}
