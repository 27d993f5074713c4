package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// What the sources say and no table of transitions shows: specs/RULES.md names these
// tests with the lines. Those of the lifecycle and of the ingestion are told by a
// caller, in examples/queue and examples/pipeline.

// 000:51, 156, 159: what an attempt yields, and when its job changed last.
func TestSourceExecution(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "execution"))
	output := s.m.Field("output")
	s.does(s.lease("a", "job"))
	if begun := s.does(s.call("start", nil)).Record; begun.Value(s.m, output).IsPresent() {
		t.Errorf("output before the commit %v", begun.Value(s.m, output))
	}
	last := s.does(s.call("commit", in{"output": interp.JSON("2")})).Record
	if last.Value(s.m, output) != interp.JSON("2") {
		t.Errorf("the commit stores %v", last.Value(s.m, output))
	}
	s.does(s.call("commit", in{"output": interp.JSON("3")}))
	if got := s.w.Records["a"].Value(s.m, output); got != interp.JSON("2") {
		t.Errorf("a second commit stores %v", got)
	}
	job := interp.ProjectGroup(s.m, []interp.Record{s.w.Records["a"]})
	if job.Fields["updated"] != interp.Time(last.UpdatedAt) {
		t.Errorf("the job has %v", job.Fields)
	}
}

// 001:45-46, 79, 98: what is recorded only, and what is no event (C28, C29).
func TestSourceJobState(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "jobstate"))
	s.refuses(s.call("create", in{"expected": interp.Set("")}), interp.CodeInvalidInput)
	s.refuses(s.call("create", in{"expected": interp.Set()}), interp.CodeGuard)
	s.does(s.call("create", in{"expected": interp.Set("x"), "compensation_policy": interp.String("undo")}))
	recorded := func(op string, inputs in, state string) {
		t.Helper()
		if out := s.does(s.call(op, inputs)); !out.RecordOnly || out.Record.State.Name != state {
			t.Errorf("%s in %s: %+v", op, state, out)
		}
	}
	malformed := func() { // in each state, before the cell is looked at
		t.Helper()
		s.refuses(s.call("expected_event", nil), interp.CodeInvalidInput)
		s.refuses(s.call("expected_event", in{"name": interp.String("")}), interp.CodeInvalidInput)
	}
	for _, op := range []string{"error_event", "compensation_event"} {
		recorded(op, nil, "created")
	}
	recorded("expected_event", in{"name": interp.String("x")}, "created")
	malformed()
	s.does(s.call("job_kick", nil))
	malformed()
	recorded("error_event", in{"verdict": interp.Word("ignored")}, "running")
	recorded("compensation_event", in{"decision": interp.Word("done")}, "running")
	recorded("expected_event", in{"name": interp.String("y")}, "running")
	s.does(s.call("error_event", nil))
	malformed()
	recorded("compensation_event", nil, "compensating")
	recorded("compensation_event", in{"decision": interp.Word("undecided")}, "compensating")
	s.does(s.call("compensation_event", in{"decision": interp.Word("done")}))
	malformed()
	recorded("error_event", nil, "done")
}

// 004:80, 109: the effect has the same key after a crash.
func TestSourceTask(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "task"))
	s.does(s.call("submit", nil))
	for range 2 {
		started := s.does(s.call("start", nil)).Record
		if got := interp.EffectKey(s.m, s.m.Operation("start").Asks[0], started); got != "a" {
			t.Errorf("at revision %d the key is %s", started.Rev, got)
		}
		s.does(s.call("recover", nil))
	}
}
