package diff_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// A key of one text is that text as it is, also where the field is optional. Where
// it may be absent now, all effects without it share one key.
func TestKeyTextThatChanges(t *testing.T) {
	t.Parallel()
	machine := func(job, key string) *spec.Machine {
		value := "input"
		if job != "string" {
			value = "input or absent"
		}
		src := fmt.Sprintf(`fsm: 1
machine: run
entity: Run
otherwise: reject
fields: {job: %s, part: string}
states: {running: {}, done: {terminal: true}}
operations:
  start: {creates: running, set: {job: %s, part: input}}
  finish: {from: running, to: done, effect: {name: tell, key: %s}}
`, job, value, key)
		m, found := spec.Parse("run.yaml", []byte(src))
		if m == nil || found.HasErrors() {
			t.Fatalf("%v\n%s", found, src)
		}
		return m
	}
	for _, c := range []struct {
		old, next, key string
		want           bool
	}{
		{"string", "optional string", "job", true},
		{"optional string", "string", "job", false},
		{"string", "string", "[job, id]", false},
		{"string", "optional string", "[job, part]", false},
		{"string", "optional string", "part", false},
		{"string", "string", "job", false},
	} {
		r := diff.Machines(machine(c.old, c.key), machine(c.next, c.key))
		if got := slices.ContainsFunc(r.Changes, func(x diff.Change) bool { return x.Code == "FSM712" }); got != c.want {
			t.Errorf("%s to %s, key %s: FSM712 %t, want %t", c.old, c.next, c.key, got, c.want)
		}
	}
}
