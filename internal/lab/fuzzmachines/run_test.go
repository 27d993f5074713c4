package fuzzmachines_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

// batch is how many machines one program tests: what a failure leaves behind
// stays small, and the runtime is compiled once and linked once for all of them.
const batch = 25

// runAll runs the generated tests of machines, and returns what each printed that failed.
func runAll(t *testing.T, machines []sound, args ...string) map[string]string {
	t.Helper()
	failed := map[string]string{}
	for part := range slices.Chunk(machines, batch) {
		began := time.Now()
		out := runMany(t, part, args...)
		for _, m := range part {
			if said, ok := out[m.name]; ok {
				failed[m.name] = said
				t.Errorf("the generated tests of %s fail:\n%s\n%s", m.name, said, m.text)
			}
		}
		t.Logf("the generated tests of %d of %d machines pass in %s", len(part)-len(out), len(part), time.Since(began).Round(time.Second))
	}
	return failed
}

// runMany writes the packages into one module and their tests into one program: the
// test of each package is compiled with it, and called by its name.
func runMany(t *testing.T, machines []sound, args ...string) map[string]string {
	t.Helper()
	module := outside.New(t, "github.com/fsmgen/fsmgen/outside/many")
	runner(module, machines)
	if slices.ContainsFunc(machines, func(m sound) bool { return strings.Contains(m.stores, "postgres") }) {
		module.Env = []string{"FSMGEN_POSTGRES_URL=" + pgtest.DSN(t)}
	}
	out, err := module.Test(append([]string{"-vet=off", "-timeout", "120m", "."}, args...)...)
	failed := map[string]string{}
	if err == nil {
		return failed
	}
	for _, part := range verdict.Split(out, -1)[1:] {
		name, _, _ := strings.Cut(part, " ")
		failed[name] = part
	}
	if len(failed) == 0 {
		t.Fatalf("the tests of %d machines do not run: %v\n%s", len(machines), err, out)
	}
	return failed
}

// runner writes the packages, and a program that calls the tests of each by its name.
func runner(module outside.Module, machines []sound) {
	var imports, calls strings.Builder
	for _, m := range machines {
		for _, f := range m.files {
			name := f.Name
			if base, ok := strings.CutSuffix(name, "_test.go"); ok {
				name = base + "_tests.go"
			}
			module.Write(filepath.Join(m.name, name), f.Data)
		}
		module.Write(specOf(m.name), []byte(m.text))
		fmt.Fprintf(&imports, "\t%s \"github.com/fsmgen/fsmgen/outside/many/%s\"\n", m.name, m.name)
		fmt.Fprintf(&calls, "\trun(t, %q, %s.Test%s, %s.TestEngine)\n", m.name, m.name, spec.GoName(m.machine), m.name)
	}
	module.Write("many_test.go", fmt.Appendf(nil, program, imports.String(), limit.Nanoseconds(), calls.String()))
}

// specOf is the file of a specification, as seen from the folder in which the tests of all run.
func specOf(name string) string { return filepath.Join(name, name+".yaml") }

// verdict stands before what the tests of one machine said.
var verdict = regexp.MustCompile(`(?m)^    --- FAIL: TestMany/`)

// program calls the tests of many packages, and ends when those of one do not.
const program = `package many

import (
	"testing"
	"time"

%s)

const limit = time.Duration(%d)

func run(t *testing.T, name string, cases, engine func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		late := time.AfterFunc(limit, func() { panic("the tests of " + name + " take longer than " + limit.String()) })
		defer late.Stop()
		t.Run("cases", cases)
		t.Run("engine", engine)
	})
}

func TestMany(t *testing.T) {
%s}
`
