package difftest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/spec"
)

// sameMachine lists the mutants of specifications that mean the same as the
// original, with the reason.
var sameMachine = map[string]string{
	"execution: projection: failed before running":                             "no group fits both rules",
	"jobstate: compensation_event: branch 2 before 1":                          "no call fits both branches",
	"jobstate: compensation_event: branch 3 before 2":                          "no call fits both branches",
	"jobstate: compensation_event: branch 3: drop input.decision == undecided": "the branches above take every other decision",
	"jobstate: create: compensation_policy: input or same instead of absent":   "a new record has no value to keep",
	"lifecycle: enqueue: dedupe_key: input or same instead of absent":          "a new record has no value to keep",
	"lifecycle: enqueue: payload: input or same instead of absent":             "a new record has no value to keep",
}

// TestStrength makes every mutant of the five specifications and looks at who
// notices: first the static checks, then the cases of the generated tests, as
// the unchanged machine's package wrote them into its trace. The mutant is the
// implementation; a case in which it answers otherwise fails the generated test.
func TestStrength(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles five packages")
	}
	traces := exampleTraces(t)
	var mu sync.Mutex
	all, static, tested, main, mainStatic := 0, 0, 0, 0, 0
	var survivors []string
	used := map[string]bool{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, name := range five {
		count := len(specMutants(parsed(t, name)))
		for i := range count {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				m, original := parsed(t, name), parsed(t, name)
				mutant := specMutants(m)[i]
				mutant.apply()
				by := "static"
				if !rejected(m) {
					by = ""
					if noticed(original, m, traces[name]) {
						by = "tests"
					}
				}
				mu.Lock()
				defer mu.Unlock()
				all++
				if mutant.coarse() {
					main++
					if by == "static" {
						mainStatic++
					}
				}
				switch by {
				case "static":
					static++
				case "tests":
					tested++
				default:
					survivors = append(survivors, mutant.name)
				}
				if sameMachine[mutant.name] != "" {
					used[mutant.name] = true
					if by != "" {
						t.Errorf("%s is listed as the same machine, but %s notices it", mutant.name, by)
					}
				}
			})
		}
	}
	wg.Wait()
	slices.Sort(survivors)
	same := 0
	for _, s := range survivors {
		if sameMachine[s] != "" {
			same++
		} else {
			t.Errorf("nobody notices: %s", s)
		}
	}
	for s := range sameMachine {
		if !used[s] {
			t.Errorf("there is no mutant %s", s)
		}
	}
	effective := all - same
	share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	t.Logf("%d mutants, %d of them mean the same; of the other %d the static checks refuse %d (%.1f %%), they and the generated tests %d (%.1f %%)",
		all, same, effective, static, share(static, effective), static+tested, share(static+tested, effective))
	t.Logf("of the %d that change what is said about states, fields and guards, the static checks refuse %d (%.1f %%)", main, mainStatic, share(mainStatic, main))
	if share(static, effective) < 50 {
		t.Errorf("the static checks refuse %.1f %%, want at least half of them", share(static, effective))
	}
}

func parsed(t *testing.T, name string) *spec.Machine {
	path := filepath.Join("..", "..", "specs", name+".yaml")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return nil
	}
	m, found := spec.Parse(path, src)
	if m == nil {
		t.Error(found)
	}
	return m
}

// rejected reports whether the static checks have a finding.
func rejected(m *spec.Machine) bool {
	return slices.ContainsFunc(validate.Run(m), func(d spec.Diagnostic) bool { return d.Severity != spec.Info })
}

// noticed reports whether a mutant answers a case of the generated tests
// otherwise than the original.
func noticed(original, m *spec.Machine, lines []fsmtest.TraceLine) bool {
	for i, s := range m.States { // Terminal, and what is compared of the descriptor
		if s.Terminal != original.States[i].Terminal {
			return true
		}
	}
	if projectsOtherwise(original, m) || asksOtherwise(original, m) {
		return true
	}
	var world interp.World
	for _, l := range lines {
		if l.Row != nil {
			was, errWas := record(original, l.Row)
			is, errIs := record(m, l.Row)
			if errWas != nil || errIs != nil || cmp.Diff(texts(interp.Check(original, was)), texts(interp.Check(m, is))) != "" {
				return true
			}
		}
		diff, err := one(m, &world, l)
		if err != nil || diff != "" {
			return true
		}
	}
	return false
}

// asksOtherwise compares what no case of a trace shows, since suites of their
// own look at it: when triggers are due (triggers, startup), what stores are
// asked about others (queries), and the order of a pick (next). That these
// suites notice every such change is measured on the generated code itself, by
// `make mutation`.
func asksOtherwise(original, m *spec.Machine) bool {
	asks := func(m *spec.Machine) (list []string) {
		for _, o := range m.Operations {
			for _, t := range o.Triggers {
				field := ""
				if t.After != nil {
					field = t.After.Name
				}
				list = append(list, fmt.Sprint(o.Name, t.Startup, field, t.Plus))
			}
			for _, r := range o.Require {
				if p := r.Guard.Peers; p != nil {
					for _, s := range p.In {
						list = append(list, o.Name+r.Guard.Name+s.State.Name)
					}
				}
			}
			if o.Next != nil {
				for _, x := range o.Next.Order {
					list = append(list, fmt.Sprint(o.Name, x.Field.Name, x.Descending))
				}
			}
		}
		return list
	}
	return !slices.Equal(asks(original), asks(m))
}

// texts writes violations: those of two machines share no pointer.
func texts(list []interp.Violation) []string {
	var all []string
	for _, v := range list {
		all = append(all, v.Rule)
	}
	return all
}

// projectsOtherwise compares the projections over every group of up to seven
// records, as the generated tests do, and the moves of the derived machine.
func projectsOtherwise(original, m *spec.Machine) bool {
	if original.Projection == nil {
		return false
	}
	leads := func(m *spec.Machine) (list []string) {
		for _, x := range m.Projection.Transitions {
			list = append(list, x.From.Name+" > "+x.To.Name)
		}
		return list
	}
	if !slices.Equal(leads(original), leads(m)) {
		return true
	}
	var differ func(group []int, first int) bool
	differ = func(group []int, first int) bool {
		of := func(m *spec.Machine) string {
			var records []interp.Record
			for _, i := range group {
				r := interp.NewRecord(m, "r")
				r.State = m.States[i]
				records = append(records, r)
			}
			return interp.ProjectGroup(m, records).State
		}
		if of(original) != of(m) {
			return true
		}
		for i := first; i < len(m.States) && len(group) < 7; i++ {
			if differ(append(slices.Clone(group), i), i) {
				return true
			}
		}
		return false
	}
	return differ(nil, 0)
}

// exampleTraces runs the generated tests of the five packages and returns what
// they asked and what came of it.
func exampleTraces(t *testing.T) map[string][]fsmtest.TraceLine {
	t.Helper()
	dir := t.TempDir()
	folders := map[string]string{"lifecycle": "queue", "execution": "fm001", "jobstate": "events", "ingest": "pipeline", "task": "scheduler"}
	traces := map[string][]fsmtest.TraceLine{}
	for _, name := range five {
		trace := filepath.Join(dir, name+".jsonl")
		cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-skip", "/(sqlite|cells|invariants|inputs|projection)",
			"./examples/"+folders[name]+"/"+name, "-fsmtest.trace", trace)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
		}
		f, err := os.Open(trace)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l fsmtest.TraceLine
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			if l.Engine != "sqlite" { // the same cases once more
				traces[name] = append(traces[name], l)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return traces
}
