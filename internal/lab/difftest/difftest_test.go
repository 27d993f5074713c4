package difftest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/enginetest"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestEngines traces the generated packages over every store, and replays the
// traces with the interpreter. Beside the five there is one that uses all that
// they do not, in a module of its own, compiled as a user's packages are.
func TestEngines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles six packages")
	}
	for _, name := range five {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay(t, machine(t, name), trace(t, name))
		})
	}
	t.Run("ticket", func(t *testing.T) {
		t.Parallel()
		module := outside.New(t, "github.com/fsmgen/fsmgen/outside/difftest")
		m := generate(t, module, filepath.Join("testdata", "ticket.yaml"))
		if out, err := module.Test("-count=1", "-vet=off", "./...", "-v", "-skip", "/sqlite", "-enginetest.trace", "trace.jsonl"); err != nil {
			t.Fatalf("go test: %v\n%s", err, out)
		}
		lines, err := os.ReadFile(filepath.Join(module.Dir, m.Name, "trace.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		replay(t, m, lines)
	})
}

// generate writes the package into a module beside the repository's.
func generate(t *testing.T, module outside.Module, path string) *spec.Machine {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, found := spec.Parse(path, src)
	if m == nil {
		t.Fatal(found)
	}
	files, err := gen.Generate(m, gen.Options{TestStore: "sqlite", EngineTests: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		module.Write(filepath.Join(m.Name, f.Name), f.Data)
	}
	return m
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// replay runs every line of a trace through the interpreter.
func replay(t *testing.T, m *spec.Machine, trace []byte) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(trace))
	lines.Buffer(nil, 1<<20)
	counts := map[string]int{}
	var world interp.World
	failed := 0
	for n := 1; lines.Scan(); n++ {
		var l enginetest.TraceLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		counts[l.Engine+" "+l.Kind]++
		diff, err := one(m, &world, l)
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		if diff != "" {
			if failed++; failed <= 5 {
				t.Errorf("line %d: %s of %s (-interp +%s):\n%s\n%s", n, l.Kind, l.Operation, l.Engine, diff, bytes.TrimSpace(lines.Bytes()))
			}
			if l.Kind != "case" {
				t.Fatal("the walk cannot go on: the worlds differ")
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	seeded := slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return o.Next != nil }) || len(m.Unique) > 0
	for _, what := range []string{"pure case", "memstore case", "memstore walk", "memstore seed", "memstore step", "sqlite case", "sqlite walk", "sqlite seed", "sqlite step"} {
		if counts[what] == 0 && (seeded || !strings.HasSuffix(what, " seed")) {
			t.Errorf("the trace has no %s", what)
		}
	}
	if counts["memstore case"] != counts["sqlite case"] {
		t.Errorf("%d cases over memory, %d over SQLite", counts["memstore case"], counts["sqlite case"])
	}
	t.Log(counts, failed, "differ")
}

// one replays one line and says what differs.
func one(m *spec.Machine, world *interp.World, l enginetest.TraceLine) (string, error) {
	switch l.Kind {
	case "walk":
		*world = interp.World{}
		return "", nil
	case "seed":
		r, err := record(m, l.Row)
		if err != nil {
			return "", err
		}
		records := maps.Clone(world.Records)
		if records == nil {
			records = map[string]interp.Record{}
		}
		records[r.ID] = r
		world.Records = records
		return "", nil
	case "sweep", "startup", "deliver":
		got := byItself(m, world, l)
		if got != l.Count {
			return fmt.Sprintf("%s did %d, the interpreter %d", l.Kind, l.Count, got), nil
		}
		return "", nil
	}
	c, err := call(m, l)
	if err != nil {
		return "", err
	}
	got, err := traced(m, l)
	if err != nil {
		return "", err
	}
	var want outcome
	switch {
	case l.Kind == "step":
		out, next, refusal := interp.Step(m, *world, c)
		want = answered(m, out, refusal)
		*world = next
	case l.Engine == "pure":
		want, err = pure(m, c, l)
	default:
		w := interp.World{}
		if l.Row != nil {
			r, err := record(m, l.Row)
			if err != nil {
				return "", err
			}
			w.Records = map[string]interp.Record{r.ID: r}
			c.ID, c.ExpectedRev = r.ID, 1
		}
		out, _, refusal := interp.Step(m, w, c)
		want = answered(m, out, refusal)
	}
	if err != nil {
		return "", err
	}
	if got.Existing { // nothing was written, there is no event to compare
		want.Events, got.Events = nil, nil
	}
	return cmp.Diff(want, got), nil
}

// pure is one case of the pure layer.
func pure(m *spec.Machine, c interp.Call, l enginetest.TraceLine) (outcome, error) {
	r := interp.NewRecord(m, l.Call.ID)
	if l.Row != nil {
		var err error
		if r, err = record(m, l.Row); err != nil {
			return outcome{}, err
		}
	}
	others := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	for name, n := range l.Call.Peers {
		if m.Field(name) != nil {
			others.Next[name] = n
		} else {
			others.Count[name] = n
		}
	}
	c.ID = r.ID
	d, refusal := interp.Decide(m, r, c, others)
	if refusal != nil {
		return refused(refusal), nil
	}
	return decided(m, c, d), nil
}

// byItself does what the machine does without a caller, and returns how many
// steps it took.
func byItself(m *spec.Machine, world *interp.World, l enginetest.TraceLine) int {
	n := 0
	if l.Kind == "deliver" {
		for _, d := range slices.Clone(world.Outbox) {
			if out, next, refusal := interp.Deliver(m, *world, d, l.Call.At); refusal == nil && !out.Replayed {
				*world = next
				n++
			}
		}
		return n
	}
	for _, op := range m.Operations {
		atStart := slices.ContainsFunc(op.Triggers, func(t spec.Trigger) bool { return t.Startup })
		for _, id := range slices.Sorted(maps.Keys(world.Records)) {
			r := world.Records[id]
			asked := l.Kind == "sweep" && interp.Due(m, op, r, l.Call.At) ||
				l.Kind == "startup" && atStart && m.Class(r.State, op) == spec.Transition
			if !asked {
				continue
			}
			c := interp.Call{Op: op, ID: id, ExpectedRev: r.Rev, Fired: true, At: l.Call.At, Inputs: map[string]interp.Value{}}
			if out, next, refusal := interp.Step(m, *world, c); refusal == nil && !out.Replayed {
				*world = next
				n++
			}
		}
	}
	return n
}

var matrixText = regexp.MustCompile("(?s)const engineMatrix = `\n(.*?)`")

// TestCases holds the matrix of each machine and the numbers of cases that its
// tests print against the golden file: fewer cases are a change that somebody
// has to want.
func TestCases(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles five packages")
	}
	var b strings.Builder
	for _, name := range five {
		output := runShipped(t, name, nil, "-test.v", "-test.skip", "/(sqlite|postgres)")
		src, err := os.ReadFile(filepath.Join(folder(name), name+"_engine_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		matrix := matrixText.FindSubmatch(src)
		counts := regexp.MustCompile(name+`: (\d+ operations.*|engine: .*)`).FindAllStringSubmatch(output, -1)
		if matrix == nil || len(counts) != 2 {
			t.Fatalf("%s: the matrix or the numbers are missing in\n%s", name, output)
		}
		fmt.Fprintf(&b, "%s: %s; %s\n\n%s\n", name, counts[0][1], counts[1][1], matrix[1])
	}
	path := filepath.Join("testdata", "cases.golden")
	if *update {
		write(t, path, []byte(b.String()))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("cases.golden (-want +got), accept it with -update:\n%s", diff)
	}
}
