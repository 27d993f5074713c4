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
		`refuseGuard("start", "a_b", "", ErrMany, "n", m.N)`,
		`refuseGuard("start_a", "b", "", ErrMany, "n", m.N)`,
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

// What a guard looked at is of a type that fsmimpl.Values knows.
func TestGuardsTell(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("m.yaml", []byte(`fsm: 1
machine: m
entity: M
otherwise: reject
fields:
  s: string
  n: int
  b: bool
  at: time
  e: low|high
  s2: optional string
  n2: optional int
  b2: optional bool
  at2: optional time
  e2: optional low|high
guards:
  all:
    when: [s == input.s, n == 1, b == true, at < now, e == low,
      s2 == input.s, n2 == 1, b2 == true, at2 < now, e2 == low]
    error: other
states: {new: {}, old: {terminal: true}}
operations:
  make: {creates: new, set: {s: input, n: input, b: input, at: input, e: input}}
  start: {from: new, to: old, input: {s: string}, require: [all]}
`))
	if found.HasErrors() {
		t.Fatal(found)
	}
	src := string(generate(t, m, Options{})[0].Data)
	want := `"s", m.S, "input.s", in.S, "n", m.N, "b", m.B, "at", m.At, "now", now, "e", m.E.String(), ` +
		`"s2", m.S2, "n2", m.N2.String(), "b2", m.B2.String(), "at2", m.At2, "e2", m.E2.String())`
	if !strings.Contains(src, want) {
		t.Errorf("no such refusal: %s\n%s", want, regexp.MustCompile(`refuseGuard\("[^\n]*`).FindString(src))
	}
}
