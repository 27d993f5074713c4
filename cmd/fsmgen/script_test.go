package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fsmgen": main})
}

// TestScript runs testdata/script: the whole command line, as a terminal shows
// it. FSMGEN_UPDATE_SCRIPTS=1 writes the outputs that scripts compare with cmp.
func TestScript(t *testing.T) {
	t.Parallel()
	run(t, "testdata/script", nil)
}

// TestPostgresScript runs testdata/postgres, with an empty database at $PG.
func TestPostgresScript(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	run(t, "testdata/postgres", func(env *testscript.Env) error {
		env.Setenv("PG", dsn)
		return nil
	})
}

func run(t *testing.T, dir string, setup func(*testscript.Env) error) {
	t.Helper()
	specs, err := filepath.Abs("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SPECS", specs)
			if setup != nil {
				return setup(env)
			}
			return nil
		},
		UpdateScripts:       os.Getenv("FSMGEN_UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"age":      age,
			"young":    young,
			"jobsdb":   jobsDB,
			"sqlite":   execSQLite,
			"pgjobs":   postgresJobs,
		},
		Condition: func(cond string) (bool, error) {
			// Root may write everywhere: a read-only folder stops nobody.
			return cond == "root" && os.Geteuid() == 0, nil
		},
	})
}

// exitCode runs fsmgen and compares its exit code: exitcode N fsmgen ARGS...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitStatus(err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// aged is a time no test writes a file at.
var aged = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// age sets the time of files back: age FILE...
func age(ts *testscript.TestScript, neg bool, args []string) {
	for _, f := range args {
		ts.Check(os.Chtimes(ts.MkAbs(f), aged, aged))
	}
}

// young demands that files were written since `age`, or with ! that they were
// not: [!] young FILE...
func young(ts *testscript.TestScript, neg bool, args []string) {
	for _, f := range args {
		info, err := os.Stat(ts.MkAbs(f))
		ts.Check(err)
		if written := !info.ModTime().Equal(aged); written == neg {
			ts.Fatalf("%s: written is %v", f, written)
		}
	}
}

// jobsDB makes a SQLite file with the jobs of livetest.Jobs: jobsdb FILE [LEVEL].
func jobsDB(ts *testscript.TestScript, _ bool, args []string) {
	level := "full"
	if len(args) > 1 {
		level = args[1]
	}
	store, err := sqlite.Open(ts.MkAbs(args[0]), sqlite.WithEnforce(level))
	ts.Check(err)
	ts.Check(livetest.Jobs(context.Background(), store))
	ts.Check(store.Close())
	lock := ts.MkAbs(args[0]) + ".lock"
	ts.Check(os.Remove(lock))
}

// execSQLite runs SQL past every rule: sqlite FILE SQL.
func execSQLite(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_pragma=ignore_check_constraints(1)")
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

// postgresJobs fills the database at $PG as jobsdb does.
func postgresJobs(ts *testscript.TestScript, _ bool, args []string) {
	store, err := postgres.Open(context.Background(), ts.Getenv("PG"), postgres.WithEnforce("none"))
	ts.Check(err)
	ts.Check(livetest.Jobs(context.Background(), store))
	ts.Check(store.Close())
	db, err := sql.Open("pgx", ts.Getenv("PG"))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), strings.Join(args, " "))
	ts.Check(err)
	ts.Check(db.Close())
}

// exitStatus is the exit code of a finished process, or why there is none.
func exitStatus(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
