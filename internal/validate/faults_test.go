package validate_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// fault is one mistake that somebody could make in one of the five machines: a
// text and what is written instead. Each want is a code and a piece of the
// line, after the edit, where the error stands.
type fault struct {
	name, machine string
	from, to      string
	want          []string // "FSM301 claim_next:"
}

// faults are mistakes within one record. Those of groups of records have a
// table of their own.
var faults = []fault{
	{"a missing clear", "lifecycle", "    trigger: [after lease]                         # 002:32,110 when exactly belongs to plan 04: overridable at Open\n    clear: [owner, lease]", "    trigger: [after lease]\n    clear: [lease]",
		[]string{"FSM403     changed_by: [claim_next, complete, fail, stall]", "FSM301   stall:"}},
	{"a clear that takes what the target needs", "lifecycle", "    set: {lease: input}                            # 002:29", "    input: {lease: time}\n    clear: [lease]                                 # 002:29",
		[]string{"FSM301     clear: [lease]", "FSM301     clear: [lease]"}},
	{"a forgotten set", "lifecycle", "set: {owner: actor, lease: input}", "input: {lease: time}\n    set: {owner: actor}",
		[]string{"FSM403     changed_by: [claim_next, heartbeat, ", "FSM301   claim_next:"}},
	{"a result that may be absent", "lifecycle", "set: {result: input}", "set: {result: input or absent}",
		[]string{"FSM301     set: {result: input or absent}"}},
	{"a swapped target", "lifecycle", "to: succeeded                                  # 002:74", "to: failed                                     # 002:74",
		[]string{"FSM103   succeeded:", "FSM301   complete:", "FSM301     set: {result: input}"}},
	{"the counter is not raised", "lifecycle", "    increment: [attempt]                           # 002:97\n", "",
		[]string{"FSM403     changed_by: [claim_next]", "FSM302   claim_next:"}},
	{"the counter is raised elsewhere, too", "lifecycle", "    event: started ", "    increment: [attempt]\n    event: started ",
		[]string{"FSM402     increment: [attempt]\n"}},
	{"a wider source", "lifecycle", "from: claimed                                  # 002:69", "from: [claimed, stalled]                       # 002:69",
		[]string{"FSM108     from: [claimed, stalled]", "FSM204     require: [owner_only]"}},
	{"a requeue from where the owner still is", "lifecycle", "from: stalled                                  # 002:81", "from: [stalled, running]                       # 002:81",
		[]string{"FSM301   requeue_stalled:", "FSM301   requeue_stalled:", "FSM108     from: [stalled, running]"}},
	{"a terminal state is left", "lifecycle", "from: stalled                                  # 002:81", "from: [stalled, failed]                        # 002:81",
		[]string{"FSM301   requeue_stalled:", "FSM301   requeue_stalled:", "FSM301   requeue_stalled:", "FSM105     from: [stalled, failed]"}},
	{"an owner who completes what was not started", "lifecycle", "from: running                                  # 002:74", "from: [claimed, running]                       # 002:74",
		[]string{"FSM108     from: [claimed, running]"}},
	{"an invariant that nothing keeps", "lifecycle", "invariant: [attempt >= 1]                      # 002:97 follows from it\n  running:", "invariant: [attempt >= 2]                      # 002:97 follows from it\n  running:",
		[]string{"FSM302     increment: [attempt]"}},

	{"no time of the start", "execution", "    set: {started_at: now}                         # 000:64\n", "",
		[]string{"FSM403     changed_by: [start]", "FSM301   start:"}},
	{"no time of the end", "execution", "    set: {finished_at: now}                        # 000:64\n    trigger: [startup, after lease_expires_at]", "    trigger: [startup, after lease_expires_at]",
		[]string{"FSM403     changed_by: [finish, reconcile, expire]        # 000:64", "FSM301   reconcile:"}},
	{"a start that is not the leased one", "execution", "from: leased                                   # 000:115", "from: [leased, aborted]                        # 000:115",
		[]string{"FSM301   start:", "FSM502   start:", "FSM105     from: [leased, aborted]"}},
	{"an abort that skips the time", "execution", "    trigger: [after lease_expires_at]              # 000:22,121-122 a crash shows as the end of the lease (C5)\n    set: {finished_at: now}", "    trigger: [after lease_expires_at]\n    set: {started_at: now}",
		[]string{"FSM403     changed_by: [finish, reconcile, expire]        # 000:64", "FSM301   expire:", "FSM402     set: {started_at: now}"}},
	{"an end of the lease that waits for the contrary", "execution", "when: lease_expires_at <= now", "when: lease_expires_at > now",
		[]string{"FSM206     trigger: [after lease_expires_at]"}},
	{"a lease without its end", "execution", "set: {job_id: input, lease_owner: actor, lease_expires_at: input}", "set: {job_id: input, lease_owner: actor}",
		[]string{"FSM010     require: [lease_ahead, job_not_committed, job_not_leased, attempts_left]   # 000:62,81,91,99,129"}},

	{"a weakened guard on a branch", "jobstate", "when: compensation_policy is present, to: compensating", "when: expected is present, to: compensating",
		[]string{"FSM301       - {when: expected is present, to: compensating}"}},
	{"overlapping branches", "jobstate", "- {when: compensation_policy is present, to: compensating}   # 001:52,56,83\n", "- {when: expected is present, to: failed}\n      - {when: expected covers expected, to: compensating}\n",
		[]string{"FSM301       - {when: expected covers expected, to: compensating}", "FSM201       - {to: failed}"}},
	{"the default comes first", "jobstate", "      - {when: satisfied covers expected, to: done}                # 001:62,82\n      - {to: running}                                              # 001:81\n", "      - {to: running}                                              # 001:81\n      - {when: satisfied covers expected, to: done}                # 001:62,82\n",
		[]string{"FSM202       - {to: running}"}},
	{"a verdict that nobody handles", "jobstate", "      - {record_only: true}                                        # 001:88\n", "",
		[]string{"FSM203   compensation_event:"}},
	{"a verdict handled twice", "jobstate", "- {record_only: true} ", "- {when: input.decision == failed, record_only: true} ",
		[]string{"FSM203   compensation_event:", "FSM201       - {when: input.decision == failed, record_only: true}"}},
	{"an effect before a branch that only records", "jobstate", "    record_only_in: [running]                      # not in the table (C11)\n    choose:", "    record_only_in: [running]\n    set: {compensation_policy: actor}\n    choose:",
		[]string{"FSM402     set: {compensation_policy: actor}", "FSM205       - {record_only: true}"}},
	{"done means all satisfied, also after a compensation", "jobstate", "    terminal: true            # 001:63-64,104", "    invariant: [satisfied covers expected]\n    terminal: true            # 001:63-64,104",
		[]string{"FSM302       - {when: input.decision == done, to: done}"}},
	{"an unguarded plan", "jobstate", "    require: [has_plan]                            # 001:62 (C10)\n", "",
		[]string{"FSM301     set: {expected: input,"}},
	{"a missing cell", "jobstate", "    record_only_in: [running]                      # not in the table (C11)\n\n", "\n",
		[]string{"FSM101   job_kick:"}},

	{"a start that is no attempt", "ingest", "    increment: [attempts]                          # 003:278,485\n", "",
		[]string{"FSM403     changed_by: [start]", "FSM302   start:"}},
	{"a stalled job fails from the queue", "ingest", "    from: running                                  # 003:381,409\n    to: failed                                     # 003:409\n    trigger:", "    from: [running, pending]                       # 003:381,409\n    to: failed                                     # 003:409\n    trigger:",
		[]string{"FSM302   fail_stalled:", "FSM108     from: [running, pending]"}},
	{"a retry that is not possible", "ingest", "    then: retry_stalled ", "    then: release ",
		[]string{"FSM107     then: release", "FSM107     then: release"}},
	{"a quarantine from the queue", "ingest", "from: failed                                   # 003:50", "from: [failed, pending]                        # 003:50",
		[]string{"FSM302   quarantine:", "FSM108     from: [failed, pending]"}},

	{"a completion without execution", "task", "    from: running                                  # 004:55", "    from: [running, pending]                       # 004:55",
		[]string{"FSM108     from: [running, pending]"}},
	{"a recovery of what is completed", "task", "    from: running                                  # 004:69", "    from: [running, completed]                     # 004:69",
		[]string{"FSM105     from: [running, completed]", "FSM108     from: [running, completed]"}},
	{"an effect that completes what it did not do", "task", "then: complete}", "then: recover_all}",
		[]string{"FSM010     effect: {name: execute_task, key: id, then: recover_all}"}},
}

// Each mistake is an error at the guilty line, with the right code.
func TestFaults(t *testing.T) {
	t.Parallel()
	if len(faults) < 20 {
		t.Errorf("only %d faults", len(faults))
	}
	for _, tt := range faults {
		t.Run(tt.machine+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			src := string(read(t, filepath.Join("..", "..", "specs", tt.machine+".yaml")))
			if strings.Count(src, tt.from) != 1 {
				t.Fatalf("the text to replace stands %d times in the file:\n%s", strings.Count(src, tt.from), tt.from)
			}
			src = strings.Replace(src, tt.from, tt.to, 1)
			_, found := validate.Source(tt.machine+".yaml", []byte(src))
			lines := strings.Split(src, "\n")
			var got []string
			for _, d := range found {
				if d.Severity == spec.Error {
					got = append(got, fmt.Sprintf("%s %s", d.Code, lines[d.Pos.Line-1]))
				}
			}
			want := make([]string, len(tt.want))
			for i, w := range tt.want {
				want[i] = strings.TrimSuffix(w, "\n")
				if i < len(got) && strings.HasPrefix(got[i], want[i]) {
					want[i] = got[i]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s\n%s", diff, render(found))
			}
		})
	}
}
