package gen

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// ring writes a machine of n states, each with an operation to the next one.
func ring(n int) string {
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: ring\nentity: Ring\notherwise: reject\nstates:\n")
	for i := range n {
		fmt.Fprintf(&b, "  s%d: {}\n", i)
	}
	b.WriteString("operations:\n  make: {creates: s0}\n")
	for i := range n {
		fmt.Fprintf(&b, "  go%d: {from: s%d, to: s%d}\n", i, i, (i+1)%n)
	}
	return b.String()
}

// The work of generating grows with the machine, not with its square. It is
// counted in allocated bytes, for times say nothing on a busy machine. The matrix,
// which has states times operations as cells, is a small part of it here.
func TestGrowth(t *testing.T) { // not parallel: allocations of other tests would be counted
	work := func(n int) float64 {
		m, found := spec.Parse("ring.yaml", []byte(ring(n)))
		if found.HasErrors() {
			t.Fatal(found)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Generate(m, Options{}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	work(10) // what is made once only
	small, large := work(100), work(400)
	if ratio := large / small; ratio > 5 {
		t.Errorf("four times the states take %.1f times the memory (%.0f and %.0f bytes)", ratio, small, large)
	}
}

// What thousands of handles call is not copied into each of them; small machines say nothing of it.
func TestCallsOfLargeMachines(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{manyStates - 1: 0, manyStates: manyStates + 1} {
		m, found := spec.Parse("ring.yaml", []byte(ring(n)))
		if found.HasErrors() {
			t.Fatal(found)
		}
		files, err := Generate(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, f := range files {
			got += strings.Count(string(f.Data), "\n//go:noinline\nfunc ")
		}
		if got != want {
			t.Errorf("%d states: %d functions are not inlined, want %d", n, got, want)
		}
	}
}
