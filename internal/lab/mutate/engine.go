package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/lab/mutants"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
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
	{"runtime/driver", "fingerprint.go"},
	{"runtime/driver", "fold.go"},
	{"runtime", "observe.go"},
	{"runtime", "pick.go"},
	{"runtime", "replay.go"},
	{"runtime", "run.go"},
	{"runtime", "step.go"},
	{"runtime", "sweep.go"},
	{"runtime/sqlstore", "statement.go"},
	{"runtime/sqlstore", "tx.go"},
	{"runtime", "join.go"},
	{"runtime/audit", "purge.go"},
	{"runtime/audit", "repair.go"},
	{"runtime/sqlstore", "batch.go"},
	{"runtime/sqlstore", "committer.go"},
	{"runtime/sqlstore", "write.go"},
	{"runtime/sqlstore", "postgres_batch.go"},
	{"runtime", "many.go"},
	{"runtime", "pick_many.go"},
	{"runtime/sqlstore", "many.go"},
}

// group is the name of a file's line in the table.
func (e engineFile) group() string { return e.dir + "/" + strings.TrimSuffix(e.base, ".go") }

// suites names the suites that a file is judged by.
func (e engineFile) suites() []string {
	switch {
	case e.dir == "runtime", e.dir == "runtime/driver", e.dir == "runtime/audit":
		return append(append([]string{"tests of memstore", "tests of driver", "tests of runtime"}, each("%s over memory")...), "tests of sqlite")
	case e.base == "write.go":
		return []string{"tests of sqlstore", "tests of sqlite", "tests of sqlstore on PostgreSQL", "tests of postgres"}
	case strings.HasPrefix(e.base, "postgres_"):
		return []string{"tests of sqlstore", "tests of sqlstore on PostgreSQL", "tests of postgres"}
	case e.base == "statement.go":
		return append([]string{"tests of sqlstore", "tests of sqlite"}, each("%s over SQLite")...)
	}
	return append([]string{"tests of sqlstore", "tests of sqlite", "tests of sqlstore on PostgreSQL", "tests of postgres"}, each("%s over SQLite")...)
}

// each names a suite of every machine.
func each(format string) []string {
	var list []string
	for _, dir := range machines {
		list = append(list, fmt.Sprintf(format, filepath.Base(dir)))
	}
	return list
}

// engineJudges are the suites by name. They run what is deterministic and needs
// no more than seconds.
func engineJudges() map[string]*judge {
	all := map[string]*judge{
		"tests of memstore": {dir: "./runtime/memstore"},
		"tests of driver":   {dir: "./runtime/driver"},
		// Random tests always draw the same, and write no file when they fail.
		"tests of runtime":                {dir: "./runtime", flags: []string{"-rapid.seed=1", "-rapid.nofailfile"}},
		"tests of sqlstore":               {dir: "./runtime/sqlstore", flags: []string{"-test.skip=Postgres"}},
		"tests of sqlite":                 {dir: "./runtime/sqlite", flags: []string{"-test.skip=^Test(KilledProcess|BackupIsRestored|Busy)$"}},
		"tests of sqlstore on PostgreSQL": {dir: "./runtime/sqlstore"},
		"tests of postgres":               {dir: "./runtime/postgres", run: "^Test(Conformance|Joined.*|Log.*|RefusedAtTheCommit|EffectMeetsAnother|LostAnswer|NextPassesOverLockedRecords)$"},
	}
	for _, dir := range machines {
		name := filepath.Base(dir)
		all[name+" over memory"] = &judge{dir: "./" + dir, run: "^Test/^memstore$"}
		all[name+" over SQLite"] = &judge{dir: "./" + dir, run: "^Test/^sqlite$"}
	}
	for name, j := range all {
		j.name = name
	}
	return all
}

// engineGroups returns the checks of the runtime, each file with its suites.
func engineGroups(root, scratch string, wanted func(string) bool, atEnd func(func())) ([]*group, error) {
	scratch, err := os.MkdirTemp(scratch, "engine-")
	if err != nil {
		return nil, err
	}
	subjects := map[string]*mutants.Subject{}
	o := overlay{}
	all := engineJudges()
	needed := map[string]bool{}
	var groups []*group
	for i, e := range engineFiles {
		if !wanted(e.group()) {
			continue
		}
		s := subjects[e.dir]
		if s == nil {
			if s, err = mutants.Load(root, "./"+e.dir); err != nil {
				return nil, err
			}
			subjects[e.dir] = s
			if err := o.put(scratch, filepath.Join(root, e.dir, mutants.SupportFile), s.Support()); err != nil {
				return nil, err
			}
		}
		if err := s.Mutate(e.base, 1+10000*i, mutants.Options{Engine: true}, func(string) bool { return true }); err != nil {
			return nil, err
		}
		f := s.Files[len(s.Files)-1]
		if err := o.put(scratch, f.Path, f.Mutated()); err != nil {
			return nil, err
		}
		var judges []*judge
		for _, name := range e.suites() {
			needed[name] = true
			judges = append(judges, all[name])
		}
		groups = append(groups, &group{name: e.group(), mutants: f.Mutants, env: selectNumber, judges: func(*mutants.Mutant) []*judge { return judges }})
	}
	if needed["tests of postgres"] && os.Getenv("FSMGEN_POSTGRES_URL") == "" {
		url, stop, err := pgtest.Serve()
		if err != nil {
			return nil, fmt.Errorf("the suites over PostgreSQL: %w", err)
		}
		atEnd(stop)
		if err := os.Setenv("FSMGEN_POSTGRES_URL", url); err != nil { // for the tests
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if err := all[name].build(root, scratch, o); err != nil {
			return nil, err
		}
	}
	for _, g := range groups { // the fast ones are asked first: they kill most
		judges := slices.SortedStableFunc(slices.Values(g.judges(nil)), func(a, b *judge) int { return cmp.Compare(a.took, b.took) })
		g.judges = func(*mutants.Mutant) []*judge { return judges }
	}
	return groups, nil
}
