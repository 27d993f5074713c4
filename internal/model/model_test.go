package model_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

func parse(t testing.TB, file, src string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse(file, []byte(src))
	if m == nil || found.HasErrors() {
		t.Fatalf("%v\n%s", found, src)
	}
	return m
}

// shipped is one of the project's machines, with edits: each pair is replaced
// once.
func shipped(t testing.TB, name string, edits ...string) *spec.Machine {
	t.Helper()
	b, err := os.ReadFile("../../specs/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	src := string(b)
	for i := 0; i < len(edits); i += 2 {
		if n := strings.Count(src, edits[i]); n != 1 {
			t.Fatalf("%q is there %d times", edits[i], n)
		}
		src = strings.Replace(src, edits[i], edits[i+1], 1)
	}
	return parse(t, name+".yaml", src)
}

// The edits that take a safeguard out of specs/execution.yaml.
const (
	requireAll = "require: [lease_ahead, job_not_committed, job_not_leased, attempts_left]"
	oneLease   = `  one_lease_per_job:          # 000:12,129 a lease is acquired only while the job is PENDING
    fields: [job_id]
    in: [leased, in_progress]
    error: job_already_leased
    message: another execution of this job holds a lease
`
	oneCommitted = `  one_committed_per_job:      # 000:67,135,139,143,178 INV_001
    fields: [job_id]
    in: [committed, done]
    error: job_already_committed
    message: an execution of this job is committed already
`
	uniqueHead = "unique:\n"
	workGuards = "    to: in_progress                                # 000:115\n    require: [holds_lease, lease_live]"
	commitLine = "    to: committed                                  # 000:116\n    require: [holds_lease, lease_live]"
	atomic     = "key: job_id, atomic: true}"
)

// noUnique leaves the guards of execution alone.
var noUnique = []string{oneLease, "", oneCommitted, "", uniqueHead, ""}

func require(guards string) []string {
	return []string{requireAll, "require: [" + guards + "]"}
}

// trace prints what a violation prints.
func trace(t *testing.T, m *spec.Machine, r model.Result) string {
	t.Helper()
	if r.Violation == nil {
		return "holds"
	}
	var b strings.Builder
	if err := r.Violation.Print(&b, m.File); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// FM_001: without the index and without the guards on other executions both
// workers commit. Nothing shorter goes wrong.
func TestFM001(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution", append(require("attempts_left"), oneLease, "", oneCommitted, "", uniqueHead, "")...)
	r := model.Check(m, model.Options{})
	var pos [3]spec.Pos
	for i, op := range []string{"lease", "start", "commit"} {
		pos[i] = m.Operation(op).Pos
	}
	want := fmt.Sprintf(`VIOLATED: effect apply_result applied 2 times for job_id k1
   1  worker 1  lease   #1: (new) -> leased           execution.yaml:%[1]s  {job_id: absent -> "k1", lease_owner: absent -> "w1", lease_expires_at: absent -> to come}
   2  worker 1  lease   #2: (new) -> leased           execution.yaml:%[1]s  {job_id: absent -> "k1", lease_owner: absent -> "w1", lease_expires_at: absent -> to come}
   3  worker 1  start   #1: leased -> in_progress     execution.yaml:%[2]s  {started_at: absent -> now}
   4  worker 1  start   #2: leased -> in_progress     execution.yaml:%[2]s  {started_at: absent -> now}
   5  worker 1  commit  #1: in_progress -> committed  execution.yaml:%[3]s
   6  worker 1  commit  #2: in_progress -> committed  execution.yaml:%[3]s
`, pos[0], pos[1], pos[2])
	if diff := cmp.Diff(want, trace(t, m, r)); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	d := r.Violation.Diagnostic(m)
	if d.Code != "FSM801" || d.Severity != spec.Error || d.Pos != pos[2] || len(d.Related) != 6 || d.Related[2].Message != "step 3: worker 1 start #1: leased -> in_progress {started_at: absent -> now}" {
		t.Errorf("finding %+v", d)
	}
}

// Which safeguard of execution and lifecycle carries the weight.
func TestSafeguards(t *testing.T) {
	t.Parallel()
	three := model.Options{Records: 3}
	with := func(o model.Options, edit func(*model.Options)) model.Options { edit(&o); return o }
	tests := []struct {
		name    string
		machine string
		edits   []string
		o       model.Options
		steps   int // of the shortest way into trouble; 0: holds
		what    string
	}{
		{"nothing", "execution", nil, three, 0, ""},
		{"one_committed_per_job", "execution", []string{oneCommitted, ""}, three, 0, ""},
		{"job_not_leased", "execution", require("job_not_committed, attempts_left"), three, 0, ""},
		{"job_not_committed", "execution", require("job_not_leased, attempts_left"), three, 0, ""},
		{"lease_live and holds_lease", "execution", []string{
			workGuards, strings.Split(workGuards, "\n")[0], commitLine, strings.Split(commitLine, "\n")[0],
		}, three, 0, ""},
		{"all none guards", "execution", require("attempts_left"), three, 0, ""},
		{"unique", "execution", noUnique, three, 0, ""},
		{"unique and job_not_leased", "execution", append(require("job_not_committed, attempts_left"), noUnique...), three, 6, "effect apply_result applied 2 times for job_id k1"},
		{"unique and job_not_committed", "execution", append(require("job_not_leased, attempts_left"), noUnique...), three, 6, "effect apply_result applied 2 times for job_id k1"},
		{"external instead of atomic effect", "execution", []string{atomic, "key: job_id}"}, with(three, func(o *model.Options) { o.EffectOnce = true }), 5, "effect apply_result applied 2 times for job_id k1"},
		{"external effect, at least once", "execution", []string{atomic, "key: job_id}"}, three, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.machine+" without "+tt.name, func(t *testing.T) {
			t.Parallel()
			m := shipped(t, tt.machine, tt.edits...)
			r := model.Check(m, tt.o)
			if (r.Violation == nil) != (tt.steps == 0) || r.Violation != nil && (len(r.Violation.Trace) != tt.steps || r.Violation.What != tt.what) {
				t.Errorf("want %d steps to %q, got %s", tt.steps, tt.what, trace(t, m, r))
			}
			plain := tt.o
			plain.NoSymmetry = true
			p := model.Check(m, plain)
			if (p.Violation == nil) != (r.Violation == nil) || r.Violation != nil && len(p.Violation.Trace) != len(r.Violation.Trace) {
				t.Errorf("with every name told apart: %s", trace(t, m, p))
			}
			if p.Violation == nil && p.States < r.States {
				t.Errorf("%d states with names, %d without", p.States, r.States)
			}
		})
	}
}

// The bounds of the design's table. Records told apart by name give the figures
// of the prototype for execution; leaving names out gives those beside them.
func TestStateCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		machine                  string
		records, groups, workers int
		named, states            int // with and without names; named 0: not counted
	}{
		{"execution", 1, 1, 2, 21, 11},
		{"execution", 2, 1, 2, 101, 49},
		{"execution", 3, 1, 2, 421, 139},
		{"execution", 4, 1, 2, 1701, 318},
		{"execution", 5, 1, 2, 6821, 626},
		{"execution", 6, 1, 2, 6821, 626},
		{"execution", 6, 1, 3, 0, 1063},
		{"execution", 4, 2, 2, 0, 4375},
		{"execution", 5, 2, 2, 0, 14893},
		{"lifecycle", 1, 1, 2, 0, 51},
		{"lifecycle", 3, 1, 2, 0, 19773},
		{"ingest", 1, 1, 2, 21, 21},
		{"jobstate", 1, 1, 2, 43, 43},
		{"task", 1, 1, 2, 5, 5},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d records %d groups %d workers", tt.machine, tt.records, tt.groups, tt.workers), func(t *testing.T) {
			t.Parallel()
			m := shipped(t, tt.machine)
			o := model.Options{Records: tt.records, Groups: tt.groups, Workers: tt.workers}
			r := model.Check(m, o)
			t.Log(r.Summary())
			if r.Violation != nil || r.States != tt.states {
				t.Errorf("%d states, want %d; %s", r.States, tt.states, trace(t, m, r))
			}
			if tt.named > 0 {
				o.NoSymmetry = true
				if p := model.Check(m, o); p.States != tt.named || p.Violation != nil {
					t.Errorf("with names %d states, want %d", p.States, tt.named)
				}
			}
		})
	}
}

// With the default bounds every machine has few states, and FAILED and the
// refusal of the sixth attempt are within them.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"execution": 6, "ingest": 1, "jobstate": 1, "lifecycle": 3, "task": 1} {
		m := shipped(t, name)
		r := model.Check(m, model.Options{})
		t.Logf("%s: %s", name, r.Summary())
		if r.Violation != nil || r.Options.Records != records || r.States > 50_000 {
			t.Errorf("%s: %s, %d records, want %d; %s", name, r.Summary(), r.Options.Records, records, trace(t, m, r))
		}
	}
	// Another number needs other records to go wrong; the default follows the file.
	if o := model.Defaults(shipped(t, "execution", "than: 5", "than: 4"), model.Options{}); o.Records != 5 {
		t.Errorf("%d records, want 5", o.Records)
	}
}
