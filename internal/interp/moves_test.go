package interp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// The moves that a specification lists are those that the interpreter makes:
// none is missing, and none is listed that a branch above makes impossible.
// Every `when` of the random branches has an input of its own, so each
// combination of them is tried.
func TestMovesAreThoseOfTheInterpreter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		src := randomBranches(rand.New(rand.NewPCG(seed, 13)))
		m, found := spec.Parse("test.yaml", []byte(src))
		if m == nil || found.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, found, src)
		}
		var listed, made []string
		for _, v := range m.Moves() {
			listed = append(listed, moveText(v.Operation, v.Source(), v.To))
		}
		for _, o := range m.Operations {
			sources := []*spec.State{nil}
			if len(o.Creates) == 0 {
				sources = m.States
			}
			for _, s := range sources {
				for bits := range 1 << len(o.Inputs) {
					inputs := map[string]interp.Value{}
					for i, in := range o.Inputs {
						inputs[in.Name] = interp.Bool(bits>>i&1 == 1)
					}
					r := interp.NewRecord(m, "a")
					r.State = s
					d, refusal := interp.Decide(m, r, interp.Call{Op: o, ID: "a", At: t0, Inputs: inputs}, interp.Others{})
					if refusal == nil && !d.RecordOnly {
						made = append(made, moveText(o, s, d.To))
					}
				}
			}
		}
		for _, list := range []*[]string{&listed, &made} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if diff := cmp.Diff(made, listed); diff != "" {
			t.Fatalf("seed %d: -made +listed\n%s\n%s", seed, diff, src)
		}
	}
}

func moveText(o *spec.Operation, from, to *spec.State) string {
	if from == nil {
		return o.Name + ": " + to.Name
	}
	return o.Name + ": " + from.Name + " -> " + to.Name
}

// randomBranches writes a machine of operations with branches of every form.
func randomBranches(r *rand.Rand) string {
	states := []string{"a", "b", "c", "d"}
	some := func(list []string) []string {
		var out []string
		for _, i := range r.Perm(len(list))[:1+r.IntN(len(list))] {
			out = append(out, list[i])
		}
		return out
	}
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: m\nentity: M\nrequests: {request_id: none, expected_rev: none}\notherwise: reject\nstates: {a: {}, b: {}, c: {}, d: {}}\noperations:\n")
	for i := range 4 {
		sources := some(states)
		creation := i == 0
		key := "from"
		if creation {
			key, sources = "creates", states
		}
		branches, inputs := "", ""
		for k := range 1 + r.IntN(5) {
			from, when := "", ""
			if !creation && r.IntN(2) == 0 {
				from = "from: [" + strings.Join(some(sources), ", ") + "], "
			}
			if r.IntN(2) == 0 {
				when = fmt.Sprintf("when: input.x%d == true, ", k)
				inputs += fmt.Sprintf("      x%d: bool\n", k)
			}
			end := "to: " + states[r.IntN(4)]
			switch n := r.IntN(6); {
			case n == 0:
				end = "reject: not_now"
			case n == 1 && !creation:
				end = "record_only: true"
			case n == 2 && !creation:
				end = "to: same"
			}
			branches += fmt.Sprintf("      - {%s%s%s}\n", from, when, end)
		}
		fmt.Fprintf(&b, "  o%d:\n    %s: [%s]\n", i, key, strings.Join(sources, ", "))
		if inputs != "" {
			b.WriteString("    input:\n" + inputs)
		}
		b.WriteString("    choose:\n" + branches)
	}
	return b.String()
}
