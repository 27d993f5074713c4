package spin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

// safeguard is one that both models can do without: a macro of execution.pml,
// and an edit of specs/execution.yaml.
type safeguard struct {
	macro string
	edit  func(string) string
}

// swap replaces the text that the pattern matches, once.
func swap(pattern, to string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(src string) string {
		if n := len(re.FindAllString(src, -1)); n != 1 {
			panic(fmt.Sprintf("%s is there %d times", pattern, n))
		}
		return re.ReplaceAllString(src, to)
	}
}

// guard takes a guard out of the `require` of lease.
func guard(name string) func(string) string {
	return swap(`(require: \[[a-z_, ]*?)`+name+`(, )?([a-z_, ]*\])`, "${1}${3}")
}

// Sections are taken out from the bottom to the top: a `unique:` without
// entries would be an error, so its head goes with the last of them.
var safeguards = map[string]safeguard{
	"one_lease_per_job":     {"NO_UNIQUE_LEASE", swap(`(?s)  one_lease_per_job:.*?\n(  one_committed|\nguards)`, "${1}")},
	"one_committed_per_job": {"NO_UNIQUE_COMMITTED", swap(`(?s)  one_committed_per_job:.*?\n\nguards`, "\nguards")},
	"job_not_leased":        {"NO_GUARD_LEASED", guard("job_not_leased")},
	"job_not_committed":     {"NO_GUARD_COMMITTED", guard("job_not_committed")},
	"attempts_left":         {"NO_ATTEMPTS", guard("attempts_left")},
	"lease_guards": {"NO_LEASE_GUARDS", func(src string) string {
		for _, to := range []string{"in_progress", "committed", "done"} {
			src = swap(`(?m)(to: `+to+` .*\n)    require: \[holds_lease, lease_live\].*\n`, "${1}")(src)
		}
		return src
	}},
	"atomic": {"EXTERNAL", swap(`, atomic: true\}`, "}")},
}

// edited is the specification without safeguards.
func edited(t *testing.T, without []string) *spec.Machine {
	t.Helper()
	b, err := os.ReadFile("../../../specs/execution.yaml")
	if err != nil {
		t.Fatal(err)
	}
	src := string(b)
	for _, name := range without {
		src = safeguards[name].edit(src)
	}
	src = strings.Replace(src, "unique:\n\n", "\n", 1) // nothing is left in it
	src = strings.NewReplacer("require: []", "", ", ]", "]").Replace(src)
	m, found := spec.Parse("execution.yaml", []byte(src))
	if m == nil || found.HasErrors() {
		t.Fatalf("%v\n%s", found, src)
	}
	return m
}

// verdict is what a search says.
type verdict struct {
	holds  bool
	states int
}

// runSpin lets Spin make a verifier of execution.pml and runs it.
func runSpin(t *testing.T, execs int, without []string) verdict {
	t.Helper()
	dir := t.TempDir()
	src, err := filepath.Abs("execution.pml")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-a", fmt.Sprintf("-DEXECS=%d", execs)}
	for _, name := range without {
		args = append(args, "-D"+safeguards[name].macro)
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...) //nolint:gosec // fixed commands
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("spin", append(args, src)...)
	run("gcc", "-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c")
	out := run(filepath.Join(dir, "pan"), "-m1000000")
	number := func(pattern string) int {
		found := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("Spin says no %s:\n%s", pattern, out)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if strings.Contains(out, "max search depth too small") || strings.Contains(out, "out of memory") {
		t.Fatalf("Spin did not see everything:\n%s", out)
	}
	return verdict{number(`errors: (\d+)`) == 0, number(`(\d+) states, stored`)}
}

// available skips the test outside of make spin and of campaigns, and where Spin is not
// installed, unless it must be.
func available(t *testing.T) {
	t.Helper()
	if os.Getenv("FSMGEN_REQUIRE_SPIN") == "" {
		campaign.Only(t)
	}
	if testing.Short() {
		t.Skip("compiles a verifier for each case; run without -short")
	}
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		if os.Getenv("FSMGEN_REQUIRE_SPIN") != "" {
			t.Fatalf("%s is not installed, and FSMGEN_REQUIRE_SPIN is set", tool)
		}
		t.Skipf("%s is not installed; `apt-get install spin gcc` (Debian, Ubuntu) or `brew install spin` enables this test", tool)
	}
}

// Spin and our checker agree, with and without each safeguard.
func TestSpinAgrees(t *testing.T) {
	t.Parallel()
	available(t)
	tests := []struct {
		without []string
		holds   bool
	}{
		{nil, true},
		{[]string{"one_committed_per_job"}, true},
		{[]string{"one_lease_per_job"}, true},
		{[]string{"one_committed_per_job", "one_lease_per_job"}, true},
		{[]string{"job_not_leased"}, true},
		{[]string{"job_not_committed"}, true},
		{[]string{"job_not_leased", "job_not_committed"}, true},
		{[]string{"attempts_left"}, true},
		{[]string{"lease_guards"}, true},
		{[]string{"one_committed_per_job", "one_lease_per_job", "job_not_leased"}, false},
		{[]string{"one_committed_per_job", "one_lease_per_job", "job_not_committed"}, false},
		{[]string{"one_committed_per_job", "one_lease_per_job", "job_not_leased", "job_not_committed"}, false},
		{[]string{"atomic"}, false},
	}
	for _, tt := range tests {
		name := "with everything"
		if len(tt.without) > 0 {
			name = "without " + strings.Join(tt.without, " and ")
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const execs = 4
			theirs := runSpin(t, execs, tt.without)
			o := model.Options{Records: execs, NoSymmetry: true, EffectOnce: true}
			r := model.Check(edited(t, tt.without), o)
			ours := verdict{r.Violation == nil, r.States}
			if theirs.holds != tt.holds || ours.holds != tt.holds {
				t.Errorf("holds: Spin %t, ours %t, want %t", theirs.holds, ours.holds, tt.holds)
			}
			if tt.holds && theirs.states != ours.states {
				t.Errorf("Spin has %d states, ours %d", theirs.states, ours.states)
			}
			t.Logf("holds %t: Spin %d states, ours %d", tt.holds, theirs.states, ours.states)
		})
	}
}

// The counts of states are the same for any number of executions, and the
// attempt limit ends both.
func TestSpinCounts(t *testing.T) {
	t.Parallel()
	available(t)
	for _, execs := range []int{1, 3, 5, 6} {
		theirs := runSpin(t, execs, nil)
		r := model.Check(edited(t, nil), model.Options{Records: execs, NoSymmetry: true})
		t.Logf("%d executions: Spin %d states, ours %d", execs, theirs.states, r.States)
		if !theirs.holds || r.Violation != nil || theirs.states != r.States {
			t.Errorf("%d executions: Spin %+v, ours %d states", execs, theirs, r.States)
		}
	}
}
