package fuzzmachines_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/internal/lab/mutants"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
)

var (
	planted = flag.Int("planted", 10, "in a campaign: in how many random machines faults are planted")
	each    = flag.Int("each", 1, "how many faults of each operator in one machine")
)

// floor is the share of faults, in percent, that are noticed at least. Of 165 faults in the first ten
// machines 144 were, and 20 of the others were equivalent, judged one by one.
const floor = 85

// faulty is one fault in what is generated for a random machine.
type faulty struct {
	machine, group string
	*mutants.Mutant
}

// faultTally counts the faults of one operator.
type faultTally struct{ planted, noticed, byEngine, equivalent int }

// TestPlantedFaults plants a fault of each operator into the generated code of random
// machines, and counts those that their generated tests notice. What changes nothing that
// a test could see is in a list with its reason, as far as it was judged: that of internal/lab/mutate
// for what all machines share, testdata/equivalent.txt for what is so in one.
func TestPlantedFaults(t *testing.T) {
	campaign.Only(t)
	known := equivalents(t)
	module := outside.New(t, "github.com/fsmgen/fsmgen/outside/many")
	machines := soundOnes(*planted)
	runner(module, machines)
	table := map[string]*faultTally{}
	var faults []faulty
	for i, m := range machines {
		faults = append(faults, plant(t, module, m.name, 1+100000*i, known, table)...)
	}
	binary := filepath.Join(module.Dir, "many.test")
	module.Run("go", slices.Concat([]string{"test", "-c", "-vet=off", "-o", binary}, outside.Fast, []string{"."})...)
	for _, m := range machines {
		if noticed, out := notices(t, binary, m.name, "(cases|engine)", "FSMGEN_MUTANT=0"); noticed {
			t.Fatalf("%s: the tests fail without a fault:\n%s", m.name, out)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan faulty)
	for range 2 {
		wg.Go(func() {
			for f := range next {
				noticed, _ := notices(t, binary, f.machine, "cases", f.Env())
				byEngine, _ := notices(t, binary, f.machine, "engine", f.Env())
				mu.Lock()
				table[f.Kind].planted++
				if noticed {
					table[f.Kind].noticed++
				}
				if byEngine {
					table[f.Kind].byEngine++
				}
				switch {
				case byEngine && !noticed:
					t.Logf("the engine's suites alone notice %s: %s", f.group, f.Name())
				case !noticed:
					t.Logf("nobody notices %s: %s", f.group, f.Name()) // equivalent, or a hole: a reader judges
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range faults {
		next <- f
	}
	close(next)
	wg.Wait()
	sum := faultTally{}
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		x := table[kind]
		t.Logf("%-14s %4d planted %4d noticed by the cases, %4d by the suites of the engine; %4d not planted, since they are equivalent", kind, x.planted, x.noticed, x.byEngine, x.equivalent)
		sum.planted, sum.noticed, sum.byEngine, sum.equivalent = sum.planted+x.planted, sum.noticed+x.noticed, sum.byEngine+x.byEngine, sum.equivalent+x.equivalent
	}
	t.Logf("%d machines, %d faults, %d noticed by the cases, %d by the suites of the engine, %d equivalent", len(machines), sum.planted, sum.noticed, sum.byEngine, sum.equivalent)
	if sum.planted < len(machines) || sum.noticed*100 < floor*sum.planted {
		t.Errorf("%d of %d faults are noticed, want %d %% and at least one fault in each machine", sum.noticed, sum.planted, floor)
	}
}

// equivalents are the faults that change nothing a test could see.
func equivalents(t *testing.T) []*mutants.Equivalent {
	t.Helper()
	var known []*mutants.Equivalent
	for _, file := range []string{"../mutate/equivalent.txt", "testdata/equivalent.txt"} {
		list, err := mutants.ReadEquivalents(file)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, list...)
	}
	return known
}

// soundOnes are the first sound machines, for the store in memory alone.
func soundOnes(n int) []sound {
	var list []sound
	for s := *seed; len(list) < n; s++ {
		text := fuzzmachines.Random(rand.New(rand.NewPCG(s, 3)))
		if m, ok := generated(fmt.Sprintf("random%d", s), text, gen.Options{}); ok {
			list = append(list, m)
		}
	}
	return list
}

// plant draws faults of each operator and puts them behind the switch.
func plant(t *testing.T, module outside.Module, name string, first int, known []*mutants.Equivalent, table map[string]*faultTally) []faulty {
	t.Helper()
	s, err := mutants.Load(module.Dir, "./"+name, "GOFLAGS=-mod=mod", "GOWORK=off")
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]faulty{}
	for i, part := range []struct{ group, file string }{{"pure/", "random_fsm.go"}, {"durable/", "random_store.go"}} {
		err := s.Mutate(part.file, first+50000*i, mutants.Options{Texts: true}, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range s.Files[i].Mutants {
			if table[m.Kind] == nil {
				table[m.Kind] = &faultTally{}
			}
			if at := slices.IndexFunc(known, func(e *mutants.Equivalent) bool { return e.Matches(part.group+name, m.Name()) }); at >= 0 {
				known[at].Used = true
				table[m.Kind].equivalent++
				continue
			}
			byKind[m.Kind] = append(byKind[m.Kind], faulty{name, part.group + name, m})
		}
	}
	random := rand.New(rand.NewPCG(uint64(first), 7))
	var chosen []faulty
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		list := byKind[kind]
		for _, i := range random.Perm(len(list))[:min(*each, len(list))] {
			chosen = append(chosen, list[i])
		}
	}
	for _, f := range s.Files {
		f.Only(func(m *mutants.Mutant) bool {
			return slices.ContainsFunc(chosen, func(c faulty) bool { return c.Mutant == m })
		})
		module.Write(filepath.Join(name, filepath.Base(f.Path)), []byte(f.Mutated()))
	}
	module.Write(filepath.Join(name, mutants.SupportFile), []byte(s.Support()))
	return chosen
}

// notices runs the tests of one machine with a fault switched on. Tests that do not end
// have noticed it.
func notices(t *testing.T, binary, name, tests, env string) (bool, string) {
	ctx, cancel := context.WithTimeout(t.Context(), *limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.failfast", "-test.run", "^TestMany$/^"+name+"$/^"+tests+"$")
	cmd.Dir = filepath.Dir(binary)
	cmd.Env = append(os.Environ(), env)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("%s after %s: %v", name, time.Since(began), err)
	}
	return err != nil, string(out)
}
