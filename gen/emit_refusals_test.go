package gen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// Each guard of each operation refuses by its name, with the values that it looked at.
func TestGuardsRefuse(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("m.yaml", []byte(`fsm: 1
machine: m
entity: M
otherwise: reject
fields: {n: counter}
guards:
  a_b: {when: n <= 3, error: many}
  b: {when: n <= 3, error: many}
states: {new: {}, old: {}}
operations:
  make: {creates: new}
  start: {from: new, to: old, require: [a_b]}
  start_a:
    from: [new, old]
    require: [b]
    choose:
      - {when: [n == 1], reject: spent}
      - {when: [n == 2], reject: spent}
      - {to: new, increment: [n]}
`))
	if found.HasErrors() {
		t.Fatal(found)
	}
	src := string(generate(t, m, Options{})[0].Data)
	got := regexp.MustCompile(`refuseGuard\("[^)]*\)`).FindAllString(src, -1)
	want := []string{
		`refuseGuard("start", "a_b", "", ErrMany, "n", j.N)`,
		`refuseGuard("start_a", "b", "", ErrMany, "n", j.N)`,
		`refuseGuard("start_a", "spent", "", ErrSpent)`,
		`refuseGuard("start_a", "spent", "", ErrSpent)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if strings.Contains(src, "ErrTerminal") {
		t.Error("a machine without terminal states refuses because of one")
	}
}
