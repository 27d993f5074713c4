package difftest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
)

// The five machines of the project, in the folder specs, and the folders of
// examples that their packages are in.
var (
	five    = []string{"lifecycle", "execution", "jobstate", "ingest", "task"}
	folders = map[string]string{"lifecycle": "queue", "execution": "fm001", "jobstate": "events", "ingest": "pipeline", "task": "scheduler"}
)

func folder(name string) string {
	return filepath.Join("..", "..", "..", "examples", folders[name], name)
}

// programs is the folder of the test programs of the five packages, which several
// tests run: to build them takes longer than to run them.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "difftest"); err != nil {
		return "", err
	}
	built = dir
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, name := range five {
		args = append(args, "./"+filepath.ToSlash(filepath.Join("examples", folders[name], name)))
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return dir, nil
})

// built is what programs has made.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// runShipped runs the generated tests of one of the five where they are, with
// these variables of the environment, and returns what they print.
func runShipped(t *testing.T, name string, env []string, args ...string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, name+".test"), args...)
	cmd.Dir = folder(name)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FSMGEN_POSTGRES_URL=") })
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the tests of %s with %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestShippedAreGenerated compares the five packages with what is generated now:
// what is found of them here is found of the generator.
func TestShippedAreGenerated(t *testing.T) {
	t.Parallel()
	for _, name := range five {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parsed(t, name)
			files, err := gen.Generate(m, gen.Options{Spec: "../../../specs/" + name + ".yaml", TestStore: "sqlite,postgres", EngineTests: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				there, err := os.ReadFile(filepath.Join(folder(name), f.Name))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(f.Data), string(there)); diff != "" {
					t.Errorf("%s is not what is generated; run make generate (-generated +there):\n%s", f.Name, diff)
				}
			}
		})
	}
}
