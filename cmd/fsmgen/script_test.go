package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fsmgen": main})
}

// TestScript runs testdata/script: the whole command line, as a terminal shows
// it. FSMGEN_UPDATE_SCRIPTS=1 writes the outputs that scripts compare with cmp.
func TestScript(t *testing.T) {
	t.Parallel()
	run(t, "testdata/script")
}

func run(t *testing.T, dir string) {
	t.Helper()
	specs, err := filepath.Abs("../../specs")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SPECS", specs)
			return nil
		},
		UpdateScripts:       os.Getenv("FSMGEN_UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"age":      age,
			"young":    young,
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

// exitStatus is the exit code of a finished process, or why there is none.
func exitStatus(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
