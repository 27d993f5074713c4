package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// The search knows exactly when another record is there: who may come only beside somebody comes never where nobody
// is first, and what is refused to the last one is seen.
func TestSome(t *testing.T) {
	t.Parallel()
	for first, want := range map[string][]string{
		"":                               {"join", "leave", "rest"},
		"found: {creates: active, SET}":  nil,
		"found: {creates: resting, SET}": {"join", "leave", "rest"}, // nobody is active, so nobody joins
	} {
		text := strings.ReplaceAll(strings.Replace(`
fsm: 1
machine: owner
entity: Owner
otherwise: reject
fields: {account: string}
states: {active: {}, resting: {}, left: {terminal: true}}
guards: {another: {some: {same: account, in: [active]}, error: last_owner}}
operations:
  FIRST
  join: {creates: active, require: [another], SET}
  rest: {from: active, to: resting, require: [another]}
  leave: {from: active, to: left, require: [another]}
`, "FIRST", first, 1), "SET", "set: {account: input}")
		m, found := spec.Parse("owner.yaml", []byte(text))
		if m == nil || found.HasErrors() {
			t.Fatal(found)
		}
		r := Check(m, Options{})
		if r.Violation != nil {
			t.Fatal(r.Violation.What)
		}
		var never []string
		for _, x := range r.Missing {
			for _, o := range m.Operations {
				if strings.Contains(x.What, o.Name) && !slices.Contains(never, o.Name) {
					never = append(never, o.Name)
				}
			}
		}
		slices.Sort(never)
		if !slices.Equal(never, want) {
			t.Errorf("%q: %q never happen, want %q (%v)", first, never, want, r.Missing)
		}
		if refuses := !slices.ContainsFunc(r.Missing, func(x Missing) bool { return x.What == "a refusal by guard another" }); !refuses {
			t.Errorf("%q: the guard never refuses", first)
		}
	}
}
