package gen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// Each guard of each operation has a ground of its own, whatever the names come
// to when they are put together; a guard that refuses twice has one.
func TestGroundsAreApart(t *testing.T) {
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
	var got []string
	for _, line := range regexp.MustCompile(`(?m)^\tground\w+ += .*Guard: "\w+"`).FindAllString(src, -1) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, rest, _ = strings.Cut(rest, "Operation: ")
		got = append(got, name+": "+rest)
	}
	want := []string{
		`groundStartAB: "start", Guard: "a_b"`,
		`groundStartAB2: "start_a", Guard: "b"`,
		`groundStartASpent: "start_a", Guard: "spent"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("grounds (-want +got):\n%s", diff)
	}
	for _, name := range []string{"groundStartAB", "groundStartAB2", "groundStartASpent"} {
		if !strings.Contains(src, "refuseOn(&"+name+")") {
			t.Errorf("nothing refuses on %s", name)
		}
	}
	if strings.Contains(src, "terminal[op]") {
		t.Error("a machine without terminal states refuses because of one")
	}
}
