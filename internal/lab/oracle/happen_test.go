package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

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
