package enginetest

import (
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
)

// A small machine is attacked everywhere, and a large one by all its steps together.
func TestFewReachAll(t *testing.T) {
	t.Parallel()
	for _, states := range []int{manyStates, manyStates + 1, 65} {
		m := &world.Model{Model: &oracle.Model{}}
		for range states {
			m.StateOrder = append(m.StateOrder, &oracle.StateInfo{})
		}
		want := fewOfMany
		if states <= manyStates {
			want = states
		}
		reached := map[*oracle.StateInfo]bool{}
		for step := range 4 * states {
			some := few(m, m.StateOrder, fmt.Sprint("record-", step))
			for _, st := range some {
				reached[st] = true
			}
			if len(some) != want {
				t.Fatalf("%d of %d states at one step, want %d", len(some), states, want)
			}
		}
		if len(reached) != states {
			t.Errorf("all steps together reach %d of %d states", len(reached), states)
		}
	}
}
