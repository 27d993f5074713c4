package enginetest

import (
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// A small machine is attacked everywhere, and a large one by all its steps together.
func TestFewReachAll(t *testing.T) {
	t.Parallel()
	for _, states := range []int{manyStates, manyStates + 1, 65} {
		m := &spec.Machine{}
		for range states {
			m.States = append(m.States, &spec.State{})
		}
		want := fewOfMany
		if states <= manyStates {
			want = states
		}
		reached := map[*spec.State]bool{}
		for step := range 4 * states {
			some := few(m, m.States, fmt.Sprint("record-", step))
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
