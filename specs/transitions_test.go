package specs_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// move is one line of a transition table: what an operation does to a record
// in a state. From is empty for a creation; If holds the facts of the branch.
type move struct{ From, Operation, To, If string }

// The tables below are written by hand after the tables of the sources, not
// after the files of this folder.
var tables = map[string]struct {
	transitions []move
	recorded    []move // the call is recorded and nothing changes
}{
	// 000:113-122, and 000:13 for the creation.
	"execution": {
		transitions: []move{
			{"", "lease", "leased", ""},
			{"leased", "start", "in_progress", ""},
			{"in_progress", "commit", "committed", ""},
			{"committed", "finish", "done", ""},
			{"committed", "reconcile", "done", ""}, // 000:166
			{"leased", "expire", "aborted", ""},
			{"in_progress", "expire", "aborted", ""},
		},
		recorded: []move{ // 000:166,179
			{"committed", "commit", "committed", ""},
			{"done", "commit", "done", ""},
			{"done", "finish", "done", ""},
		},
	},
	// 000:11, 83.
	"job": {transitions: []move{{"", "submit", "submitted", ""}}},
	// 001:76-91, and 001:44 for the creation.
	"jobstate": {
		transitions: []move{
			{"", "create", "created", ""},
			{"created", "job_kick", "running", ""},
			{"running", "expected_event", "running", ""},
			{"running", "expected_event", "done", "satisfied covers expected"},
			{"running", "error_event", "compensating", "compensation_policy is present"},
			{"running", "error_event", "failed", ""},
			{"compensating", "compensation_event", "done", "input.decision == done"},
			{"compensating", "compensation_event", "failed", "input.decision == failed"},
		},
		recorded: []move{
			{"created", "expected_event", "created", ""}, // 001:79
			{"created", "error_event", "created", ""},
			{"created", "compensation_event", "created", ""},
			{"compensating", "compensation_event", "compensating", ""}, // 001:88
			{"compensating", "job_kick", "compensating", ""},
			{"compensating", "expected_event", "compensating", ""},
			{"compensating", "error_event", "compensating", ""},
			{"running", "error_event", "running", "input.verdict == ignored"}, // 001:98 the policy's interpretation
			{"done", "job_kick", "done", ""},                                  // 001:90
			{"done", "expected_event", "done", ""},
			{"done", "error_event", "done", ""},
			{"done", "compensation_event", "done", ""},
			{"failed", "job_kick", "failed", ""}, // 001:91
			{"failed", "expected_event", "failed", ""},
			{"failed", "error_event", "failed", ""},
			{"failed", "compensation_event", "failed", ""},
			{"running", "job_kick", "running", ""}, // in no row: C11
			{"running", "compensation_event", "running", ""},
			{"created", "other", "created", ""}, // 001:79, 88, 90-91: any event
			{"running", "other", "running", ""},
			{"compensating", "other", "compensating", ""},
			{"done", "other", "done", ""},
			{"failed", "other", "failed", ""},
		},
	},
	// 002:60-81.
	"lifecycle": {
		transitions: []move{
			{"", "enqueue", "queued", ""},
			{"queued", "claim_next", "claimed", ""},
			{"stalled", "claim_next", "claimed", ""},
			{"claimed", "start", "running", ""},
			{"claimed", "heartbeat", "claimed", ""},
			{"running", "heartbeat", "running", ""},
			{"running", "complete", "succeeded", ""},
			{"running", "fail", "failed", ""},
			{"claimed", "stall", "stalled", ""},
			{"running", "stall", "stalled", ""},
			{"stalled", "requeue_stalled", "queued", ""},
		},
	},
	// 003:38-60 and 003:409-410; which same-state lines are transitions: C14.
	"ingest": {
		transitions: []move{
			{"", "enqueue", "pending", ""},
			{"pending", "start", "running", ""},
			{"pending", "reschedule", "pending", ""},
			{"running", "succeed", "succeeded", ""},
			{"running", "fail", "failed", ""},
			{"running", "fail_stalled", "failed", ""},
			{"running", "progress", "running", ""},
			{"failed", "reschedule", "pending", ""},
			{"failed", "retry_stalled", "pending", ""},
			{"failed", "quarantine", "quarantined", ""},
			{"quarantined", "release", "pending", ""},
		},
		recorded: []move{
			{"running", "start", "running", ""},
			{"failed", "fail", "failed", ""},
			{"succeeded", "succeed", "succeeded", ""},
			{"quarantined", "quarantine", "quarantined", ""},
		},
	},
	// 004:39-77, and 004:18 for the creation.
	"task": {
		transitions: []move{
			{"", "submit", "pending", ""},
			{"pending", "start", "running", ""},
			{"running", "complete", "completed", ""},
			{"running", "recover", "pending", ""},
		},
	},
}

func TestTransitionsAreThoseOfTheSources(t *testing.T) {
	t.Parallel()
	for _, m := range machines {
		want := tables[m.name]
		transitions, recorded := moves(parseMachine(t, m.name))
		if diff := cmp.Diff(sorted(want.transitions), transitions); diff != "" {
			t.Errorf("%s: transitions (-table +file):\n%s", m.name, diff)
		}
		if diff := cmp.Diff(sorted(want.recorded), recorded); diff != "" {
			t.Errorf("%s: calls that are recorded only (-table +file):\n%s", m.name, diff)
		}
	}
}

// TestIngestPairs compares with VALID_TRANSITIONS of 003:38-60 as it is there:
// pairs of states, same-state ones included.
func TestIngestPairs(t *testing.T) {
	t.Parallel()
	want := []string{
		"failed -> failed", "failed -> pending", "failed -> quarantined",
		"pending -> pending", "pending -> running",
		"quarantined -> pending", "quarantined -> quarantined",
		"running -> failed", "running -> running", "running -> succeeded",
		"succeeded -> succeeded",
	}
	transitions, recorded := moves(parseMachine(t, "ingest"))
	var got []string
	for _, m := range append(transitions, recorded...) {
		if m.From != "" {
			got = append(got, m.From+" -> "+m.To)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("pairs of states (-source +file):\n%s", diff)
	}
}

// TestForbiddenIsTheRest holds the closed tables of four sources to the
// `forbidden` lines: each move out of a state that is no end and that the table
// of the source does not have. Document 003 lists pairs of states, so a pair in
// which a call is recorded only is one of them; the others list moves (001:88
// says "no transition" of those).
func TestForbiddenIsTheRest(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"execution", "jobstate", "lifecycle", "ingest"} {
		m := parseMachine(t, name)
		table := tables[name].transitions
		if name == "ingest" {
			table = append(slices.Clone(table), tables[name].recorded...)
		}
		var want, got []string
		for _, from := range m.States {
			for _, to := range m.States {
				in := func(v move) bool { return v.From == from.Name && v.To == to.Name }
				if !from.Terminal && !slices.ContainsFunc(table, in) {
					want = append(want, from.Name+" -> "+to.Name)
				}
			}
		}
		for _, f := range m.Forbidden {
			got = append(got, f.From.State.Name+" -> "+f.To.State.Name)
			if f.Reason == "" {
				t.Errorf("%s: line %d gives no reason", name, f.Pos.Line)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: forbidden moves (-rest of the table +file):\n%s", name, diff)
		}
	}
}

// TestTaskNever holds the forbidden moves of 004:88-95 to the file: they are
// declared, and no operation makes one.
func TestTaskNever(t *testing.T) {
	t.Parallel()
	want := []string{"pending -> completed", "completed -> running", "completed -> pending"}
	m := parseMachine(t, "task")
	var got []string
	for _, f := range m.Forbidden {
		got = append(got, f.From.State.Name+" -> "+f.To.State.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("forbidden moves (-source +file):\n%s", diff)
	}
	transitions, _ := moves(m)
	for _, v := range transitions {
		if slices.Contains(want, v.From+" -> "+v.To) {
			t.Errorf("%s makes the move %s -> %s", v.Operation, v.From, v.To)
		}
	}
}

// TestExecutionProjection compares the derived machine with 000:78-81 and
// 000:129-131 (C1, C2).
func TestExecutionProjection(t *testing.T) {
	t.Parallel()
	p := parseMachine(t, "execution").Projection
	var states, got []string
	for _, r := range p.Rules {
		states = append(states, r.State.Name)
	}
	slices.Sort(states)
	if diff := cmp.Diff([]string{"failed", "pending", "running", "succeeded"}, states); diff != "" {
		t.Errorf("states of the job (-source +file):\n%s", diff)
	}
	for _, tr := range p.Transitions {
		got = append(got, tr.From.Name+" -> "+tr.To.Name)
	}
	slices.Sort(got)
	want := []string{"pending -> running", "running -> failed", "running -> pending", "running -> succeeded"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions of the job (-source +file):\n%s", diff)
	}
}

// moves derives the tables from a machine.
func moves(m *spec.Machine) (transitions, recorded []move) {
	for _, op := range m.Operations {
		for _, s := range op.Creates {
			if len(op.Choose) == 0 {
				transitions = append(transitions, move{"", op.Name, s.State.Name, ""})
			}
		}
		for _, s := range m.States {
			switch m.Class(s, op) {
			case spec.RecordOnly:
				recorded = append(recorded, move{s.Name, op.Name, s.Name, ""})
			case spec.Transition:
				t, r := movesFrom(s, op)
				transitions, recorded = append(transitions, t...), append(recorded, r...)
			}
		}
	}
	return sorted(transitions), sorted(recorded)
}

// movesFrom derives what an operation does in one of its source states.
func movesFrom(s *spec.State, op *spec.Operation) (transitions, recorded []move) {
	switch {
	case op.Same:
		return []move{{s.Name, op.Name, s.Name, ""}}, nil
	case op.To != nil:
		return []move{{s.Name, op.Name, op.To.State.Name, ""}}, nil
	}
	for _, b := range op.Choose {
		if b.From != nil && !slices.ContainsFunc(b.From, func(f spec.StateRef) bool { return f.State == s }) {
			continue
		}
		facts := make([]string, len(b.When))
		for i, f := range b.When {
			facts[i] = f.Text
		}
		v := move{s.Name, op.Name, s.Name, strings.Join(facts, " and ")}
		switch {
		case b.RecordOnly:
			recorded = append(recorded, v)
		case b.To != nil:
			v.To = b.To.State.Name
			transitions = append(transitions, v)
		case b.Same:
			transitions = append(transitions, v)
		}
	}
	return transitions, recorded
}

func sorted(moves []move) []move {
	out := slices.Clone(moves)
	slices.SortFunc(out, func(a, b move) int {
		return strings.Compare(a.From+" "+a.Operation+" "+a.To+" "+a.If, b.From+" "+b.Operation+" "+b.To+" "+b.If)
	})
	return out
}

// parseMachine reads a machine of this folder; a finding of any kind ends the
// test, since the shipped machines have none.
func parseMachine(t *testing.T, name string) *spec.Machine {
	t.Helper()
	file := name + ".yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, found := spec.Parse(file, src)
	if len(found) > 0 {
		t.Fatalf("findings:\n%v", found)
	}
	return m
}
