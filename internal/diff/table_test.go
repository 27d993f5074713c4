package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/diff"
)

// swap replaces a text wherever it stands.
type swap struct{ old, next string }

// changes are single changes of the shipped specifications with what must be
// said about them: codes with their classes, without repetitions, and a part of
// one message or hint. Compatible changes without a code are "compatible".
var changes = []struct {
	name, machine string
	swaps         []swap
	want          []string
	says          string
}{
	// FSM701
	{"state renamed without was", "task", []swap{{"pending", "waiting"}},
		[]string{"FSM701 DATA", "FSM705 BEHAVIOR", "FSM709 compatible", "FSM710 BEHAVIOR", "compatible"}, "if waiting is the same state under a new name, write `was: pending` on it"},
	{"state renamed with was", "task", []swap{{"pending", "waiting"}, {"waiting:", "waiting:\n    was: pending"}},
		[]string{"FSM703 SOURCE", "compatible"}, "state pending is called waiting"},
	{"state removed", "ingest", []swap{{"  - {from: pending, to: quarantined, reason: it has not failed}\n", ""},
		{"  - {from: running, to: quarantined, reason: it fails first}\n", ""}, {"  - {from: quarantined, to: running, reason: only an operator leads it back}\n", ""},
		{"  - {from: quarantined, to: succeeded, reason: only an operator leads it back}\n", ""}, {"  - {from: quarantined, to: failed, reason: only an operator leads it back}\n", ""},
		{"  quarantined:                # 003:34\n    doc: The job is given up; only an operator leads it back.\n    invariant: [attempts >= 1]                     # 003:278 follows from it\n    kind: trouble\n", ""},
		{"to: quarantined", "to: failed"}, {"record_only_in: [quarantined]                  # 003:58 (C14)", "doc: x"}, {"from: quarantined  ", "from: failed  "},
		{"    doc: It gives a failed job up.\n", ""}},
		[]string{"FSM701 DATA", "FSM705 BEHAVIOR", "FSM710 BEHAVIOR", "compatible"}, "`removed: {quarantined: {to: <state>}}`"},
	{"field removed", "ingest", []swap{{"  run_after:\n    type: time                # 003:410 retry_delay_seconds\n    changed_by: [enqueue, reschedule, release, retry_stalled]   # 003:410 whatever leads to pending says when it is due\n    doc: The job is not started before this instant.\n", ""},
		{"run_after <= now", "attempts >= 0"}, {"    set: {run_after: now}\n", ""}, {"next: {order: [run_after]}", "next: {order: [attempts]}"},
		{"    set: {run_after: input}", "   "}, {"    set: {run_after: now + 1m}", "   "}},
		[]string{"FSM701 DATA", "FSM703 SOURCE", "FSM704 BEHAVIOR", "FSM705 BEHAVIOR", "FSM710 BEHAVIOR"}, "field run_after is gone"},
	{"field renamed without was", "ingest", []swap{{"attempts", "tries"}},
		[]string{"FSM701 DATA", "FSM706 DATA", "FSM707 BEHAVIOR", "FSM710 BEHAVIOR", "compatible"}, "write `was: attempts` on it"},
	{"field renamed with was", "ingest", []swap{{"attempts", "tries"}, {"type: counter", "type: counter\n    was: attempts"}},
		[]string{"FSM703 SOURCE"}, "field attempts is called tries"},
	{"event renamed without was", "execution", []swap{{"event: started", "event: begun"}},
		[]string{"FSM701 DATA", "FSM709 compatible"}, "`was: {event: started}`"},
	{"event renamed with was", "execution", []swap{{"event: started", "event: begun\n    was: {event: started}"}},
		[]string{"FSM703 SOURCE"}, "event started is called begun"},
	{"machine renamed", "task", []swap{{"machine: task", "machine: chore"}}, []string{"FSM701 DATA"}, "give it the old name"},

	// FSM702
	{"kind changed", "ingest", []swap{{"type: time ", "type: string "}, {"run_after <= now", "run_after == actor"}, {"{run_after: now}", "{run_after: actor}"}, {"{run_after: now + 1m}", "{run_after: actor}"}},
		[]string{"FSM702 DATA", "FSM703 SOURCE", "FSM704 BEHAVIOR", "FSM705 BEHAVIOR", "FSM710 BEHAVIOR"}, "field run_after is string, it was time"},
	{"optional to required", "lifecycle", []swap{{"  payload:                    # not in the source: the work itself; no rule looks at it\n    type: optional json", "  payload:\n    type: json"}, {"payload: input or absent", "payload: input"}},
		[]string{"FSM702 DATA", "FSM703 SOURCE", "FSM710 BEHAVIOR"}, "field payload is mandatory, it was optional"},
	{"required to optional", "ingest", []swap{{"type: time ", "type: optional time "}}, []string{"FSM703 SOURCE"}, "field run_after is optional"},
	{"mandatory field added", "ingest", []swap{{"  run_after:\n", "  size: {type: int}\n  run_after:\n"}, {"{run_after: now}\n\n  start:", "{run_after: now, size: 1}\n\n  start:"}},
		[]string{"FSM702 DATA", "FSM710 BEHAVIOR"}, "field size is new and mandatory"},
	{"mandatory field with a default added", "ingest", []swap{{"  run_after:\n", "  size: {type: int, default: 1}\n  run_after:\n"}},
		[]string{"compatible"}, "field size is new; old records have its default 1"},
	{"mandatory field with a default added and set", "ingest", []swap{{"  run_after:\n", "  size: {type: int, default: 1}\n  run_after:\n"}, {"{run_after: now}\n\n  start:", "{run_after: now, size: 2}\n\n  start:"}},
		[]string{"FSM710 BEHAVIOR", "compatible"}, "field size is new; old records have its default 1"},
	{"optional field added", "ingest", []swap{{"  run_after:\n", "  note: optional string\n  run_after:\n"}}, []string{"compatible"}, "field note is new"},
	{"value of an input removed", "jobstate", []swap{{"done|failed|undecided", "done|failed"}},
		[]string{"FSM703 SOURCE"}, "no longer has the value undecided"},
	{"value of an input added", "jobstate", []swap{{"done|failed|undecided", "done|failed|undecided|unknown"}},
		[]string{"FSM709 compatible"}, "has the new value unknown"},
	{"group of a sequence", "execution", []swap{{"per: job_id", "per: lease_owner"}}, []string{"FSM702 DATA"}, "numbered per lease_owner, it was per job_id"},

	// FSM703
	{"operation removed", "ingest", []swap{{"  progress:                                        # 003:46\n    doc: The worker is alive, so a long job does not look stalled.\n    from: running                                  # 003:46 \"update in-flight\" (C14)\n    to: same                                       # 003:46,386 (C18)\n    set: {active_at: now}                          # 003:386\n", ""}, {"[reschedule, start, progress,", "[reschedule, start,"}},
		[]string{"FSM701 DATA", "FSM703 SOURCE", "compatible"}, "operation progress is gone"},
	{"operation renamed without was", "lifecycle", []swap{{"\n  heartbeat:", "\n  beat:"}, {"[claim_next, heartbeat,", "[claim_next, beat,"}},
		[]string{"FSM703 SOURCE", "FSM713 BEHAVIOR", "compatible"}, "write `was: heartbeat` on it"},
	{"operation renamed with was", "lifecycle", []swap{{"\n  heartbeat:", "\n  beat:\n    was: heartbeat"}, {"[claim_next, heartbeat,", "[claim_next, beat,"}}, []string{"FSM703 SOURCE"}, "operation heartbeat is called beat"},
	{"operation added", "ingest", []swap{{"  progress:  ", "  poke: {from: running, to: same}\n  progress:  "}}, []string{"FSM709 compatible", "compatible"}, "operation poke is new"},
	{"required input added", "ingest", []swap{{"    to: same   ", "    input: {done: int}\n    to: same   "}}, []string{"FSM703 SOURCE"}, "operation progress asks for the input done"},
	{"the first optional input", "ingest", []swap{{"    to: same   ", "    input: {done: optional int}\n    to: same   "}}, []string{"FSM703 SOURCE"}, "progress takes the optional input done, its first one"},
	{"a further optional input", "lifecycle", []swap{{"    set: {result: input}", "    input: {note: optional string}\n    set: {result: input}"}}, []string{"compatible"}, "takes the optional input note"},
	{"the actor is read", "lifecycle", []swap{{"    event: requeued", "    require: [owner_only]\n    event: requeued"}}, []string{"FSM703 SOURCE", "FSM704 BEHAVIOR"}, "the pure form of operation requeue_stalled takes the actor now"},
	{"input removed", "ingest", []swap{{"set: {run_after: input}", "set: {run_after: now}"}}, []string{"FSM703 SOURCE", "FSM710 BEHAVIOR"}, "no longer takes the input run_after"},
	{"run by the operator", "ingest", []swap{{"by: operator ", "by: caller "}}, []string{"FSM703 SOURCE"}, "operation release is run by the caller, it was by the operator"},
	{"error of a guard", "ingest", []swap{{"error: not_due", "error: too_early"}}, []string{"FSM703 SOURCE"}, "guard due refuses as too_early"},
	{"error of a unique", "execution", []swap{{"in: [leased, in_progress]\n    error: job_already_leased", "in: [leased, in_progress]\n    error: job_taken"}}, []string{"FSM703 SOURCE"}, "refuses as job_taken"},
	{"entity", "task", []swap{{"entity: Task", "entity: Chore"}}, []string{"FSM703 SOURCE"}, "entity Task is called Chore"},
	{"probe added", "ingest", []swap{{"probes:\n", "probes:\n  disk_free: {doc: x, message: y}\n"}}, []string{"FSM703 SOURCE"}, "implement it in Probes"},
	{"next removed", "ingest", []swap{{"    next: {order: [run_after]}", "   "}}, []string{"FSM703 SOURCE"}, "start no longer picks a record"},

	// FSM704 and FSM705
	{"transition refused", "ingest", []swap{{"from: [pending, failed]", "from: [pending]"}}, []string{"FSM704 BEHAVIOR"}, "reschedule in failed is refused, it was a transition"},
	{"recording refused", "ingest", []swap{{"    record_only_in: [succeeded]", "   "}}, []string{"FSM704 BEHAVIOR"}, "succeed in succeeded is refused, it was recorded only"},
	{"refusal allowed", "ingest", []swap{{"from: [pending, failed]", "from: [pending, failed, quarantined]"}}, []string{"FSM705 BEHAVIOR"}, "reschedule in quarantined is a transition, it was refused"},
	{"otherwise", "task", []swap{{"otherwise: reject", "otherwise: record_only"}}, []string{"FSM705 BEHAVIOR", "compatible"}, "is recorded only, it was refused"},
	{"guard added", "ingest", []swap{{"    to: same   ", "    require: [due]\n    to: same   "}}, []string{"FSM704 BEHAVIOR"}, "operation progress requires due"},
	{"guard of start removed", "ingest", []swap{{"    require: [due]", "   "}}, []string{"FSM705 BEHAVIOR"}, "operation start no longer requires due"},
	{"guard weakened", "execution", []swap{{"when: now < lease_expires_at", "when: now <= lease_expires_at"}}, []string{"FSM705 BEHAVIOR"}, "no longer asks for `now < lease_expires_at`"},
	{"guard strengthened", "ingest", []swap{{"when: run_after <= now", "when: run_after < now"}}, []string{"FSM704 BEHAVIOR"}, "asks for `run_after < now`"},
	{"fewer lowered", "execution", []swap{{"fewer: {than: 5,", "fewer: {than: 3,"}}, []string{"FSM704 BEHAVIOR"}, "allows fewer than 3 others, it allowed fewer than 5"},
	{"fewer raised", "execution", []swap{{"fewer: {than: 5,", "fewer: {than: 9,"}}, []string{"FSM705 BEHAVIOR"}, "allows fewer than 9 others, it allowed fewer than 5"},
	{"another group", "execution", []swap{{"fewer: {than: 5, same: job_id,", "fewer: {than: 5, same: {job_id: input.job_id},"}},
		[]string{"FSM704 BEHAVIOR", "FSM705 BEHAVIOR"}, "counts those whose job_id is input.job_id"},
	{"another limit", "execution", []swap{
		{"fewer: {than: 5, same", "fewer: {than: input.most, same"},
		{"    require: [lease_ahead, job_not_committed,", "    input: {most: int}\n    require: [lease_ahead, job_not_committed,"},
	},
		[]string{"FSM703 SOURCE", "FSM704 BEHAVIOR", "FSM705 BEHAVIOR"}, "allows fewer than input.most others, it allowed fewer than 5"},
	{"unique removed", "execution", []swap{{"  one_lease_per_job:          # 000:12,129 a lease is acquired only while the job is PENDING\n    fields: [job_id]\n    in: [leased, in_progress]\n    error: job_already_leased\n    message: another execution of this job holds a lease\n", ""}},
		[]string{"FSM705 BEHAVIOR"}, "the rule one_lease_per_job is gone: job_id is unique in leased, in_progress"},
	{"unique in fewer states", "execution", []swap{{"    in: [committed, done]\n    error", "    in: [committed]\n    error"}}, []string{"FSM705 BEHAVIOR"}, "no longer holds in done"},
	{"forbidden removed", "task", []swap{{"  - {from: completed, to: running, reason: no re-execution of completed tasks}      # 004:91-92\n", ""}}, []string{"FSM705 BEHAVIOR"}, "from completed to running is no longer forbidden"},
	{"dedupe removed", "lifecycle", []swap{{"    dedupe_by: dedupe_key", "   "}}, []string{"FSM704 BEHAVIOR", "FSM705 BEHAVIOR"}, "no longer finds an existing record"},
	{"on_refusal", "jobstate", []swap{{"    on_refusal: record_only", "   "}}, []string{"FSM704 BEHAVIOR"}, "is refused when a guard fails"},
	{"branch refused", "jobstate", []swap{{"      - {record_only: true} ", "      - {reject: undecided} "}}, []string{"FSM704 BEHAVIOR"}, "refused as undecided"},
	{"request id demanded", "ingest", []swap{{"request_id: optional", "request_id: required"}}, []string{"FSM704 BEHAVIOR"}, "requests.request_id is required"},

	// FSM706 and FSM707
	{"presence added", "lifecycle", []swap{{"present: [result]  ", "present: [result, payload]  "}}, []string{"FSM706 DATA"}, "state succeeded demands `payload is present`"},
	{"invariant strengthened", "ingest", []swap{{"succeeded:                  # 003:32\n    doc: The job completed successfully.\n    terminal: true            # 003:53-55,132-133,445\n    invariant: [attempts >= 1] ", "succeeded:\n    doc: The job completed successfully.\n    terminal: true\n    invariant: [attempts >= 2] "}},
		[]string{"FSM706 DATA"}, "state succeeded demands `attempts >= 2`"},
	{"invariant weakened", "ingest", []swap{{"attempts >= 1", "attempts >= 0"}}, []string{"FSM707 BEHAVIOR"}, "no longer demands `attempts >= 1`"},
	{"invariant of the machine", "ingest", []swap{{"states:\n", "invariant: [attempts <= 9]\nstates:\n"}}, []string{"FSM706 DATA"}, "the invariant `attempts <= 9` is new"},
	{"invariant moved up", "lifecycle", []swap{{"states:\n", "invariant: [attempt >= 0]\nstates:\n"}}, []string{"FSM706 DATA"}, "the invariant `attempt >= 0` is new"},
	{"invariant removed", "lifecycle", []swap{{"    invariant: [attempt >= 1]", "   "}}, []string{"FSM707 BEHAVIOR"}, "state claimed no longer demands `attempt >= 1`"},
	{"unique added", "ingest", []swap{{"guards:\n", "unique:\n  one_run: {fields: [attempts], in: [running], error: taken}\n\nguards:\n"}}, []string{"FSM706 DATA"}, "attempts is unique in running: the rule one_run is new"},
	{"unique in more states", "execution", []swap{{"    in: [leased, in_progress]\n    error", "    in: [leased, in_progress, aborted]\n    error"}}, []string{"FSM706 DATA"}, "holds in aborted too"},
	{"dedupe added", "execution", []swap{{"    creates: leased   ", "    dedupe_by: lease_owner\n    creates: leased   "}}, []string{"FSM705 BEHAVIOR", "FSM706 DATA"}, "returns the existing record"},

	// FSM708 to FSM713
	{"not terminal any more", "ingest", []swap{{"    terminal: true            # 003:53-55,132-133,445\n", ""}}, []string{"FSM708 BEHAVIOR"}, "state succeeded is no longer terminal"},
	{"terminal", "ingest", []swap{{"doc: The job is given up; only an operator leads it back.", "terminal: true"}}, []string{"FSM708 BEHAVIOR", "compatible"}, "state quarantined is terminal now"},
	{"final", "ingest", []swap{{"doc: The job is given up; only an operator leads it back.", "final: true"}}, []string{"FSM708 BEHAVIOR", "compatible"}, "Purge removes its records"},
	{"state added", "ingest", []swap{{"  quarantined:  ", "  parked: {}\n  quarantined:  "}, {"  progress:  ", "  park: {from: pending, to: parked}\n  unpark: {from: parked, to: pending}\n  progress:  "}},
		[]string{"FSM709 compatible", "compatible"}, "state parked is new"},
	{"duration in an effect", "ingest", []swap{{"now + 1m", "now + 90s"}}, []string{"FSM710 BEHAVIOR"}, "run_after = now + 90s"},
	{"target", "ingest", []swap{{"    to: failed                                     # 003:45", "    to: quarantined  #"}}, []string{"FSM710 BEHAVIOR"}, "operation fail leads to quarantined, it led to failed"},
	{"branch", "jobstate", []swap{{"when: satisfied covers expected", "when: expected covers satisfied"}}, []string{"FSM710 BEHAVIOR"}, "a branch of operation expected_event"},
	{"order of picking", "ingest", []swap{{"order: [run_after]", "order: [created_at]"}}, []string{"FSM710 BEHAVIOR"}, "start picks by created_at"},
	{"then", "ingest", []swap{{"    then: retry_stalled", "   "}}, []string{"FSM710 BEHAVIOR"}, "fail_stalled is followed by nothing"},
	{"trigger removed", "task", []swap{{"    trigger: [startup]", "   "}}, []string{"FSM710 BEHAVIOR"}, "is no longer fired at startup"},
	{"duration of a trigger", "ingest", []swap{{"after active_at + 10m]", "after active_at + 15m]"}}, []string{"compatible"}, "after active_at + 15m, it was fired after active_at + 10m"},
	{"rule of the projection", "execution", []swap{{"any: [leased, in_progress, committed]", "any: [leased, in_progress]"}}, []string{"FSM711 BEHAVIOR"}, "Job is running by another rule"},
	{"step of the projection", "execution", []swap{{"    - {from: running, to: pending}                                 # 000:24,106,131 (C1)\n", ""}}, []string{"FSM711 BEHAVIOR"}, "no longer goes from running to pending"},
	{"name of an effect", "task", []swap{{"name: execute_task", "name: run_task"}}, []string{"FSM712 DATA"}, "the effect of start is run_task"},
	{"key of an effect", "execution", []swap{{"key: job_id, atomic", "key: [job_id, attempt], atomic"}}, []string{"FSM712 DATA"}, "the key of effect apply_result is job_id, attempt"},
	{"atomic", "execution", []swap{{"key: job_id, atomic: true", "key: job_id"}}, []string{"FSM712 DATA"}, "runs after the commit"},
	{"effect added", "ingest", []swap{{"    to: same   ", "    effect: {name: poke}\n    to: same   "}}, []string{"FSM710 BEHAVIOR"}, "progress has the effect poke"},
	{"effect in a list", "task", []swap{{"effect: {name: execute_task, key: id, then: complete}", "effect: [{name: execute_task, key: id, then: complete}, {name: tell}]"}}, []string{"FSM710 BEHAVIOR"}, "start has the effect tell"},
	{"request id weakened", "execution", []swap{{"request_id: required ", "request_id: optional "}}, []string{"FSM713 BEHAVIOR"}, "requests.request_id is optional"},
	{"revision weakened", "execution", []swap{{"expected_rev: required ", "expected_rev: none "}}, []string{"FSM713 BEHAVIOR"}, "requests.expected_rev is none"},
	{"changed_by dropped", "ingest", []swap{{"    changed_by: [start]", "   "}}, []string{"FSM713 BEHAVIOR"}, "any operation may change field attempts"},
	{"changed_by widened", "ingest", []swap{{"changed_by: [start]", "changed_by: [start, progress]"}, {"    to: same   ", "    increment: [attempts]\n    to: same   "}},
		[]string{"FSM710 BEHAVIOR", "FSM713 BEHAVIOR"}, "field attempts is changed by progress too"},

	// What breaks nobody.
	{"doc", "task", []swap{{"doc: It makes the task known to the scheduler.", "doc: Makes it known."}}, []string{"compatible"}, "the doc of operation submit changed"},
	{"message", "ingest", []swap{{"message: the job is not due yet", "message: wait"}}, []string{"compatible"}, "the message of guard due changed"},
	{"version", "task", []swap{{"entity: Task", "entity: Task\nversion: 2"}}, []string{"compatible"}, "the version rises from 1 to 2"},
	{"comment", "task", []swap{{"# Tasks of", "# The tasks of"}}, []string{}, "nothing changed"},
}

func TestChanges(t *testing.T) {
	t.Parallel()
	specs := shipped(t)
	ran := 0
	for _, tt := range changes {
		ran++
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := specs[tt.machine]
			for _, s := range tt.swaps {
				if !strings.Contains(src, s.old) {
					t.Fatalf("%s.yaml does not hold %q", tt.machine, s.old)
				}
				src = strings.ReplaceAll(src, s.old, s.next)
			}
			next := parse("new.yaml", src)
			if next == nil {
				t.Fatalf("the new version cannot be read:\n%s", src)
			}
			r := diff.Machines(parse("old.yaml", specs[tt.machine]), next)
			got := []string{}
			for _, c := range r.Changes {
				got = append(got, strings.TrimSpace(c.Code+" "+string(c.Class)))
			}
			slices.Sort(got)
			if d := cmp.Diff(tt.want, slices.Compact(got)); d != "" {
				t.Errorf("(-want +got):\n%s\n%s", d, r.Text())
			}
			if !strings.Contains(r.Text(), tt.says) {
				t.Errorf("want a message that says %q, got\n%s", tt.says, r.Text())
			}
			breaking := slices.ContainsFunc(tt.want, func(w string) bool { return !strings.HasSuffix(w, "compatible") })
			if r.Breaking() != breaking {
				t.Errorf("breaking is %t, want %t", r.Breaking(), breaking)
			}
		})
	}
	if ran < 30 {
		t.Errorf("%d changes ran, want at least 30", ran)
	}
}
