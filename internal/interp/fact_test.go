package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

func TestComparisons(t *testing.T) {
	t.Parallel()
	m := parse(t, `
fsm: 1
machine: compare
entity: Thing
otherwise: reject
fields:
  n: int
  most: int
  flag: bool
  level: low|high
  until: time
states:
  one: {}
  two: {terminal: true}
guards:
  all:
    when: [n == 2, n != 3, n < 3, n <= 2, n > 1, n >= 2, n < most, flag == true, level == low, level != high, until > now, updated_at < now, created_at <= updated_at, input.x == n]
    error: e
operations:
  make: {creates: one, set: {n: input, most: input, flag: input, level: input, until: input}}
  go: {from: one, to: two, require: [all], input: {x: int}}
`)
	r := interp.NewRecord(m, "a").In(m.State("one")).With(m, "n", interp.Int(2)).With(m, "most", interp.Int(3)).
		With(m, "flag", interp.Bool(true)).With(m, "level", interp.Word("low")).With(m, "until", interp.Time(at(9)))
	r.CreatedAt, r.UpdatedAt = t0, t0
	c := interp.Call{Op: m.Operation("go"), At: at(1), Inputs: in{"x": interp.Int(2)}}
	other := r.With(m, "n", interp.Int(3)).With(m, "most", interp.Int(3)).With(m, "flag", interp.Bool(false)).With(m, "level", interp.Word("high")).With(m, "until", interp.Time(at(1)))
	other.CreatedAt, other.UpdatedAt = at(2), at(1)
	survives := map[string]bool{"n > 1": true, "n >= 2": true} // true of n = 3 as well
	for _, f := range m.Operation("go").Require[0].When {
		if !interp.Holds(m, f, r, c) {
			t.Errorf("%s does not hold", f.Text)
		}
		if got := interp.Holds(m, f, other, c); got != survives[f.Text] {
			t.Errorf("%s of the other record: %t", f.Text, got)
		}
	}
	if _, refusal := interp.Decide(m, r, c, interp.Others{}); refusal != nil {
		t.Error(refusal)
	}
}

// A record has no times before its creation.
func TestTimesOfANewRecordAreAbsent(t *testing.T) {
	t.Parallel()
	m := shipped(t, "task")
	for _, f := range m.Builtin {
		if v := interp.NewRecord(m, "a").Value(m, f); v != interp.Absent {
			t.Errorf("%s is %v", f.Name, v)
		}
	}
}

func TestHoldsWithAbsentTerms(t *testing.T) {
	t.Parallel()
	m := unproven(t, `
fsm: 1
machine: facts
entity: Fact
otherwise: reject
fields:
  s: optional string
  n: optional int
  all: set
  some: set
states:
  one: {}
  two: {terminal: true}
guards:
  eq: {when: s == actor, error: e}
  ne: {when: s != actor, error: e}
  lt: {when: n < 3, error: e}
  ge: {when: n >= 3, error: e}
  in: {when: s in all, error: e}
  out: {when: s not in all, error: e}
  cov: {when: all covers some, error: e}
operations:
  make: {creates: one, set: {s: input or absent, n: input or absent, all: input, some: input}}
  go: {by: operator, from: one, to: two, require: [eq, ne, lt, ge, in, out, cov]}
  end: {by: operator, from: one, to: two}
`)
	absent := interp.NewRecord(m, "a").In(m.State("one"))
	there := absent.With(m, "s", interp.String("w1")).With(m, "n", interp.Int(3)).With(m, "all", interp.Set("w1", "w2")).With(m, "some", interp.Set("w2"))
	tests := []struct {
		guard         string
		absent, there bool
	}{
		{"eq", false, true}, {"ne", false, false}, {"lt", false, false}, {"ge", false, true},
		{"in", false, true}, {"out", false, false}, {"cov", true, true},
	}
	for i, tt := range tests {
		f := m.Operation("go").Require[i].When[0]
		if m.Guards[i].Name != tt.guard {
			t.Fatalf("guard %d is %s", i, m.Guards[i].Name)
		}
		c := interp.Call{Actor: "w1"}
		if got := interp.Holds(m, f, absent, c); got != tt.absent {
			t.Errorf("%s with absent terms: %t", f.Text, got)
		}
		if got := interp.Holds(m, f, there, c); got != tt.there {
			t.Errorf("%s: %t", f.Text, got)
		}
	}
	if f := m.Operation("go").Require[6].When[0]; interp.Holds(m, f, there.With(m, "some", interp.Set("w3")), interp.Call{}) {
		t.Errorf("%s holds although a member is missing", f.Text)
	}
}
