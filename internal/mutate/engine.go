package main

import (
	"os"
	"path/filepath"
	"strings"
)

// engineFile is a file of the runtime with checks in it.
type engineFile struct{ dir, base string }

// engineFiles are where the promises of the runtime are kept: who may do what
// on which revision, what was asked before, what a record was, and the texts
// that a database is asked with.
var engineFiles = []engineFile{
	{"runtime", "apply.go"},
	{"runtime", "call.go"},
	{"runtime", "create.go"},
	{"runtime", "deliver.go"},
	{"runtime", "fingerprint.go"},
	{"runtime", "fold.go"},
	{"runtime", "pick.go"},
	{"runtime", "replay.go"},
	{"runtime", "run.go"},
	{"runtime", "step.go"},
	{"runtime", "sweep.go"},
	{"runtime/sqlstore", "statement.go"},
	{"runtime/sqlstore", "tx.go"},
}

// engineGroups returns the checks of the runtime. They are judged by the
// conformance suite of stores over memory, which knows the engine best, by the
// tests of the runtime, by the generated tests of the five machines over memory
// and by the conformance suite over SQLite; those of sqlstore by the conformance
// suite and the generated tests over SQLite. The fast ones come first.
func engineGroups(root, scratch string, _ func(string) bool) ([]*group, error) {
	scratch, err := os.MkdirTemp(scratch, "engine-")
	if err != nil {
		return nil, err
	}
	subjects := map[string]*subject{}
	o := overlay{}
	var groups []*group
	for i, e := range engineFiles {
		s := subjects[e.dir]
		if s == nil {
			if s, err = load(root, "./"+e.dir); err != nil {
				return nil, err
			}
			subjects[e.dir] = s
			if err := o.put(scratch, filepath.Join(root, e.dir, supportFile), supportSource(s.pkg.Name)); err != nil {
				return nil, err
			}
		}
		if err := s.mutate(e.base, 1+10000*i, options{engine: true}, func(string) bool { return true }); err != nil {
			return nil, err
		}
		f := s.files[len(s.files)-1]
		if err := o.put(scratch, f.path, apply(f.source, f.mutants)); err != nil {
			return nil, err
		}
		groups = append(groups, &group{name: e.dir + "/" + strings.TrimSuffix(e.base, ".go"), mutants: f.mutants, env: selectNumber})
	}
	judges := []*judge{
		{name: "storetest over memory", dir: "./runtime/memstore"},
		// Random tests always draw the same, and write no file when they fail.
		{name: "tests of runtime", dir: "./runtime", flags: []string{"-rapid.seed=1", "-rapid.nofailfile"}},
	}
	for _, dir := range machines { // over memory first: it is ten times as fast
		judges = append(judges, &judge{name: filepath.Base(dir) + " over memory", dir: "./" + dir, run: "^Test/^memstore$"})
	}
	overMemory := len(judges)
	judges = append(judges, &judge{name: "storetest over SQLite", dir: "./runtime/sqlite", run: "^TestConformance$"})
	for _, j := range judges {
		if err := j.build(root, scratch, o); err != nil {
			return nil, err
		}
	}
	for _, memory := range judges[overMemory-len(machines) : overMemory] {
		j := *memory
		j.name, j.run = filepath.Base(j.dir)+" over SQLite", "^Test/^sqlite$"
		if err := j.prove(root); err != nil {
			return nil, err
		}
		judges = append(judges, &j)
	}
	for _, g := range groups {
		all := judges[:overMemory+1]
		if strings.HasPrefix(g.name, "runtime/sqlstore/") {
			all = judges[overMemory:] // memory asks no database
		}
		g.judges = func(*mutant) []*judge { return all }
	}
	return groups, nil
}
