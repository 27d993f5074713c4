package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// The exit codes, a promise to scripts.
const (
	exitOK       = 0
	exitFindings = 1 // the specification has errors, the disk is not what gen would write, or a database not what the machine did
	exitUsage    = 2 // the command line, or a file or database it names, cannot be used
	exitInternal = 3 // a mistake in fsmgen itself
)

const newIssue = "https://github.com/fsmgen/fsmgen/issues/new"

// cli is one run of the command.
type cli struct {
	in       io.Reader
	out, err io.Writer
	current  string // the specification in work, for the report of a panic
	model    modelRun
	quiet    bool // what went well is not worth a word

	generate func(*spec.Machine, gen.Options) ([]gen.File, error) // replaced by tests that need a failing generator
}

func newCLI(in io.Reader, out, err io.Writer) *cli {
	return &cli{in: in, out: &output{Writer: out}, err: err, generate: gen.Generate}
}

// output is the standard output. It remembers why something could not be
// printed: who asks for a result and gets none must not read success.
type output struct {
	io.Writer
	failed error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.failed == nil && !errors.Is(err, syscall.EPIPE) { // a reader that went away has read enough
		o.failed = err
	}
	return n, err
}

// errFindings ends a command whose findings are printed already.
var errFindings = errors.New("findings")

// usageError is a mistake in the command line or in a file that it names.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// internalError is a mistake in fsmgen.
type internalError struct{ error }

// run executes one command line and returns the exit code.
func (c *cli) run(args []string) int {
	code := c.execute(args)
	if o, ok := c.out.(*output); ok && o.failed != nil && code < exitUsage {
		c.errorf("fsmgen: cannot print: %v\n", o.failed)
		return exitUsage
	}
	return code
}

func (c *cli) execute(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = c.bug(fmt.Sprint(p), debug.Stack())
		}
	}()
	root := c.rootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	var internal internalError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.As(err, &internal):
		return c.bug(err.Error(), nil)
	}
	c.errorf("%s: %v\n", cmd.CommandPath(), clearer(err))
	var usage usageError
	if !errors.As(err, &usage) { // cobra's own: unknown commands and flags, wrong number of arguments
		c.errorf("run '%s --help' for usage\n", cmd.CommandPath())
	}
	return exitUsage
}

// bugLines is how much of a message is shown: one about unreadable generated
// code holds all of that code.
const bugLines = 12

// bug reports a mistake in fsmgen.
func (c *cli) bug(what string, stack []byte) int {
	if lines := strings.Split(what, "\n"); len(lines) > bugLines {
		what = strings.Join(lines[:bugLines], "\n") + fmt.Sprintf("\n... and %d lines more", len(lines)-bugLines)
	}
	c.errorf("fsmgen: internal error: %s\n", what)
	if c.current != "" {
		c.errorf("while working on %s\n", c.current)
	}
	c.errorf("this is a bug in fsmgen, please report it with the specification: %s\n", newIssue)
	if len(stack) > 0 {
		c.errorf("\n%s", stack)
	}
	return exitInternal
}

func (c *cli) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "fsmgen",
		Short: "Compile the YAML definition of a state machine into a Go package",
		Long: `fsmgen compiles the YAML definition of a state machine into a Go package:
typed transition methods, exhaustive tests, SQL schemas and a diagram.

Each command has --json and -q. A command that reads specifications prints with
--json one object: findings, errors and warnings (how many), and where it applies
files (path, status before the run, written) or output (what would be printed).
-q says only what is wrong; what was asked for is printed all the same.

Exit codes: 0 ok; 1 the specification has errors, files on disk are not what
fsmgen would write, or a database or a log is not the machine's work; 2 the
command line, or a file or database it names, cannot be used; 3 a bug in fsmgen.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usagef("a command is missing")
		},
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.AddCommand(c.manCommand(), c.genCommand(), c.auditCommand(), c.checkCommand(), c.diagramCommand(), c.diffCommand(), c.docsCommand(), c.explainCommand(), c.fmtCommand(), c.initCommand(), c.logCommand(), c.replayCommand(), c.schemaCommand(), c.serveCommand(), c.sqlCommand(), c.versionCommand())
	// Cobra's own, which without this would call an unknown shell a success.
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no completion for the shell %q; write bash, fish, powershell or zsh", args[0])
			}
			return usagef("a shell is missing; write bash, fish, powershell or zsh")
		}
	}
	speak(root)
	return root
}

// errorf prints to the error stream; there is nowhere to report that it failed.
func (c *cli) errorf(format string, args ...any) { _, _ = fmt.Fprintf(c.err, format, args...) }

// printf prints a result. A reader that went away (fsmgen ... | head) is no
// error of ours.
func (c *cli) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// remarkf prints what went well, unless nobody wants to know.
func (c *cli) remarkf(format string, args ...any) {
	if !c.quiet {
		c.printf(format, args...)
	}
}

// jsonFlag adds --json; what says which parts of the report the command fills.
func (c *cli) jsonFlag(cmd *cobra.Command, asJSON *bool, what string) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print what was found and done as JSON")
	cmd.Long += "\n\nWith --json it prints one object: findings (as check --json has them), errors and\nwarnings (how many), and " + what
}

// quietFlag adds --quiet.
func (c *cli) quietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "say only what is wrong")
}

// source is one specification and what was found in it.
type source struct {
	path    string // "-" is the standard input
	name    string // as findings show it
	text    []byte
	machine *spec.Machine // nil when the file cannot be understood
	found   spec.Diagnostics
}

// read reads one specification and nothing more.
func (c *cli) read(path string) (*source, error) {
	s := &source{path: path, name: shown(path)}
	var err error
	if path == "-" {
		s.name = "<stdin>"
		s.text, err = io.ReadAll(io.LimitReader(c.in, maxInput+1))
	} else {
		s.text, err = readSpec(path)
	}
	if err != nil {
		if errors.Is(err, syscall.EISDIR) {
			return nil, usagef("%s is a folder; name a specification in it, a file like %s/job.yaml", s.name, s.name)
		}
		return nil, usagef("cannot read the specification: %w", err)
	}
	if len(s.text) > maxInput {
		return nil, usagef("%s is larger than %d MiB; a specification has at most 1 MiB", s.name, maxInput>>20)
	}
	c.current = s.name
	return s, nil
}

// load reads, parses and checks one specification. Findings are no error.
func (c *cli) load(path string) (*source, error) {
	s, err := c.read(path)
	if err == nil {
		s.machine, s.found = validate.Source(s.name, s.text)
	}
	return s, err
}

// maxInput bounds what is read into memory; spec.Parse reports a file that
// is above its own, lower limit, with its size.
const maxInput = 8 << 20

// readSpec reads at most maxInput bytes and one more.
func readSpec(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	return data, errors.Join(err, f.Close())
}

// loadAll loads the specifications in the order of the command line.
func (c *cli) loadAll(paths []string) ([]*source, error) { return sourcesOf(paths, c.load) }

// sourcesOf reads or loads the specifications in the order of the command line.
func sourcesOf(paths []string, load func(string) (*source, error)) ([]*source, error) {
	seen := make(map[string]bool)
	var sources []*source
	for _, p := range paths {
		if key := filepath.Clean(p); seen[key] {
			return nil, usagef("%s is named twice", shown(p))
		} else {
			seen[key] = true
		}
		s, err := load(p)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// specFiles completes the names of specifications in a shell.
func specFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// oneOf completes a flag in a shell, and oneOf's values are what it accepts.
func oneOf(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist
	}
}
