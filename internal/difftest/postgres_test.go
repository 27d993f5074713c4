package difftest

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// The generated packages of the five machines, which are tested over SQLite
// wherever they are tested.
var packages = []string{
	"examples/queue/lifecycle", "examples/fm001/execution", "examples/events/jobstate", "examples/pipeline/ingest", "examples/scheduler/task",
}

// TestGeneratedOverPostgres runs the generated tests of the five machines over
// PostgreSQL: every call of the durable layer against the model, the attempts
// past the engine at the prompt, and the plans of the queries.
func TestGeneratedOverPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles five packages")
	}
	args := []string{"test", "-count=1", "-vet=off", "-v", "-run", "^Test/^postgres$"}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "FSMGEN_POSTGRES_URL="+pgtest.DSN(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts := regexp.MustCompile(`(\w+): \d+ operations.* (\d+) durable cases, (\d+) attempts past the engine`).FindAllStringSubmatch(string(out), -1)
	if len(counts) != len(packages) {
		t.Errorf("%d packages say what they did, want %d:\n%s", len(counts), len(packages), out)
	}
	for _, c := range counts {
		cases, _ := strconv.Atoi(c[2])
		attempts, _ := strconv.Atoi(c[3])
		if cases < 20 || attempts < 300 {
			t.Errorf("%s: %d cases, %d attempts: there is more to try in each machine", c[1], cases, attempts)
		}
		t.Logf("%s: %d cases, %d attempts", c[1], cases, attempts)
	}
	for _, s := range regexp.MustCompile(`--- SKIP: \S+/postgres(/plans|/prompt|/joined)? `).FindAllString(string(out), -1) {
		t.Errorf("skipped: %s", s)
	}
}
