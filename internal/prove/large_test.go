package prove_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// Files that no person writes, at the size that parsing lets through, end in
// some seconds with an answer: they are proven, or what is not decided is
// reported.
func TestLargeMachinesEnd(t *testing.T) {
	t.Parallel()
	n := 600
	if campaign.On() {
		n = 2000
	}
	var bounded, inputs []string
	for i := range 5 * n {
		bounded = append(bounded, fmt.Sprintf("  f%d: optional int 0..9", i))
		inputs = append(inputs, fmt.Sprintf("f%d: input", i))
	}
	var chain, numbers, assigned, sets, member, branches, states, names []string
	for i := range n {
		numbers = append(numbers, fmt.Sprintf("  f%d: int", i))
		chain = append(chain, fmt.Sprintf("f%d <= f%d", i, (i+1)%n))
		assigned = append(assigned, fmt.Sprintf("f%d: f%d", i, (i+1)%n))
		sets = append(sets, fmt.Sprintf("  f%d: set\n  g%d: string", i, i))
		member = append(member, fmt.Sprintf("g%d in f%d", i, i*7%n))
		branches = append(branches, fmt.Sprintf("      - {when: n == %d, to: one}", i))
		names = append(names, fmt.Sprintf("s%d", i))
		states = append(states, fmt.Sprintf("  s%d: {present: [a], invariant: [n >= 1, a != b]}", i))
	}
	between := func(fields, facts []string, effect string) string {
		all := strings.Join(facts, ", ")
		return door + "fields:\n" + strings.Join(fields, "\n") + "\nstates:\n  one: {invariant: [" + all + "]}\n  two: {invariant: [" + all + "]}\n" +
			"operations:\n  go: {from: one, to: two, " + effect + "}\n"
	}
	tests := []struct {
		name, src string
		proven    bool
	}{
		{"a long chain, moved along", between(numbers, chain, "set: {"+strings.Join(assigned, ", ")+"}"), true},
		{"a long chain, let alone", between(numbers, chain, "effect: {name: tell}"), true},
		{"many bounded inputs", door + "fields:\n" + strings.Join(bounded, "\n") + "\nstates: {one: {}, two: {}}\noperations:\n  go: {from: one, to: two, set: {" + strings.Join(inputs, ", ") + "}}\n", true},
		{"many sets", between(sets, member, "add: {f0: g0}"), false},
		{"many branches", door + "fields: {n: int}\nstates: {one: {}}\noperations:\n  go:\n    from: one\n    choose:\n" + strings.Join(branches, "\n") + "\n", false},
		{"many transitions", door + "fields: {n: {type: counter, changed_by: []}, a: optional string, b: optional string}\nstates:\n" + strings.Join(states, "\n") +
			"\noperations:\n  go: {from: [" + strings.Join(names, ", ") + "], to: s1}\n  clear: {from: [" + strings.Join(names, ", ") + "], to: s2, set: {a: b}, clear: [b]}\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, found := spec.Parse("large.yaml", []byte(tt.src))
			if m == nil || found.HasErrors() {
				t.Fatalf("%d bytes: %v", len(tt.src), found[:min(3, len(found))])
			}
			start := time.Now()
			r := prove.Machine(m)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			if (len(r.Findings) == 0) != tt.proven {
				t.Errorf("%d findings, want it proven: %t", len(r.Findings), tt.proven)
			}
		})
	}
}
