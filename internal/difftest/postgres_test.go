package difftest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// The generated packages of the five machines, which are tested over SQLite.
var packages = []string{
	"examples/queue/lifecycle", "examples/fm001/execution", "examples/events/jobstate", "examples/pipeline/ingest", "examples/scheduler/task",
}

// TestPostgresRefuses runs the attempts past the engine, which the generated
// tests make at the prompt of a SQLite database, on PostgreSQL, and the calls
// in a transaction of the caller's own: the compiler sees the test files with
// the other store in them.
func TestPostgresRefuses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles five packages")
	}
	server := pgtest.DSN(t)
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{}
	args := []string{"test", "-count=1", "-vet=off", "-v", "-run", "^Test/^postgres$/^(prompt|joined)$"}
	for _, p := range packages {
		name := filepath.Base(p) + "_fsm_test.go"
		b, err := os.ReadFile(filepath.Join(repo, p, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), []byte(overPostgres(t, string(b))))
		overlay[filepath.Join(repo, p, name)] = filepath.Join(dir, name)
		args = append(args, "./"+p)
	}
	config, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), config)
	cmd := exec.Command("go", append(args, "-overlay", filepath.Join(dir, "overlay.json"))...)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "FSMGEN_POSTGRES_URL="+server)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts := regexp.MustCompile(`(\w+): \d+ operations.* (\d+) attempts past the engine`).FindAllStringSubmatch(string(out), -1)
	if len(counts) != len(packages) {
		t.Errorf("%d packages made attempts, want %d:\n%s", len(counts), len(packages), out)
	}
	for _, c := range counts {
		t.Logf("%s: %s attempts", c[1], c[2])
	}
}

// overPostgres puts a PostgreSQL store where a generated test opens SQLite.
func overPostgres(t *testing.T, text string) string {
	t.Helper()
	swap := func(old, with string) {
		t.Helper()
		if strings.Count(text, old) != 1 {
			t.Fatalf("the generated test has %q %d times, expected it once", old, strings.Count(text, old))
		}
		text = strings.Replace(text, old, with, 1)
	}
	swap("\t\"path/filepath\"\n", "")
	if !strings.Contains(text, "\"database/sql\"") {
		swap("import (\n", "import (\n\t\"database/sql\"\n")
	}
	swap(`"github.com/fsmgen/fsmgen/runtime/sqlite"`, `"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/runtime/postgres"`)
	swap(`{Name: "sqlite", `, `{Name: "postgres", `)
	swap(`filepath.Join(t.TempDir(), "test.db")`, `pgtest.DSN(t)`)
	swap(`sqlite.Open(path, sqlite.WithEnforce("checks"))`, `postgres.Open(t.Context(), path, postgres.WithEnforce("checks"))`)
	swap(`sqlite.OpenDB(path)`, `sql.Open("pgx", path)`)
	return text
}
