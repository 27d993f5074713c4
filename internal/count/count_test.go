package count_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/count"
	"github.com/fsmgen/fsmgen/spec"
)

func parse(t testing.TB, src string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse("test.yaml", []byte(src))
	if m == nil || found.HasErrors() {
		t.Fatalf("%v\n%s", found, src)
	}
	return m
}

// execution is specs/execution.yaml with edits: each pair is replaced once.
func execution(t testing.TB, edits ...string) *spec.Machine {
	t.Helper()
	b, err := os.ReadFile("../../specs/execution.yaml")
	if err != nil {
		t.Fatal(err)
	}
	src := string(b)
	for i := 0; i < len(edits); i += 2 {
		if strings.Count(src, edits[i]) != 1 {
			t.Fatalf("%q is there %d times", edits[i], strings.Count(src, edits[i]))
		}
		src = strings.Replace(src, edits[i], edits[i+1], 1)
	}
	return parse(t, src)
}

func walk(m *spec.Machine, index bool) count.Walk {
	return count.Explore(m, m.Projection.Key, index)
}

// Which safeguard of execution carries "at most one committed", for any number
// of executions.
func TestExecution(t *testing.T) {
	t.Parallel()
	const all = "[lease_ahead, job_not_committed, job_not_leased, attempts_left]"
	tests := []struct {
		name    string
		require string
		broken  []string // without the index
	}{
		{"all guards", all, nil},
		{"no job_not_committed", "[lease_ahead, job_not_leased, attempts_left]", []string{"one_committed_per_job"}},
		{"no job_not_leased", "[lease_ahead, job_not_committed, attempts_left]", []string{"one_lease_per_job", "one_committed_per_job"}},
		{"neither", "[lease_ahead, attempts_left]", []string{"one_lease_per_job", "one_committed_per_job"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := execution(t, "require: "+all, "require: "+tt.require)
			guards := walk(m, false)
			var broken []string
			for _, u := range m.Unique {
				if _, ok := guards.Broken[u]; ok {
					broken = append(broken, u.Name)
				}
			}
			if diff := cmp.Diff(tt.broken, broken); diff != "" || !guards.Complete {
				t.Errorf("broken without the index (-want +got):\n%s", diff)
			}
			index := walk(m, true)
			if len(index.Broken) > 0 || !index.Complete {
				t.Errorf("with the index: %v", index.Broken)
			}
			t.Logf("%d groups by the guards alone, %d with the index", guards.Groups, index.Groups)
		})
	}
}

// The job of the executions moves along the four edges of the file, each with
// the operation that makes it.
func TestExecutionProjection(t *testing.T) {
	t.Parallel()
	w := walk(execution(t), true)
	var got []string
	for _, v := range w.Order {
		s := w.Moves[v]
		got = append(got, fmt.Sprintf("%s: %s -> %s, %s -> %s", s.Op.Name, v.From, v.To, s.Before, s.After))
	}
	want := []string{
		"lease: pending -> running, {} -> {leased}",
		"expire: running -> pending, {leased} -> {aborted}",
		"finish: running -> succeeded, {committed} -> {done}",
		"expire: running -> failed, {leased, 4 aborted} -> {5+ aborted}",
	}
	if diff := cmp.Diff(want, got); diff != "" || w.Gap != nil {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	// The refusal of the sixth attempt is what keeps a failed job failed.
	w = walk(execution(t, "job_not_leased, attempts_left]", "job_not_leased]"), true)
	if s, ok := w.Moves[count.Move{From: "failed", To: "running"}]; !ok || s.Op.Name != "lease" {
		t.Errorf("without attempts_left: %v, want lease to reopen a failed job", w.Order)
	}
	// One attempt more than the projection counts to, and the job runs on.
	w = walk(execution(t, "than: 5", "than: 6"), true)
	if _, ok := w.Moves[count.Move{From: "failed", To: "running"}]; !ok {
		t.Errorf("with six attempts: %v", w.Order)
	}
}

const slots = `
fsm: 1
machine: slot
entity: Slot
otherwise: reject
fields:
  room: string
  owner: optional string
states:
  free: {}
  held: {}
  gone: {terminal: true}
unique:
  one: {fields: [room], in: [held], error: taken}
guards:
  few: {fewer: {than: %d, same: room, in: [held]}, error: taken}
operations:
  add: {creates: free, set: {room: input}}
  take: {from: free, to: held, require: [few]}
  keep: {from: held, to: same, require: [few]}
  drop: {from: held, to: gone, %s}
`

func TestFewer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		than   int
		drop   string
		broken bool
	}{
		{"one: as none", 1, "clear: [owner]", false},
		{"two", 2, "clear: [owner]", true},
		{"more than a byte counts", 1000, "clear: [owner]", true},
		{"a record that changes its room comes past the guard", 1, "set: {room: input}", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := parse(t, fmt.Sprintf(slots, tt.than, tt.drop))
			w := count.Explore(m, m.Unique[0].Fields, false)
			if _, broken := w.Broken[m.Unique[0]]; broken != tt.broken || !w.Complete {
				t.Errorf("broken %t (%v), complete %t", broken, w.Broken, w.Complete)
			}
		})
	}
}

// A record that gets another key may come into any group, in the state it has.
func TestKeyThatChanges(t *testing.T) {
	t.Parallel()
	src := strings.Replace(fmt.Sprintf(slots, 1, "clear: [owner]"), "keep: {from: held, to: same, require: [few]}", "move: {from: held, to: same, require: [few], set: {room: input}}", 1)
	m := parse(t, src)
	s, broken := count.Explore(m, m.Unique[0].Fields, false).Broken[m.Unique[0]]
	if !broken || s.Op.Name != "move" {
		t.Errorf("broken %t by %v, want by move", broken, s.Op)
	}
}

const chain = `
fsm: 1
machine: chain
entity: Step
otherwise: reject
fields: {batch: string}
states:
  new: {}
  mid: {}
  end: {terminal: true}
operations:
  add: {creates: new, set: {batch: input}}
  go: {from: new, to: mid%s}
  stop: {by: system, from: mid, to: end}
projection:
  entity: Batch
  key: batch
  rules:
    - {state: half, any: [mid]}
    - {state: over, all: [end]}
    - {state: open}
`

// Nobody sees what is between the steps of one transaction; after an effect
// outside of it everybody does.
func TestThen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, effect string
		want         []count.Move
	}{
		{"one transaction", ", then: stop", []count.Move{{From: "open", To: "over"}, {From: "over", To: "open"}}},
		{"atomic effect", ", then: stop, effect: {name: x, atomic: true}", []count.Move{{From: "open", To: "over"}, {From: "over", To: "open"}}},
		{"effect outside", ", effect: {name: x, then: stop}", []count.Move{{From: "open", To: "half"}, {From: "half", To: "over"}, {From: "half", To: "open"}, {From: "over", To: "open"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := parse(t, fmt.Sprintf(chain, tt.effect))
			w := count.Explore(m, m.Projection.Key, true)
			got := map[count.Move]bool{}
			for _, v := range w.Order {
				got[v] = true
			}
			want := map[count.Move]bool{}
			for _, v := range tt.want {
				want[v] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}

// Too many states for counting to two: what no rule names is then not counted.
func TestManyStates(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: many\nentity: Many\notherwise: reject\nfields: {room: string}\nstates:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  s%d: {}\n", i)
	}
	b.WriteString("unique:\n  one: {fields: [room], in: [s39], error: taken}\nguards:\n  none_there: {none: {same: room, in: [s39]}, error: taken}\noperations:\n  add: {creates: s0, set: {room: input}}\n")
	for i := range 39 {
		require := ""
		if i == 38 {
			require = ", require: [none_there]"
		}
		fmt.Fprintf(&b, "  o%d: {from: s%d, to: s%d%s}\n", i, i, i+1, require)
	}
	m := parse(t, b.String())
	w := count.Explore(m, m.Unique[0].Fields, false)
	if !w.Complete || len(w.Broken) > 0 {
		t.Errorf("%d groups, complete %t, broken %v", w.Groups, w.Complete, w.Broken)
	}
}
