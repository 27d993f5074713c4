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

// Each change has a class, and a key is told in the names of the files.
func TestDefaultAndRenamedKey(t *testing.T) {
	t.Parallel()
	machine := func(weight int, key string) *spec.Machine {
		src := fmt.Sprintf(`fsm: 1
machine: run
entity: Run
otherwise: reject
fields: {job: {type: string, was: task}, weight: {type: int, default: %d}}
states: {running: {}, done: {terminal: true}}
operations:
  start: {creates: running, set: {job: input}}
  finish: {from: running, to: done, effect: {name: tell, key: %s}}
`, weight, key)
		m, found := spec.Parse("run.yaml", []byte(src))
		if m == nil || found.HasErrors() {
			t.Fatalf("%v\n%s", found, src)
		}
		return m
	}
	var got []string
	for _, x := range diff.Machines(machine(1, "[job, weight]"), machine(2, "[weight, job]")).Changes {
		got = append(got, fmt.Sprintf("%s %s %s", x.Code, x.Class, x.Message))
	}
	slices.Sort(got)
	want := []string{
		"FSM712 DATA the key of effect tell is weight, job, it was job, weight",
		"FSM715 DATA the default of field weight is 2, it was 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
