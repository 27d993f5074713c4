package fuzzmachines_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/internal/lab/mutants"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

var everyPure = flag.Bool("every", false, "plant every fault in pure packages, not one of each operator")

// Packages of the pure layer alone, of random machines, pass their tests. What the tests
// expect is what the interpreter does, so the two are equal in every case of them.
func TestPureMachines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles packages")
	}
	wanted := *number
	if campaign.On() {
		wanted = max(wanted, *tested)
	}
	module := pureModule(t, pureMachines(t, wanted))
	if out, err := module.Test("./..."); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPureFaults plants faults into pure packages, and counts those that their tests notice.
func TestPureFaults(t *testing.T) {
	campaign.Only(t)
	list := pureMachines(t, *planted)
	for _, path := range []string{"../../../examples/protocol/tcp.yaml", "../../../gen/testdata/alone/ticket.yaml", "../../../gen/testdata/alone/parcel.yaml", "../../../gen/testdata/alone/crate.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, pureMachine(strings.TrimSuffix(filepath.Base(path), ".yaml"), string(text))); list[len(list)-1].files == nil {
			t.Fatalf("%s is not generated", path)
		}
	}
	module := pureModule(t, list)
	random := rand.New(rand.NewPCG(1, 7))
	count, noticed := 0, 0
	for _, m := range list {
		s, err := mutants.Load(module.Dir, "./"+m.name, "GOFLAGS=-mod=mod", "GOWORK=off")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Mutate(m.machine+"_fsm.go", 1, mutants.Options{Texts: true}, func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		f := s.Files[0]
		byKind := map[string][]*mutants.Mutant{}
		for _, i := range random.Perm(len(f.Mutants)) {
			x := f.Mutants[i]
			if *everyPure || len(byKind[x.Kind]) < *each {
				byKind[x.Kind] = append(byKind[x.Kind], x)
			}
		}
		f.Only(func(x *mutants.Mutant) bool { return slices.Contains(byKind[x.Kind], x) })
		module.Write(filepath.Join(m.name, filepath.Base(f.Path)), []byte(f.Mutated()))
		module.Write(filepath.Join(m.name, mutants.SupportFile), []byte(s.Support()))
		binary := filepath.Join(module.Dir, m.name+".test")
		module.Run("go", slices.Concat([]string{"test", "-c", "-vet=off", "-o", binary}, outside.Fast, []string{"./" + m.name})...)
		here := 0
		for _, x := range append([]*mutants.Mutant{nil}, f.Mutants...) {
			cmd := module.Command(binary, "-test.failfast", "-test.timeout=1m")
			if x == nil {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: the tests fail without a fault: %v\n%s", m.name, err, out)
				}
				continue
			}
			cmd.Env = append(cmd.Env, x.Env())
			count++
			if cmd.Run() != nil {
				noticed, here = noticed+1, here+1
			} else {
				t.Logf("nobody notices %s:%d %s", m.name, x.Line, x.Name()) // equivalent, or a hole: a reader judges
			}
		}
		t.Logf("%s: %d of %d faults are noticed", m.name, here, len(f.Mutants))
	}
	t.Logf("%d of %d faults are noticed", noticed, count)
	if count < 5*len(list) || noticed*100 < pureFloor*count {
		t.Errorf("%d of %d faults are noticed, want %d %% and at least five faults in each machine", noticed, count, pureFloor)
	}
}

// pureFloor is the share of faults in pure packages, in percent, that are noticed at least.
const pureFloor = 90

// pureModule writes packages into a module that knows nothing of fsmgen.
func pureModule(t *testing.T, list []sound) outside.Module {
	t.Helper()
	module := outside.Empty(t)
	module.Write("go.mod", []byte("module example.com/pure\n\ngo 1.25\n"))
	for _, m := range list {
		for _, f := range m.files {
			module.Write(filepath.Join(m.name, f.Name), f.Data)
		}
	}
	return module
}

// pureMachines are the first random machines that are sound, whatever of them needs a store.
func pureMachines(t *testing.T, n int) []sound {
	t.Helper()
	var list []sound
	tries := 0
	for s := *seed; len(list) < n; s++ {
		if tries++; tries > 100*n+1000 {
			t.Fatalf("%d of %d machines are generated", len(list), tries)
		}
		text := fuzzmachines.Random(rand.New(rand.NewPCG(s, 3)))
		if m := pureMachine(fmt.Sprintf("random%d", s), text); m.files != nil {
			list = append(list, m)
		}
	}
	t.Logf("%d of %d machines are generated", len(list), tries)
	return list
}

// pureMachine generates a pure package, or nothing where the machine is refused.
func pureMachine(name, text string) sound {
	m, found := validate.Source("random.yaml", []byte(text))
	if found.HasErrors() {
		return sound{}
	}
	files, err := gen.Generate(m, gen.Options{Package: name, Layers: []spec.Layer{spec.LayerPure}})
	if err != nil {
		return sound{}
	}
	return sound{name: name, machine: m.Name, text: text, files: files}
}
