package interp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// job returns a lifecycle record with an owner, a lease and two attempts.
func job(m *spec.Machine, state string) interp.Record {
	r := interp.NewRecord(m, "a").In(m.State(state)).
		With(m, "owner", interp.String("w1")).
		With(m, "lease", interp.Time(at(30))).
		With(m, "attempt", interp.Int(2)).
		With(m, "payload", interp.JSON(`"p"`))
	r.Rev, r.CreatedAt, r.UpdatedAt = 7, t0, at(5)
	return r
}

func TestDecideTransition(t *testing.T) {
	t.Parallel()
	m := shipped(t, "lifecycle")
	before := job(m, "running")
	d, refusal := interp.Decide(m, before, interp.Call{
		Op: m.Operation("complete"), Actor: "w1", At: at(9), Inputs: in{"result": interp.JSON(`{"n": 1}`)},
	}, interp.Others{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := map[string]string{"state": "succeeded", "payload": `"p"`, "result": `{"n":1}`, "attempt": "2"}
	if diff := cmp.Diff(want, show(m, d.Record)); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
	if r := d.Record; r.Rev != 8 || !r.CreatedAt.Equal(t0) || !r.UpdatedAt.Equal(at(9)) {
		t.Errorf("rev %d, created %v, updated %v", r.Rev, r.CreatedAt, r.UpdatedAt)
	}
	if d.From.Name != "running" || d.To.Name != "succeeded" || d.RecordOnly {
		t.Errorf("decision %s -> %s, record only %t", d.From.Name, d.To.Name, d.RecordOnly)
	}
	var changed []string
	for _, f := range d.Changed {
		changed = append(changed, f.Name)
	}
	if diff := cmp.Diff([]string{"owner", "lease", "result"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if !before.Equal(job(m, "running")) {
		t.Error("the stored record was changed")
	}
}

// The time updated_at never falls, whatever clock the caller has.
func TestDecideKeepsTheLaterTime(t *testing.T) {
	t.Parallel()
	m := shipped(t, "lifecycle")
	d, refusal := interp.Decide(m, job(m, "claimed"), interp.Call{Op: m.Operation("start"), Actor: "w1", At: at(1)}, interp.Others{})
	if refusal != nil || !d.Record.UpdatedAt.Equal(at(5)) {
		t.Errorf("updated at %v, want %v (%v)", d.Record.UpdatedAt, at(5), refusal)
	}
}

// Every cell of every shipped machine that is no transition refuses or records
// as the matrix says, with the code of its cause and without a change.
func TestDecideCells(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, name := range []string{"lifecycle", "execution", "ingest", "jobstate", "task"} {
		m := shipped(t, name)
		for _, op := range m.Operations {
			if len(op.Creates) > 0 {
				continue
			}
			for _, s := range m.States {
				class := m.Class(s, op)
				if class == spec.Transition {
					continue
				}
				cells++
				before := interp.NewRecord(m, "a").In(s)
				before.Rev = 3
				d, refusal := interp.Decide(m, before, valid(op), interp.Others{})
				where := fmt.Sprintf("%s: %s in %s", name, op.Name, s.Name)
				switch {
				case class == spec.RecordOnly:
					if refusal != nil || !d.RecordOnly || !d.Record.Equal(before) || d.Asks != nil || d.Then != nil {
						t.Errorf("%s: want a record-only decision, got %+v, %v", where, d, refusal)
					}
				case refusal == nil:
					t.Errorf("%s: accepted", where)
				case s.Terminal && refusal.Code != interp.CodeTerminal, !s.Terminal && refusal.Code != interp.CodeWrongState:
					t.Errorf("%s: %v", where, refusal)
				case len(refusal.Allowed) != len(op.From) || refusal.State != s.Name:
					t.Errorf("%s: allowed %v, state %s", where, refusal.Allowed, refusal.State)
				}
			}
		}
	}
	if cells < 60 {
		t.Errorf("%d cells were looked at; expected all of the five machines", cells)
	}
}

// valid is a call with a value for every required input.
func valid(op *spec.Operation) interp.Call {
	c := interp.Call{Op: op, Actor: "w1", Reason: "because", At: at(10), Inputs: in{}}
	for _, i := range op.Inputs {
		if i.Type.Optional {
			continue
		}
		switch i.Type.Kind {
		case spec.KindString:
			c.Inputs[i.Name] = interp.String("x")
		case spec.KindTime:
			c.Inputs[i.Name] = interp.Time(at(60))
		case spec.KindJSON:
			c.Inputs[i.Name] = interp.JSON("1")
		case spec.KindEnum:
			c.Inputs[i.Name] = interp.Word(i.Type.Values[0].Name)
		case spec.KindSet:
			c.Inputs[i.Name] = interp.Set("x")
		}
	}
	return c
}

func TestDecideGuards(t *testing.T) {
	t.Parallel()
	lifecycle, execution, ingest := shipped(t, "lifecycle"), shipped(t, "execution"), shipped(t, "ingest")
	attempt := interp.NewRecord(execution, "a").In(execution.State("leased")).
		With(execution, "job_id", interp.String("j")).
		With(execution, "attempt", interp.Int(1)).
		With(execution, "lease_owner", interp.String("w1")).
		With(execution, "lease_expires_at", interp.Time(at(30)))
	pending := interp.NewRecord(ingest, "a").In(ingest.State("pending")).With(ingest, "run_after", interp.Time(at(30)))
	tests := []struct {
		name   string
		m      *spec.Machine
		record interp.Record
		op     string
		actor  string
		at     time.Time
		guard  string // empty: accepted
		error  string
	}{
		{"the owner", lifecycle, job(lifecycle, "claimed"), "start", "w1", at(10), "", ""},
		{"somebody else", lifecycle, job(lifecycle, "claimed"), "start", "w2", at(10), "owner_only", "not_owner"},
		{"before the lease ends", execution, attempt, "start", "w1", at(29), "", ""},
		{"when the lease ends it is over", execution, attempt, "start", "w1", at(30), "lease_live", "lease_expired"},
		{"the first failing guard counts", execution, attempt, "start", "w2", at(31), "holds_lease", "not_lease_owner"},
		{"nobody expires a live lease", execution, attempt, "expire", "", at(29), "lease_over", "lease_still_live"},
		{"when the lease ends it can expire", execution, attempt, "expire", "", at(30), "", ""},
		{"not due", ingest, pending, "start", "", at(29), "due", "not_due"},
		{"due", ingest, pending, "start", "", at(30), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, refusal := interp.Decide(tt.m, tt.record, interp.Call{Op: tt.m.Operation(tt.op), Actor: tt.actor, At: tt.at}, interp.Others{})
			switch {
			case tt.guard == "":
				if refusal != nil {
					t.Errorf("refused: %v", refusal)
				}
			case refusal == nil:
				t.Error("accepted")
			case refusal.Code != interp.CodeGuard || refusal.Guard != tt.guard || refusal.Sentinel != tt.error:
				t.Errorf("refused with %v (%s), want guard %s (%s)", refusal, refusal.Sentinel, tt.guard, tt.error)
			}
		})
	}
}

func TestDecidePeers(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution")
	tests := []struct {
		name   string
		others interp.Others
		guard  string
	}{
		{"alone", interp.Others{}, ""},
		{"none: one other", interp.Others{Count: map[string]int64{"job_not_leased": 1}}, "job_not_leased"},
		{"fewer: one less than the limit", interp.Others{Count: map[string]int64{"attempts_left": 4}}, ""},
		{"fewer: at the limit", interp.Others{Count: map[string]int64{"attempts_left": 5}}, "attempts_left"},
		{"in the order of require", interp.Others{Count: map[string]int64{"attempts_left": 5, "job_not_committed": 1}}, "job_not_committed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.others.Next = map[string]int64{"attempt": 6}
			d, refusal := interp.Decide(m, interp.NewRecord(m, "a"), interp.Call{
				Op: m.Operation("lease"), Actor: "w1", At: t0,
				Inputs: in{"job_id": interp.String("j"), "lease_expires_at": interp.Time(at(60))},
			}, tt.others)
			switch {
			case tt.guard == "" && refusal != nil:
				t.Errorf("refused: %v", refusal)
			case tt.guard == "":
				want := map[string]string{"state": "leased", "job_id": `"j"`, "attempt": "6", "lease_owner": `"w1"`, "lease_expires_at": "2026-03-01T12:01:00Z"}
				if diff := cmp.Diff(want, show(m, d.Record)); diff != "" {
					t.Errorf("record (-want +got):\n%s", diff)
				}
			case refusal == nil || refusal.Guard != tt.guard:
				t.Errorf("got %v, want guard %s", refusal, tt.guard)
			}
		})
	}
}

const effectsSpec = `
fsm: 1
machine: gate
entity: Gate
otherwise: reject
allow: {FSM209: the test is about what is set}
fields:
  a: optional string
  b: optional string
  n: int
  hits: {type: counter, changed_by: [swap, twice]}
  seen: set
  more: set
  until: optional time
  level: low|high
  flag: bool
states:
  open: {}
  shut: {terminal: true}
operations:
  make: {creates: open, set: {a: input or absent, b: input or absent, n: 7, level: low, flag: false, seen: input}}
  swap: {from: open, to: same, set: {a: b, b: a}, increment: [hits], add: {seen: input.who}, input: {who: string}}
  keep: {from: open, to: same, set: {a: input or same, b: input or absent}}
  mark: {from: open, to: same, set: {n: 9, level: high, flag: true, until: now + 90s, a: actor}}
  wipe: {from: open, to: same, clear: [a, until]}
  twice:
    from: open
    set: {a: b}
    increment: [hits]
    add: {seen: input.who}
    input: {who: string, also: string, go: here|there|back|nowhere}
    choose:
      - {when: input.go == here, to: same, set: {b: a}, add: {more: input.also}}
      - {when: input.go == there, to: shut}
      - {when: input.go == back, reject: no_way_back}
      - {to: open, clear: [b]}
`

func TestDecideEffects(t *testing.T) {
	t.Parallel()
	m := parse(t, effectsSpec)
	start := interp.NewRecord(m, "g").In(m.State("open")).
		With(m, "a", interp.String("1")).With(m, "b", interp.String("2")).With(m, "n", interp.Int(7)).
		With(m, "seen", interp.Set("x")).With(m, "until", interp.Time(t0)).With(m, "level", interp.Word("low")).With(m, "flag", interp.Bool(false))
	was := map[string]string{
		"state": "open", "a": `"1"`, "b": `"2"`, "n": "7", "hits": "0", "seen": `["x"]`,
		"until": "2026-03-01T12:00:00Z", "level": "low", "flag": "false",
	}
	tests := []struct {
		name   string
		op     string
		inputs in
		change map[string]string // "" removes
		code   string
	}{
		{"right sides read the old record", "swap", in{"who": interp.String("y")}, map[string]string{"a": `"2"`, "b": `"1"`, "hits": "1", "seen": `["x","y"]`}, ""},
		{"a member that is there", "swap", in{"who": interp.String("x")}, map[string]string{"a": `"2"`, "b": `"1"`, "hits": "1"}, ""},
		{"or same, or absent: sent", "keep", in{"a": interp.String("8"), "b": interp.String("9")}, map[string]string{"a": `"8"`, "b": `"9"`}, ""},
		{"or same, or absent: not sent", "keep", nil, map[string]string{"b": ""}, ""},
		{"literals, actor and now", "mark", nil, map[string]string{"n": "9", "level": "high", "flag": "true", "until": "2026-03-01T12:01:40Z", "a": `"w1"`}, ""},
		{"clear", "wipe", nil, map[string]string{"a": "", "until": ""}, ""},
		{"the branch reads the stored record", "twice", in{"who": interp.String("y"), "also": interp.String("z"), "go": interp.Word("here")}, map[string]string{"a": `"2"`, "b": `"1"`, "hits": "1", "seen": `["x","y"]`, "more": `["z"]`}, ""},
		{"a branch without effects", "twice", in{"who": interp.String("y"), "also": interp.String("z"), "go": interp.Word("there")}, map[string]string{"state": "shut", "a": `"2"`, "hits": "1", "seen": `["x","y"]`}, ""},
		{"the last branch", "twice", in{"who": interp.String("y"), "also": interp.String("z"), "go": interp.Word("nowhere")}, map[string]string{"a": `"2"`, "b": "", "hits": "1", "seen": `["x","y"]`}, ""},
		{"a branch that rejects", "twice", in{"who": interp.String("y"), "also": interp.String("z"), "go": interp.Word("back")}, nil, interp.CodeGuard},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, refusal := interp.Decide(m, start, interp.Call{Op: m.Operation(tt.op), Actor: "w1", At: at(10), Inputs: tt.inputs}, interp.Others{})
			if tt.code != "" {
				if refusal == nil || refusal.Code != tt.code || refusal.Sentinel != "no_way_back" || refusal.Guard != "no_way_back" {
					t.Errorf("got %v, want %s", refusal, tt.code)
				}
				return
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := map[string]string{}
			for k, v := range was {
				want[k] = v
			}
			for k, v := range tt.change {
				if want[k] = v; v == "" {
					delete(want, k)
				}
			}
			if diff := cmp.Diff(want, show(m, d.Record)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(was, show(m, start)); diff != "" {
		t.Errorf("the stored record was changed:\n%s", diff)
	}
}

// A record in no state of the machine is refused by every operation.
func TestDecideWithoutAState(t *testing.T) {
	t.Parallel()
	m := shipped(t, "jobstate")
	for _, op := range m.Operations[1:] {
		if _, refusal := interp.Decide(m, interp.NewRecord(m, "a"), valid(op), interp.Others{}); refusal == nil || refusal.Code != interp.CodeWrongState {
			t.Errorf("%s: %v, want wrong_state", op.Name, refusal)
		}
	}
}

// A creation whose store gave no number does not make a record without one.
func TestDecideNeedsTheNumberOfASequence(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution")
	_, refusal := interp.Decide(m, interp.NewRecord(m, "a"), interp.Call{
		Op: m.Operation("lease"), Actor: "w1", At: t0,
		Inputs: in{"job_id": interp.String("j"), "lease_expires_at": interp.Time(at(60))},
	}, interp.Others{})
	if refusal == nil || refusal.Code != interp.CodeOverflow || refusal.Name != "attempt" {
		t.Errorf("got %v, want overflow (attempt)", refusal)
	}
}

// `choose` looks at the record after the effects: the event that satisfies the
// last expectation is the one that ends the job.
func TestDecideChoosesAfterTheEffects(t *testing.T) {
	t.Parallel()
	m := shipped(t, "jobstate")
	running := interp.NewRecord(m, "a").In(m.State("running")).
		With(m, "expected", interp.Set("x", "y")).With(m, "satisfied", interp.Set("x"))
	for name, want := range map[string]string{"x": "running", "y": "done"} {
		d, refusal := interp.Decide(m, running, interp.Call{Op: m.Operation("expected_event"), At: t0, Inputs: in{"name": interp.String(name)}}, interp.Others{})
		if refusal != nil || d.To.Name != want || d.Branch == nil {
			t.Errorf("event %s leads to %+v, want %s (%v)", name, d.To, want, refusal)
		}
	}
}

func TestDecideRecordOnly(t *testing.T) {
	t.Parallel()
	m := shipped(t, "jobstate")
	running := interp.NewRecord(m, "a").In(m.State("running")).With(m, "expected", interp.Set("x"))
	compensating := interp.NewRecord(m, "a").In(m.State("compensating")).
		With(m, "expected", interp.Set("x")).With(m, "compensation_policy", interp.String("p"))
	tests := []struct {
		name   string
		record interp.Record
		op     string
		inputs in
		guard  string
	}{
		{"a cell", running, "job_kick", nil, ""},
		{"a cell skips require", running.In(m.State("done")), "expected_event", in{"name": interp.String("z")}, ""},
		{"a guard with on_refusal", running, "expected_event", in{"name": interp.String("z")}, "is_expected"},
		{"a branch", compensating, "compensation_event", in{"decision": interp.Word("undecided")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, refusal := interp.Decide(m, tt.record, interp.Call{Op: m.Operation(tt.op), At: at(9), Inputs: tt.inputs}, interp.Others{})
			if refusal != nil {
				t.Fatal(refusal)
			}
			if !d.RecordOnly || d.Guard != tt.guard || !d.Record.Equal(tt.record) || len(d.Changed) > 0 {
				t.Errorf("decision %+v, want record only (guard %q)", d, tt.guard)
			}
		})
	}
}

// The target's invariants are looked at once more: a record that was corrupt
// before the call does not come through.
func TestDecideRefusesCorruptRecords(t *testing.T) {
	t.Parallel()
	m := shipped(t, "lifecycle")
	corrupt := job(m, "claimed").With(m, "lease", interp.Absent)
	_, refusal := interp.Decide(m, corrupt, interp.Call{Op: m.Operation("start"), Actor: "w1", At: at(9)}, interp.Others{})
	if refusal == nil || refusal.Code != interp.CodeInvariant || refusal.Name != "lease is present" {
		t.Errorf("got %v, want invariant (lease is present)", refusal)
	}
}

// A counter below 0 is found when the record is loaded: no step can make one, so
// none looks at it again, whether it counts on or leaves the counter alone.
func TestDecideLeavesCountersToTheLoad(t *testing.T) {
	t.Parallel()
	m := parse(t, `
fsm: 1
machine: lift
entity: Lift
otherwise: reject
fields: {rides: {type: counter, changed_by: [ride]}}
states: {low: {}, high: {}, gone: {terminal: true}}
operations:
  make: {creates: low}
  ride: {from: low, to: high, increment: [rides]}
  fall: {from: high, to: low}
  end: {from: [low, high], to: gone}
`)
	for op, want := range map[string]int64{"ride": -2, "end": -3} {
		corrupt := interp.NewRecord(m, "a").In(m.State("low")).With(m, "rides", interp.Int(-3))
		if found := interp.Check(m, corrupt); len(found) != 1 || found[0].Rule != "rides" || !found[0].Must {
			t.Errorf("the load finds %v, want the rule rides", found)
		}
		d, refusal := interp.Decide(m, corrupt, interp.Call{Op: m.Operation(op), At: at(9)}, interp.Others{})
		if refusal != nil || d.Record.Value(m, m.Field("rides")).Num != want {
			t.Errorf("%s: got %+v, %v; want %d rides", op, d, refusal, want)
		}
	}
}

func TestBranchesOfASource(t *testing.T) {
	t.Parallel()
	m := unproven(t, `
fsm: 1
machine: lift
entity: Lift
otherwise: reject
fields:
  load: int
states:
  low: {}
  high: {}
  stuck: {terminal: true}
operations:
  make: {creates: [low, high], input: {up: bool}, set: {load: input}, choose: [{when: input.up == true, to: high}, {to: low}]}
  move:
    from: [low, high]
    choose:
      - {from: low, when: load < 5, to: high}
      - {from: high, to: low}
      - {from: low, when: load > 7, to: stuck}
`)
	lift := func(state string, load int64) interp.Record {
		return interp.NewRecord(m, "a").In(m.State(state)).With(m, "load", interp.Int(load))
	}
	tests := []struct {
		state string
		load  int64
		to    string // empty: no branch fits
	}{
		{"low", 4, "high"}, {"high", 4, "low"}, {"high", 9, "low"}, {"low", 8, "stuck"}, {"low", 6, ""},
	}
	for _, tt := range tests {
		d, refusal := interp.Decide(m, lift(tt.state, tt.load), interp.Call{Op: m.Operation("move"), At: t0}, interp.Others{})
		switch {
		case tt.to == "" && (refusal == nil || refusal.Code != interp.CodeInvariant || refusal.Name != "choose"):
			t.Errorf("%s with %d: %+v, %v; want a broken invariant", tt.state, tt.load, d, refusal)
		case tt.to != "" && (refusal != nil || d.To.Name != tt.to):
			t.Errorf("%s with %d: %+v, %v; want %s", tt.state, tt.load, d, refusal, tt.to)
		}
	}
	for up, want := range map[bool]string{true: "high", false: "low"} {
		s := tell(t, m)
		if out := s.does(s.call("make", in{"load": interp.Int(1), "up": interp.Bool(up)})); out.Record.State.Name != want {
			t.Errorf("made in %s, want %s", out.Record.State.Name, want)
		}
	}
}
