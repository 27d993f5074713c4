package interp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// enqueued tells the beginning of a lifecycle: job a waits.
func enqueued(t testing.TB) *story {
	s := tell(t, shipped(t, "lifecycle"))
	s.does(s.call("enqueue", in{"payload": interp.JSON("1")}))
	return s
}

func TestStepWholeLife(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	s.does(s.call("claim_next", in{"lease": interp.Time(at(60))}))
	s.does(s.call("start", nil))
	s.does(s.call("heartbeat", in{"lease": interp.Time(at(90))}))
	out := s.does(s.call("complete", in{"result": interp.JSON("2")}))
	s.is(out.Record, map[string]string{"state": "succeeded", "payload": "1", "result": "2", "attempt": "1"})
	var log []string
	for _, e := range s.w.History("a") {
		from := "(new)"
		if e.From != nil {
			from = e.From.Name
		}
		log = append(log, e.Op.Event+": "+from+" -> "+e.To.Name)
	}
	want := []string{
		"enqueued: (new) -> queued", "claimed: queued -> claimed", "started: claimed -> running",
		"heartbeat: running -> running", "succeeded: running -> succeeded",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if out.Record.Rev != 5 || out.Current.Rev != 5 || len(out.Events) != 1 {
		t.Errorf("rev %d, current %d, %d events", out.Record.Rev, out.Current.Rev, len(out.Events))
	}
	s.refuses(s.call("start", nil), interp.CodeTerminal)
	s.refuses(s.call("claim_next", in{"lease": interp.Time(at(60))}, record("b"), rev(1)), interp.CodeNotFound)
}

func TestStepReplay(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	claim := s.call("claim_next", in{"lease": interp.Time(at(60))})
	first := s.does(claim)
	s.does(s.call("start", nil))
	log := len(s.w.Log)

	t.Run("the same request gives the first outcome, before the revision is looked at", func(t *testing.T) {
		again := s.does(claim)
		if !again.Replayed || !again.Record.Equal(first.Record) || len(s.w.Log) != log {
			t.Errorf("outcome %+v, %d events", again, len(s.w.Log))
		}
		if again.Current.State.Name != "running" || again.Current.Rev != 3 || len(again.Events) != 1 || again.Events[0].Op.Name != "claim_next" {
			t.Errorf("current %+v, events %v", again.Current, again.Events)
		}
	})
	t.Run("a retry may compute its lease anew and carry other labels", func(t *testing.T) {
		c := claim
		c.Inputs = in{"lease": interp.Time(at(99))}
		c.Labels = map[string]string{"trace": "2"}
		c.ExpectedRev = 77
		c.At = at(50)
		if out := s.does(c); !out.Replayed || !out.Record.Equal(first.Record) {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("another request with the id is refused", func(t *testing.T) {
		for name, edit := range map[string]func(*interp.Call){
			"actor":     actor("w2"),
			"reason":    reason("other"),
			"operation": func(c *interp.Call) { c.Op, c.Inputs = s.m.Operation("start"), nil },
		} {
			c := claim
			edit(&c)
			if refusal := s.refuses(c, interp.CodeRequestReused); refusal.Operation != c.Op.Name {
				t.Errorf("%s: %v", name, refusal)
			}
		}
	})
	t.Run("the id that made the record is known to it", func(t *testing.T) {
		s.refuses(s.call("heartbeat", in{"lease": interp.Time(at(60))}, request("r01")), interp.CodeRequestReused)
	})
	t.Run("a refused request may be tried again", func(t *testing.T) {
		c := s.call("complete", in{"result": interp.JSON("1")}, rev(1))
		s.refuses(c, interp.CodeStale)
		c.ExpectedRev = s.w.Records["a"].Rev
		if out := s.does(c); out.Replayed {
			t.Error("the refusal was remembered")
		}
	})
	t.Run("a replay is possible on a terminal record", func(t *testing.T) {
		if out := s.does(claim); !out.Replayed || out.Current.State.Name != "succeeded" {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestStepScopeOfRequestIDs(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	s.does(s.call("enqueue", nil, record("b")))

	t.Run("a creation: the machine", func(t *testing.T) {
		s.refuses(s.call("enqueue", in{"payload": interp.JSON("9")}, request("r01")), interp.CodeRequestReused)
		lost := in{"payload": interp.JSON(`{"a":"\u0000"}`)} // no store holds it
		s.refuses(s.call("enqueue", lost, request("r01")), interp.CodeInvalidInput)
		s.refuses(s.call("enqueue", in{"payload": interp.JSON("1")}, record("c"), request("r01")), interp.CodeRequestReused)
	})
	t.Run("a call that names its record: the record", func(t *testing.T) {
		for _, id := range []string{"a", "b"} {
			if out := s.does(s.call("claim_next", in{"lease": interp.Time(at(60))}, record(id), request("same"))); out.Replayed {
				t.Errorf("record %s: replayed", id)
			}
		}
	})
	t.Run("a call that picks: the machine", func(t *testing.T) {
		s.does(s.call("enqueue", nil, record("d")))
		s.does(s.call("enqueue", nil, record("e")))
		c := s.call("claim_next", in{"lease": interp.Time(at(60))}, pick)
		first := s.does(c)
		again := s.does(c)
		if first.Record.ID != "d" || again.Record.ID != "d" || !again.Replayed || again.Events[0].ID != "d" {
			t.Errorf("first %s, again %s", first.Record.ID, again.Record.ID)
		}
		if s.w.Records["e"].State.Name != "queued" {
			t.Error("the replay picked another record")
		}
	})
}

func TestStepRequestIDs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		machine string
		edit    func(*interp.Call)
		code    string
		about   string
	}{
		{"required and missing", "lifecycle", request(""), interp.CodeRequestMissing, ""},
		{"of 255 bytes", "lifecycle", request(strings.Repeat("x", 255)), "", ""},
		{"of 256 bytes", "lifecycle", request(strings.Repeat("x", 256)), interp.CodeInvalidInput, "request_id"},
		{"not UTF-8", "lifecycle", request("\xff"), interp.CodeInvalidInput, "request_id"},
		{"with the prefix of the system", "lifecycle", request("sys:stall:1"), interp.CodeInvalidInput, "request_id"},
		{"optional and missing", "ingest", request(""), "", ""},
		{"optional and there", "ingest", request("x"), "", ""},
		{"none", "task", request(""), "", ""},
		{"none, and there", "task", request("x"), interp.CodeInvalidInput, "request_id"},
		{"record id of 255 bytes", "lifecycle", record(strings.Repeat("x", 255)), "", ""},
		{"record id of 256 bytes", "lifecycle", record(strings.Repeat("x", 256)), interp.CodeInvalidInput, "id"},
		{"empty record id", "lifecycle", record(""), interp.CodeInvalidInput, "id"},
		{"record id with NUL", "lifecycle", record("a\x00"), interp.CodeInvalidInput, "id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, shipped(t, tt.machine))
			c := s.call(s.m.Operations[0].Name, nil, tt.edit)
			if tt.code == "" {
				s.does(c)
				return
			}
			if refusal := s.refuses(c, tt.code); refusal.Name != tt.about {
				t.Errorf("about %q, want %q", refusal.Name, tt.about)
			}
		})
	}
}

// Without a request id the same call is a new one.
func TestStepWithoutRequestIDIsNotReplayed(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "ingest"))
	s.does(s.call("enqueue", nil, request("")))
	for n := int64(2); n < 4; n++ {
		out := s.does(s.call("reschedule", in{"run_after": interp.Time(at(5))}, request("")))
		if out.Replayed || out.Record.Rev != n {
			t.Errorf("rev %d, replayed %t", out.Record.Rev, out.Replayed)
		}
	}
}

func TestStepRevision(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		machine string
		op      string
		inputs  in
		rev     int64
		code    string
		about   string
	}{
		{"required: the right one", "lifecycle", "claim_next", in{"lease": interp.Time(at(9))}, 1, "", ""},
		{"required: another", "lifecycle", "claim_next", in{"lease": interp.Time(at(9))}, 2, interp.CodeStale, ""},
		{"required: missing", "lifecycle", "claim_next", in{"lease": interp.Time(at(9))}, -1, interp.CodeInvalidInput, "rev"},
		{"optional: the right one", "ingest", "start", nil, 1, "", ""},
		{"optional: another", "ingest", "start", nil, 2, interp.CodeStale, ""},
		{"optional: missing", "ingest", "start", nil, -1, "", ""},
		{"none: nobody looks", "jobstate", "job_kick", nil, 9, "", ""},
		{"a record-only cell obeys it", "ingest", "quarantine", nil, 2, interp.CodeStale, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, shipped(t, tt.machine))
			create := s.call(s.m.Operations[0].Name, nil)
			if tt.machine == "jobstate" {
				create.Inputs = in{"expected": interp.Set("x")}
			}
			s.does(create)
			c := s.call(tt.op, tt.inputs, rev(tt.rev))
			if tt.code == "" {
				s.does(c)
				return
			}
			refusal := s.refuses(c, tt.code)
			if refusal.Name != tt.about || tt.code == interp.CodeStale && (refusal.Rev != 1 || refusal.Expected != tt.rev) {
				t.Errorf("about %q, rev %d, expected %d", refusal.Name, refusal.Rev, refusal.Expected)
			}
		})
	}
}

// A late worker gets stale, also on a terminal record: that is what fencing
// wants.
func TestStepStaleBeforeTerminal(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	s.does(s.call("claim_next", in{"lease": interp.Time(at(60))}))
	s.does(s.call("start", nil))
	s.does(s.call("fail", in{"error": interp.JSON("1")}))
	s.refuses(s.call("complete", in{"result": interp.JSON("1")}, rev(3)), interp.CodeStale)
	s.refuses(s.call("complete", in{"result": interp.JSON("1")}, rev(4)), interp.CodeTerminal)
}

// The call itself is looked at before anything that is stored, its request first, as
// the runtime does.
func TestStepOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	s.does(s.call("claim_next", in{"lease": interp.Time(at(60))}))
	wrong := s.call("complete", nil, actor(""), request(""), record("nowhere"), rev(9))
	s.refuses(wrong, interp.CodeRequestMissing)
	wrong.RequestID = "fresh"
	s.refuses(wrong, interp.CodeActorMissing)
	wrong.Actor = "w2"
	s.refuses(wrong, interp.CodeInvalidInput)
	wrong.Inputs = in{"result": interp.JSON("1")}
	s.refuses(wrong, interp.CodeNotFound)
	wrong.ID = "a"
	s.refuses(wrong, interp.CodeStale)
	wrong.ExpectedRev = 2
	s.refuses(wrong, interp.CodeWrongState)
	wrong.Op, wrong.Inputs = s.m.Operation("start"), nil
	s.refuses(wrong, interp.CodeGuard)
	wrong.Actor = "w1"
	s.does(wrong)
}

func TestStepCreation(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "lifecycle"))
	c := s.call("enqueue", in{"dedupe_key": interp.String("k")})
	s.does(c)
	t.Run("the same request", func(t *testing.T) {
		if out := s.does(c); !out.Replayed || out.Existing {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("the same dedupe key gives the record as it is", func(t *testing.T) {
		log := len(s.w.Log)
		again := s.call("enqueue", in{"dedupe_key": interp.String("k"), "payload": interp.JSON("9")}, record("b"))
		for range 2 { // a hit is not stored, so it is found again
			out := s.does(again)
			if !out.Existing || out.Replayed || out.Record.ID != "a" || len(out.Events) > 0 || len(s.w.Log) != log {
				t.Errorf("outcome %+v", out)
			}
		}
	})
	t.Run("the id is taken", func(t *testing.T) {
		s.refuses(s.call("enqueue", in{"dedupe_key": interp.String("l")}), interp.CodeExists)
	})
	t.Run("dedupe before exists", func(t *testing.T) {
		if out := s.does(s.call("enqueue", in{"dedupe_key": interp.String("k")})); !out.Existing {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("an absent key never collides", func(t *testing.T) {
		for _, id := range []string{"c", "d"} {
			if out := s.does(s.call("enqueue", nil, record(id))); out.Existing {
				t.Errorf("record %s: %+v", id, out)
			}
		}
	})
}

func TestStepPick(t *testing.T) {
	t.Parallel()
	m := parse(t, `
fsm: 1
machine: queue
entity: Job
otherwise: reject
fields:
  queue: string
  rank: optional int
  ready: time
states:
  waiting: {}
  taken: {terminal: true}
guards:
  is_ready: {when: ready <= now, error: not_ready}
operations:
  put: {creates: waiting, set: {queue: input, rank: input or absent, ready: input}}
  take:
    from: waiting
    to: taken
    input: {queue: string}
    require: [is_ready]
    next: {where: queue == input.queue, order: [-rank, ready]}
`)
	s := tell(t, m)
	put := func(id, queue string, rank interp.Value, ready int) {
		s.does(s.call("put", in{"queue": interp.String(queue), "rank": rank, "ready": interp.Time(at(ready))}, record(id)))
	}
	put("absent", "x", interp.Absent, 0)
	put("low", "x", interp.Int(1), 0)
	put("high_late", "x", interp.Int(2), 3)
	put("high_b", "x", interp.Int(2), 1)
	put("high_a", "x", interp.Int(2), 1)
	put("other_queue", "y", interp.Int(9), 0)
	put("not_ready", "x", interp.Int(9), 1000)
	take := func(queue string) interp.Call { return s.call("take", in{"queue": interp.String(queue)}, pick) }
	for _, want := range []string{"high_a", "high_b", "high_late", "low", "absent"} {
		if out := s.does(take("x")); out.Record.ID != want {
			t.Errorf("picked %s, want %s", out.Record.ID, want)
		}
	}
	c := take("x")
	s.refuses(c, interp.CodeNothingToDo)
	put("new", "x", interp.Int(0), 0)
	if out := s.does(c); out.Record.ID != "new" {
		t.Errorf("picked %s; that nothing was found must not be remembered", out.Record.ID)
	}
	t.Run("a caller may name the record, and then the guard refuses", func(t *testing.T) {
		s.refuses(s.call("take", in{"queue": interp.String("x")}, record("not_ready")), interp.CodeGuard)
	})
}

func TestStepRecordOnly(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "jobstate"))
	s.does(s.call("create", in{"expected": interp.Set("x")}))
	s.does(s.call("job_kick", nil))
	before := s.w.Records["a"]
	unmatched := s.call("expected_event", in{"name": interp.String("z")})
	first := s.does(unmatched)
	second := s.does(s.call("job_kick", nil))
	if !first.RecordOnly || !second.RecordOnly || !s.w.Records["a"].Equal(before) {
		t.Errorf("outcomes %+v, %+v", first, second)
	}
	for n, out := range []interp.Outcome{first, second} {
		e := out.Events[0]
		if e.Rev != 2 || e.N != int64(n+1) || e.From.Name != "running" || e.To.Name != "running" || len(e.Changes) > 0 {
			t.Errorf("event %d: %+v", n, e)
		}
	}
	if first.Events[0].Guard != "is_expected" || second.Events[0].Guard != "" {
		t.Errorf("guards %q, %q", first.Events[0].Guard, second.Events[0].Guard)
	}
	if out := s.does(unmatched); !out.Replayed || !out.RecordOnly || !out.Record.Equal(before) {
		t.Errorf("replay %+v", out)
	}
	if out := s.does(s.call("expected_event", in{"name": interp.String("x")})); out.Record.Rev != 3 || out.Events[0].N != 0 || out.Record.State.Name != "done" {
		t.Errorf("next transition %+v", out.Record)
	}
	if out := s.does(s.call("error_event", nil)); !out.RecordOnly || out.Events[0].Rev != 3 || out.Events[0].N != 1 {
		t.Errorf("on a terminal record: %+v", out)
	}
}

// An event that came before the kick is recorded only; redelivered after it,
// its id replays, so the producer must send a new one (C23).
func TestStepRecordOnlyReplaysAfterTheRecordMovedOn(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "jobstate"))
	s.does(s.call("create", in{"expected": interp.Set("x")}))
	early := s.call("expected_event", in{"name": interp.String("x")})
	s.does(early)
	s.does(s.call("job_kick", nil))
	if out := s.does(early); !out.Replayed || out.Record.State.Name != "created" || out.Current.State.Name != "running" {
		t.Errorf("outcome %+v", out)
	}
	early.RequestID = "new"
	if out := s.does(early); out.Record.State.Name != "done" {
		t.Errorf("outcome %+v", out)
	}
}

func TestStepEventsHoldTheCall(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	out := s.does(s.call("claim_next", in{"lease": interp.Time(at(60))}, reason("because"), label("k", "v")))
	e := out.Events[0]
	if e.Actor != "w1" || e.Reason != "because" || e.Labels["k"] != "v" || e.RequestID == "" || e.Machine || !e.At.Equal(at(1)) {
		t.Errorf("event %+v", e)
	}
	if e.Inputs["lease"] != interp.Time(at(60)) {
		t.Errorf("inputs %v", e.Inputs)
	}
	var changed []string
	for _, c := range e.Changes {
		changed = append(changed, c.Field.Name+"="+c.Value.String())
	}
	if diff := cmp.Diff([]string{`owner="w1"`, "lease=2026-03-01T12:01:00Z", "queued_at=absent", "attempt=1"}, changed); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// The clock of a caller may run backwards: a log is still its record.
func TestClockThatRunsBackwards(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	out := s.does(s.call("claim_next", in{"lease": interp.Time(at(60))}, when(t0.Add(-time.Hour))))
	if !out.Record.UpdatedAt.Equal(t0) || !out.Events[0].At.Equal(t0.Add(-time.Hour)) {
		t.Errorf("updated at %v, event at %v", out.Record.UpdatedAt, out.Events[0].At)
	}
}

// The image of a set holds the members that came, not the whole set.
func TestStepImageOfASet(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "jobstate"))
	created := s.does(s.call("create", in{"expected": interp.Set("x", "y", "z")}))
	s.does(s.call("job_kick", nil))
	s.does(s.call("expected_event", in{"name": interp.String("x")}))
	second := s.does(s.call("expected_event", in{"name": interp.String("y")}))
	for out, want := range map[*interp.Outcome]interp.Value{&created: interp.Set("x", "y", "z"), &second: interp.Set("y")} {
		changes := out.Events[0].Changes
		if len(changes) != 1 || !changes[0].Added || changes[0].Value != want {
			t.Errorf("changes %+v, want %v added", changes, want)
		}
	}
	if again := s.does(s.call("expected_event", in{"name": interp.String("y")})); len(again.Events[0].Changes) != 0 || again.Record.Rev != 5 {
		t.Errorf("a member that was there: %+v", again.Events[0])
	}
}
