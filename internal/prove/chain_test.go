package prove_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// ordered writes a machine whose fields are in an order, as invariants of the
// machine or of a state, with an operation that moves each field within its
// neighbours; the one without is not guarded.
func ordered(n int, of, optional, less string, without int) string {
	join := func(from, to int, write func(i int) string) string {
		var list []string
		for i := from; i < to; i++ {
			list = append(list, write(i))
		}
		return strings.Join(list, ", ")
	}
	var b strings.Builder
	b.WriteString(door + "fields:\n")
	for i := range n {
		fmt.Fprintf(&b, "  f%d: %sint\n", i, optional)
	}
	order := join(1, n, func(i int) string { return fmt.Sprintf("f%d %s f%d", i-1, less, i) })
	if of == "machine" {
		fmt.Fprintf(&b, "invariant: [%s]\nstates: {open: {}}\n", order)
	} else {
		fmt.Fprintf(&b, "states:\n  open: {invariant: [%s]}\n", order)
	}
	fmt.Fprintf(&b, "guards:\n  sorted: {when: [%s], error: disorder}\n",
		join(1, n, func(i int) string { return fmt.Sprintf("input.f%d %s input.f%d", i-1, less, i) }))
	for i := 1; i < n-1; i++ {
		fmt.Fprintf(&b, "  g%d: {when: [f%d %s input.f%d, input.f%d %s f%d], error: e%d}\n", i, i-1, less, i, i, less, i+1, i)
	}
	fmt.Fprintf(&b, "operations:\n  make: {creates: open, require: [sorted], set: {%s}}\n", join(0, n, func(i int) string { return fmt.Sprintf("f%d: input", i) }))
	for i := 1; i < n-1; i++ {
		require := fmt.Sprintf("require: [g%d], ", i)
		if i == without {
			require = ""
		}
		fmt.Fprintf(&b, "  o%d: {from: open, to: same, %sset: {f%d: input}}\n", i, require, i)
	}
	return b.String()
}

// A chain of facts is decided however long it is: a sound one has no finding, and one
// link that is missing is found, with a record.
func TestChainsAreDecided(t *testing.T) {
	t.Parallel()
	sizes := []int{10, 80}
	if campaign.On() {
		sizes = []int{10, 160, 400}
	}
	for _, n := range sizes {
		for _, of := range []string{"machine", "state"} {
			for _, optional := range []string{"", "optional "} {
				for _, less := range []string{"<", "<=", "=="} {
					for _, without := range []int{0, n / 2} {
						m, found := spec.Parse("chain.yaml", []byte(ordered(n, of, optional, less, without)))
						if m == nil || found.HasErrors() {
							t.Fatal(found[:1])
						}
						var got []string
						for _, f := range prove.Machine(m).Findings {
							got = append(got, f.Message)
							if f.Example == nil {
								t.Errorf("%d fields: %s has no example", n, f.Message)
							}
						}
						var want []string
						if without > 0 {
							for _, i := range []int{without, without + 1} {
								want = append(want, fmt.Sprintf("o%d: open -> open can leave `f%d %s f%d` false", without, i-1, less, i))
							}
						}
						if fmt.Sprint(got) != fmt.Sprint(want) {
							t.Errorf("%d fields of %s, %sint, %s: found %q, want %q", n, of, optional, less, got, want)
						}
					}
				}
			}
		}
	}
}
