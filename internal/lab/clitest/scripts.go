// Package clitest runs the scripts of a command line's tests, for fsmgen and fsmctl alike.
package clitest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
)

// Command is what a script may call besides programs.
type Command = func(*testscript.TestScript, bool, []string)

// Run runs the scripts of a folder, with the folder of the shipped machines at $SPECS and
// what setup adds, which may be nil. FSMGEN_UPDATE_SCRIPTS=1 writes the outputs that
// scripts compare with cmp. Scripts know the commands given and
//
//	exitcode N COMMAND ARGS...    the command ends with this code
//
// and the condition root: the user is root, who may write everywhere.
func Run(t *testing.T, dir string, commands map[string]Command, setup func(*testscript.Env) error) {
	t.Helper()
	specs := filepath.Join(outside.Root(t), "specs")
	all := map[string]Command{"exitcode": exitCode}
	maps.Copy(all, commands)
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
		Cmds:                all,
		Condition:           func(cond string) (bool, error) { return cond == "root" && os.Geteuid() == 0, nil },
	})
}

// Help holds the help of a command, and of all below it, to lines of 80 characters.
func Help(t *testing.T, root *cobra.Command, run func(args ...string) string) {
	t.Helper()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		text := run(append(slices.Clone(path), "--help")...)
		if !strings.Contains(text, "Usage:\n  "+cmd.CommandPath()) {
			t.Errorf("%s --help prints\n%s", cmd.CommandPath(), text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > 80 {
				t.Errorf("%s --help has a line of %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				walk(sub, append(slices.Clone(path), sub.Name()))
			}
		}
	}
	walk(root, nil)
}

func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command args...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = err.Error() // it did not even begin
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			got = strconv.Itoa(exit.ExitCode())
		}
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
