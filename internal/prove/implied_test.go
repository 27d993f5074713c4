package prove_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// A guard is implied when it follows in every state that is left, from the
// state and from the guards before it.
func TestImplied(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("door.yaml", []byte(door+`
fields:
  n: int 0..9
  most: int
  owner: optional string
states:
  open: {}
  held: {present: [owner], invariant: [n >= 5]}
  shut: {present: [owner]}
guards:
  itself: {when: n == n, error: a}
  bounded: {when: [n >= 0, n <= 9], error: b}
  blank: {when: owner is absent, error: c0}
  owned: {when: owner is present, error: c}
  mine: {when: owner == actor, error: d}
  high: {when: n > 4, error: e}
  higher: {when: n >= 5, error: f}
  lonely: {none: {same: owner, in: [held]}, error: g}
  huge: {when: most < 99999999999999999, error: h}
operations:
  add: {creates: open, require: [blank, bounded], set: {n: input, most: input}}
  all: {from: [open, held, shut], to: same, require: [itself, bounded, owned, high, higher, huge]}
  two: {from: [held, shut], to: same, require: [owned, high]}
  one: {from: held, to: same, require: [high, mine, owned, lonely]}
  after: {from: open, to: same, require: [mine, owned, higher, high]}
`))
	if m == nil || found.HasErrors() {
		t.Fatal(found)
	}
	got := map[string]string{}
	for _, op := range m.Operations {
		var names []string
		for _, g := range prove.Implied(m, op) {
			names = append(names, g.Name)
		}
		got[op.Name] = strings.Join(names, " ")
	}
	want := map[string]string{
		"add": "blank", "all": "itself bounded higher", "two": "owned", "one": "high owned", "after": "owned high",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("implied (-want +got):\n%s", diff)
	}
}
