package interp_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// Two sweepers, or two recoveries, that see the same record do one thing.
func TestStepSystemCallsConverge(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "execution"))
	s.does(s.lease("a", "j"))
	s.does(s.call("start", nil))
	s.refuses(s.call("expire", nil, request("mine")), interp.CodeInvalidInput)
	expire := s.call("expire", nil, actor("somebody"), when(at(60)))
	first := s.does(expire)
	if e := first.Events[0]; e.Actor != "system" || e.RequestID != "sys:expire:2" {
		t.Errorf("actor %q, request %q", e.Actor, e.RequestID)
	}
	if out := s.does(expire); !out.Replayed || out.Record.Rev != 3 {
		t.Errorf("the second sweeper: %+v", out)
	}
	s.refuses(s.call("expire", nil, rev(3)), interp.CodeTerminal)
	s.refuses(s.call("expire", nil, rev(1)), interp.CodeStale)
}

// Without a revision a system operation has the id of the one that was read.
func TestStepSystemCallWithoutRevision(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "execution"))
	s.m.ExpectedRev = spec.Optional
	s.does(s.lease("a", "j"))
	if out := s.does(s.call("expire", nil, noRev, when(at(60)))); out.Events[0].RequestID != "sys:expire:1" {
		t.Errorf("event %+v", out.Events[0])
	}
	s.refuses(s.call("expire", nil, noRev), interp.CodeTerminal)
}

func TestStepOperator(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "ingest"))
	s.does(s.call("enqueue", nil))
	s.does(s.call("start", nil))
	s.does(s.call("fail", nil))
	s.does(s.call("quarantine", nil))
	s.refuses(s.call("release", nil), interp.CodeReasonMissing)
	out := s.does(s.call("release", nil, reason("looked at it")))
	if out.Record.State.Name != "pending" || out.Events[0].Reason != "looked at it" {
		t.Errorf("outcome %+v", out)
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	lifecycle, waits := shipped(t, "lifecycle"), patient(t)
	running := interp.NewRecord(waits, "a").In(waits.State("running"))
	running.UpdatedAt = t0
	tests := []struct {
		name string
		due  bool
		got  bool
	}{
		{"before the lease ends", false, interp.Due(lifecycle, lifecycle.Operation("stall"), job(lifecycle, "claimed"), at(30).Add(-time.Microsecond))},
		{"when it ends", true, interp.Due(lifecycle, lifecycle.Operation("stall"), job(lifecycle, "claimed"), at(30))},
		{"an absent deadline", false, interp.Due(lifecycle, lifecycle.Operation("stall"), job(lifecycle, "claimed").With(lifecycle, "lease", interp.Absent), at(99))},
		{"in another state", false, interp.Due(lifecycle, lifecycle.Operation("stall"), job(lifecycle, "succeeded"), at(99))},
		{"an operation without trigger", false, interp.Due(lifecycle, lifecycle.Operation("start"), job(lifecycle, "claimed"), at(99))},
		{"with a duration: before", false, interp.Due(waits, waits.Operation("drop"), running, at(599))},
		{"with a duration: past it", true, interp.Due(waits, waits.Operation("drop"), running, at(600))},
	}
	for _, tt := range tests {
		if tt.got != tt.due {
			t.Errorf("%s: due %t, want %t", tt.name, tt.got, tt.due)
		}
	}
}

// patient is a machine whose trigger has a duration and no guard.
func patient(t *testing.T) *spec.Machine {
	return parse(t, `fsm: 1
machine: patient
entity: Patient
otherwise: reject
states: {running: {}, dropped: {terminal: true}}
operations:
  begin: {creates: running}
  drop: {by: system, from: running, to: dropped, trigger: [after updated_at + 10m]}
`)
}

// A trigger never guards: the operation may be called before the deadline.
func TestTriggerIsNoGuard(t *testing.T) {
	t.Parallel()
	s := tell(t, patient(t))
	s.does(s.call("begin", nil))
	if out := s.does(s.call("drop", nil)); out.Record.State.Name != "dropped" {
		t.Errorf("outcome %+v", out)
	}
}

func TestStepThen(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "ingest"))
	s.does(s.call("enqueue", nil))
	s.does(s.call("start", nil))
	c := s.call("fail_stalled", nil, when(at(700)))
	out := s.does(c)
	var steps []string
	for _, e := range out.Events {
		cause := ""
		if e.Cause != nil {
			cause = " after " + e.Cause.Name
		}
		steps = append(steps, e.Op.Name+cause+" "+e.From.Name+" -> "+e.To.Name+" ["+e.RequestID+"]")
	}
	want := []string{"fail_stalled running -> failed [sys:fail_stalled:2]", "retry_stalled after fail_stalled failed -> pending []"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if out.Record.Rev != 4 || out.Record.Value(s.m, s.m.Field("run_after")) != interp.Time(at(760)) {
		t.Errorf("record %v at revision %d", show(s.m, out.Record), out.Record.Rev)
	}
	s.does(s.call("start", nil, when(at(800))))
	again := s.does(c)
	if !again.Replayed || len(again.Events) != 2 || !again.Record.Equal(out.Record) {
		t.Errorf("replay %+v", again)
	}
}

// A refused step of `then` takes the first step back.
func TestStepThenRollsBack(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, `
fsm: 1
machine: bolt
entity: Bolt
otherwise: reject
fields:
  ready: time
states:
  open: {}
  shut: {}
  sealed: {terminal: true}
guards:
  is_ready: {when: ready <= now, error: not_ready}
operations:
  make: {creates: open, set: {ready: input}}
  close: {from: open, to: shut, then: seal}
  seal: {by: system, from: shut, to: sealed, require: [is_ready]}
`))
	s.does(s.call("make", in{"ready": interp.Time(at(100))}))
	if refusal := s.refuses(s.call("close", nil), interp.CodeGuard); refusal.Operation != "seal" || refusal.Guard != "is_ready" {
		t.Errorf("refused with %v", refusal)
	}
	if out := s.does(s.call("close", nil, when(at(100)))); out.Record.State.Name != "sealed" || out.Record.Rev != 3 {
		t.Errorf("outcome %+v", out)
	}
}

// An effect outside the transaction waits in the outbox, and `then` with it.
func TestStepEffectAndThen(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "task"))
	s.does(s.call("submit", nil))
	s.does(s.call("submit", nil, record("b")))
	out := s.does(s.call("start", nil, pick))
	if out.Record.ID != "a" || out.Record.State.Name != "running" || len(s.w.Outbox) != 1 {
		t.Fatalf("outcome %+v, outbox %v", out, s.w.Outbox)
	}
	waiting := s.w.Outbox[0]
	if waiting.ID != "a" || waiting.Rev != 2 || waiting.Effect.Name != "execute_task" {
		t.Errorf("delivery %+v", waiting)
	}
	done, w, refusal := interp.Deliver(s.m, s.w, waiting, at(50))
	if refusal != nil || done.Record.State.Name != "completed" || len(w.Outbox) != 0 || done.Events[0].Cause.Name != "start" || done.Events[0].RequestID != "sys:complete:2" {
		t.Fatalf("delivered: %+v, outbox %v, %v", done, w.Outbox, refusal)
	}
	s.w = w
	s.folds()
	again, w, refusal := interp.Deliver(s.m, s.w, waiting, at(51))
	if refusal != nil || len(again.Events) > 0 || len(w.Log) != len(s.w.Log) || again.Record.Rev != 3 {
		t.Errorf("delivered twice: %+v, %v", again, refusal)
	}
}

// What was to follow an effect dies when the record goes another way.
func TestStepEffectDiesWithItsRevision(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "task"))
	s.does(s.call("submit", nil))
	s.does(s.call("start", nil))
	old := s.w.Outbox[0]
	s.does(s.call("recover", nil))
	if len(s.w.Outbox) != 0 {
		t.Errorf("outbox %v", s.w.Outbox)
	}
	if out, _, refusal := interp.Deliver(s.m, s.w, old, at(9)); refusal != nil || len(out.Events) > 0 || out.Record.State.Name != "pending" {
		t.Errorf("delivered: %+v, %v", out, refusal)
	}
	s.does(s.call("start", nil))
	if len(s.w.Outbox) != 1 || s.w.Outbox[0].Rev != 4 {
		t.Errorf("outbox %v", s.w.Outbox)
	}
}

func TestStepAtomicEffect(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "execution"))
	s.does(s.lease("a", "j"))
	s.does(s.call("start", nil))
	c := s.call("commit", nil)
	out := s.does(c)
	if len(s.w.Outbox) != 0 || out.Record.State.Name != "committed" {
		t.Errorf("outcome %+v, outbox %v", out, s.w.Outbox)
	}
	if out := s.does(s.call("commit", nil)); !out.RecordOnly {
		t.Errorf("a duplicate commit: %+v", out)
	}
}

func TestInternal(t *testing.T) {
	t.Parallel()
	want := map[string][]string{"task": {"complete", "recover"}, "execution": {"reconcile"}, "ingest": {"fail_stalled"}}
	for _, name := range []string{"lifecycle", "execution", "ingest", "jobstate", "task"} {
		m := shipped(t, name)
		var got []string
		for _, op := range m.Operations {
			if interp.Internal(m, op) {
				got = append(got, op.Name)
			}
		}
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	m := shipped(t, "lifecycle")
	done := job(m, "succeeded").With(m, "result", interp.JSON("1"))
	tests := []struct {
		name   string
		record interp.Record
		want   []string
	}{
		{"a sound record", job(m, "running"), nil},
		{"what must be present", job(m, "running").With(m, "owner", interp.Absent), []string{"must owner is present"}},
		{"what must be absent", job(m, "running").With(m, "result", interp.JSON("1")), []string{"must result is absent"}},
		{"a fact", job(m, "running").With(m, "attempt", interp.Int(0)), []string{"must attempt >= 1"}},
		{"what should be", done, []string{"should owner is absent", "should lease is absent"}},
		{"a falling counter", job(m, "stalled").With(m, "attempt", interp.Int(-1)), []string{"must attempt", "must owner is absent", "must lease is absent"}},
		{"no state", interp.NewRecord(m, "a"), []string{"must state"}},
		{"a value of another type", job(m, "running").With(m, "lease", interp.String("soon")), []string{"must lease"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range interp.Check(m, tt.record) {
				weight := "should "
				if v.Must {
					weight = "must "
				}
				got = append(got, weight+v.Rule)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckOfEveryState(t *testing.T) {
	t.Parallel()
	m := unproven(t, everyState)
	for _, st := range m.States {
		r := interp.NewRecord(m, "a").In(st).With(m, "low", interp.Int(2)).With(m, "high", interp.Int(1)).With(m, "note", interp.String("x"))
		if found := interp.Check(m, r); len(found) != 1 || found[0].Rule != "low <= high" || !found[0].Must {
			t.Errorf("in %s it breaks %v", st.Name, found)
		}
	}
}

const everyState = `
fsm: 1
machine: span
entity: Span
otherwise: reject
fields:
  low: int
  high: int
  note: optional string
invariant: [low <= high]
states:
  open: {}
  shut: {terminal: true, should: {present: [note]}}
operations:
  make: {creates: open, set: {low: input, high: input}}
  shift: {from: open, to: same, set: {low: input}}
  close: {from: open, to: shut, set: {note: input or absent}}
`

// A SHOULD is told by Check and stops nothing; an invariant of the machine
// stops a call in every state.
func TestDecideAndInvariants(t *testing.T) {
	t.Parallel()
	s := tell(t, unproven(t, everyState))
	s.does(s.call("make", in{"low": interp.Int(1), "high": interp.Int(3)}))
	if refusal := s.refuses(s.call("shift", in{"low": interp.Int(4)}), interp.CodeInvariant); refusal.Name != "low <= high" || refusal.State != "open" {
		t.Errorf("refused with %+v", refusal)
	}
	out := s.does(s.call("close", nil))
	if found := interp.Check(s.m, out.Record); len(found) != 1 || found[0].Must {
		t.Errorf("the closed record breaks %v, want one SHOULD", found)
	}
}

func TestCheckFields(t *testing.T) {
	t.Parallel()
	m := parse(t, inputs)
	sound := interp.NewRecord(m, "a").In(m.State("filled"))
	for name, v := range complete() {
		sound = sound.With(m, name, v)
	}
	if found := interp.Check(m, sound); len(found) > 0 {
		t.Fatalf("the sound record breaks %v", found)
	}
	for field, v := range (in{
		"text": interp.Absent, "number": interp.Int(6), "level": interp.Word("middle"), "flag": interp.Int(1),
		"due": interp.Time(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), "start": interp.Int(-1),
	}) {
		if found := interp.Check(m, sound.With(m, field, v)); len(found) != 1 || !found[0].Must {
			t.Errorf("%s = %v breaks %v, want one rule", field, v, found)
		}
	}
}

func TestFoldRefusesGaps(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "jobstate"))
	s.does(s.call("create", in{"expected": interp.Set("x", "y")}))
	s.does(s.call("job_kick", nil))
	s.does(s.call("job_kick", nil))
	s.does(s.call("job_kick", nil))
	s.does(s.call("expected_event", in{"name": interp.String("x")}))
	log := s.w.History("a")
	for i := range log {
		without := append(append([]interp.Event{}, log[:i]...), log[i+1:]...)
		if i == 3 || i == 4 { // the last record-only event of its revision, and the last of all, leave no gap
			continue
		}
		if r, err := interp.Fold(s.m, without); err == nil {
			t.Errorf("without event %d the log folds to %v", i, show(s.m, r))
		}
	}
	if _, err := interp.Fold(s.m, nil); err == nil {
		t.Error("an empty log folds")
	}
	twice := append(append([]interp.Event{}, log...), log[len(log)-1])
	if _, err := interp.Fold(s.m, twice); err == nil {
		t.Error("a revision that is there twice folds")
	}
	moved := append([]interp.Event{}, log...)
	moved[2].Rev = 1
	if _, err := interp.Fold(s.m, moved); err == nil {
		t.Error("a record-only event of another revision folds")
	}
	foreign := append([]interp.Event{}, log...)
	foreign[1].ID = "b"
	if _, err := interp.Fold(s.m, foreign); err == nil {
		t.Error("events of two records fold into one")
	}
}

// Worlds are values: what happens in one branch of a story is not seen in the
// other. The model checker stands on this.
func TestWorldsDoNotShare(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	s.does(s.call("enqueue", nil, record("b")))
	s.does(s.call("enqueue", nil, record("c"))) // three events: the log may have room for a fourth
	fork := s.w
	claim := func(actorName string) interp.World {
		_, w, refusal := interp.Step(s.m, fork, s.call("claim_next", in{"lease": interp.Time(at(60))}, actor(actorName)))
		if refusal != nil {
			t.Fatal(refusal)
		}
		return w
	}
	one, two := claim("w1"), claim("w2")
	owner := s.m.Field("owner")
	if a, b := one.Records["a"].Value(s.m, owner), two.Records["a"].Value(s.m, owner); a != interp.String("w1") || b != interp.String("w2") {
		t.Errorf("owners %v and %v", a, b)
	}
	if one.Log[3].Actor != "w1" || two.Log[3].Actor != "w2" || len(fork.Log) != 3 || fork.Records["a"].State.Name != "queued" {
		t.Error("the branches share their log or their records")
	}
}
