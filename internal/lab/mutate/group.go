package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/mutants"
)

// group is a set of mutants that are judged by the same suites: one line of the
// table.
type group struct {
	name    string
	mutants []*mutants.Mutant
	env     func(*mutants.Mutant) []string
	judges  func(*mutants.Mutant) []*judge
}

// machines are the generated packages of the five specifications.
var machines = []string{
	"examples/scheduler/task",
	"examples/events/jobstate",
	"examples/fm001/execution",
	"examples/pipeline/ingest",
	"examples/queue/lifecycle",
}

// selectNumber is the environment that switches a mutant of Go code on.
func selectNumber(m *mutants.Mutant) []string {
	return []string{m.Env()}
}

// machineGroups returns the pure layer, the durable layer and, when it is
// wanted, the schema of one generated package.
func machineGroups(root, scratch, dir string, wanted func(group string) bool) ([]*group, error) {
	scratch, err := os.MkdirTemp(scratch, "machine-")
	if err != nil {
		return nil, err
	}
	name := filepath.Base(dir)
	s, err := mutants.Load(root, "./"+dir)
	if err != nil {
		return nil, err
	}
	everything := func(string) bool { return true }
	if err := s.Mutate(name+"_fsm.go", 1, mutants.Options{Texts: true}, everything); err != nil {
		return nil, err
	}
	if err := s.Mutate(name+"_store.go", 100001, mutants.Options{Texts: true}, everything); err != nil {
		return nil, err
	}
	handles := s.Has(name + "_held.go")
	if handles { // not every machine can have them
		if err := s.Mutate(name+"_held.go", 200001, mutants.Options{Texts: true}, everything); err != nil {
			return nil, err
		}
	}
	o := overlay{}
	for _, f := range s.Files {
		text := f.Mutated()
		if strings.HasSuffix(f.Path, "_store.go") {
			switched := strings.Replace(text, `"sqlite": sqliteSQL`, `"sqlite": fsmMutantSQL(sqliteSQL)`, 1)
			if switched == text {
				return nil, fmt.Errorf("%s: no place where the schema is handed over", f.Path)
			}
			text = switched
		}
		if err := o.put(scratch, f.Path, text); err != nil {
			return nil, err
		}
	}
	if err := o.put(scratch, filepath.Join(root, dir, mutants.SupportFile), s.Support()); err != nil {
		return nil, err
	}
	tests := &judge{name: "generated tests of " + name, dir: "./" + dir, run: *judging}
	if err := tests.build(root, scratch, o); err != nil {
		return nil, err
	}
	overMemory := *tests // what kills most mutants of the durable layer, in a tenth of the time
	if overMemory.run == "" {
		overMemory.run = "^Test/^(moves|cases|checks|records|schema|memstore)$"
	}
	groups := []*group{
		{name: "pure/" + name, mutants: s.Files[0].Mutants, env: selectNumber, judges: func(*mutants.Mutant) []*judge { return []*judge{tests} }},
		{name: "durable/" + name, mutants: s.Files[1].Mutants, env: selectNumber, judges: func(*mutants.Mutant) []*judge { return []*judge{&overMemory, tests} }},
	}
	if handles {
		groups = append(groups, &group{name: "handles/" + name, mutants: s.Files[2].Mutants, env: selectNumber, judges: func(*mutants.Mutant) []*judge { return []*judge{&overMemory, tests} }})
	}
	if !wanted("sql/" + name) {
		return groups, nil
	}
	sql, err := sqlGroup(root, scratch, dir, tests)
	if err != nil {
		return nil, err
	}
	return append(groups, sql), nil
}

// tally is one line of the table.
type tally struct {
	name                                   string
	mutants, killed, equivalent, survivors int
	killers                                map[string]int
	took                                   time.Duration
}
