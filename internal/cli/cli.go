// Package cli is what fsmgen and fsmctl have in common: exit codes, flags, reading
// specifications, and how findings and other results are printed.
//
// Both commands report in the same words and with the same exit codes. Text that came
// from outside goes through Plain before a terminal gets it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// The exit codes, a promise to scripts.
const (
	ExitOK       = 0
	ExitFindings = 1 // the specification has errors, the disk is not what gen would write, or a database not what the machine did
	ExitUsage    = 2 // the command line, or a file or database it names, cannot be used
	ExitInternal = 3 // a mistake in the command itself
)

// NewIssue is where bugs are reported.
const NewIssue = "https://github.com/fsmgen/fsmgen/issues/new"

// CLI is one run of a command.
type CLI struct {
	name     string // of the command
	In       io.Reader
	Out, Err io.Writer
	Current  string // the specification in work, for the report of a panic
	Quiet    bool   // what went well is not worth a word

	explain []string // codes of findings that were printed
}

// New begins a run of the command of that name.
func New(name string, in io.Reader, out, err io.Writer) *CLI {
	return &CLI{name: name, In: in, Out: &output{Writer: out}, Err: err}
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

// ErrFindings ends a command whose findings are printed already.
var ErrFindings = errors.New("findings")

// usageError is a mistake in the command line or in a file that it names.
type usageError struct{ error }

// Usagef says what is wrong in the command line, or in what it names.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Usage makes a mistake in the command line, or in what it names, of an error.
func Usage(err error) error { return usageError{err} }

// IsUsage reports whether an error is of Usagef or Usage.
func IsUsage(err error) bool { return errors.As(err, new(usageError)) }

// internalError is a mistake in the command itself.
type internalError struct{ error }

// Internal makes a mistake in the command itself of an error.
func Internal(err error) error { return internalError{err} }

// Run executes one command line of the command that root makes, and returns
// the exit code.
func (c *CLI) Run(root func() *cobra.Command, args []string) int {
	code := c.execute(root, args)
	c.PointOut()
	if o, ok := c.Out.(*output); ok && o.failed != nil && code < ExitUsage {
		c.Errorf("%s: cannot print: %v\n", c.name, o.failed)
		return ExitUsage
	}
	return code
}

func (c *CLI) execute(makeRoot func() *cobra.Command, args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = c.bug(fmt.Sprint(p), debug.Stack())
		}
	}()
	root := makeRoot()
	c.complete(root)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	var internal internalError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrFindings):
		return ExitFindings
	case errors.As(err, &internal):
		return c.bug(err.Error(), nil)
	}
	c.Errorf("%s: %v\n", cmd.CommandPath(), clearer(err))
	var usage usageError
	if !errors.As(err, &usage) { // cobra's own: unknown commands and flags, wrong number of arguments
		c.Errorf("run '%s --help' for usage\n", cmd.CommandPath())
	}
	return ExitUsage
}

// bugLines is how much of a message is shown: one about unreadable generated
// code holds all of that code.
const bugLines = 12

// bug reports a mistake in the command itself.
func (c *CLI) bug(what string, stack []byte) int {
	if lines := strings.Split(what, "\n"); len(lines) > bugLines {
		what = strings.Join(lines[:bugLines], "\n") + fmt.Sprintf("\n... and %d more lines", len(lines)-bugLines)
	}
	c.Errorf("%s: internal error: %s\n", c.name, what)
	if c.Current != "" {
		c.Errorf("while working on %s\n", c.Current)
	}
	c.Errorf("this is a bug in %s, please report it with the specification: %s\n", c.name, NewIssue)
	if len(stack) > 0 {
		c.Errorf("\n%s", stack)
	}
	return ExitInternal
}

// complete adds to a command what all commands have.
func (c *CLI) complete(root *cobra.Command) {
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetHelpFunc(narrow(root.HelpFunc()))
	// Cobra's own, which without this would call an unknown shell a success.
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Usagef("no completion for the shell %q; write bash, fish, powershell or zsh", args[0])
			}
			return Usagef("a shell is missing; write bash, fish, powershell or zsh")
		}
	}
	speak(root)
}

// Errorf prints to the error stream; there is nowhere to report that it failed.
func (c *CLI) Errorf(format string, args ...any) { _, _ = fmt.Fprintf(c.Err, format, args...) }

// Printf prints a result. A reader that went away (fsmgen ... | head) is no
// error of ours.
func (c *CLI) Printf(format string, args ...any) { _, _ = fmt.Fprintf(c.Out, format, args...) }

// Remarkf prints what went well, unless nobody wants to know.
func (c *CLI) Remarkf(format string, args ...any) {
	if !c.Quiet {
		c.Printf(format, args...)
	}
}

// JSONFlag adds --json; what says which parts of the report the command fills.
func (c *CLI) JSONFlag(cmd *cobra.Command, asJSON *bool, what string) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print findings and results as JSON")
	cmd.Long += "\n\nWith --json it prints one object: findings (as check --json has them), errors\nand warnings (how many), and " + what
}

// QuietFlag adds --quiet.
func (c *CLI) QuietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.Quiet, "quiet", "q", false, "print findings only")
}

// Source is one specification and what was found in it.
type Source struct {
	Path    string // "-" is the standard input
	Name    string // as findings show it
	Text    []byte
	Machine *spec.Machine // nil when the file cannot be understood
	Found   spec.Diagnostics
}

// Read reads one specification and nothing more.
func (c *CLI) Read(path string) (*Source, error) {
	s := &Source{Path: path, Name: Shown(path)}
	var err error
	if path == "-" {
		s.Name = "<stdin>"
		s.Text, err = io.ReadAll(io.LimitReader(c.In, MaxInput+1))
	} else {
		s.Text, err = ReadSpec(path)
	}
	if err != nil {
		if errors.Is(err, syscall.EISDIR) {
			return nil, Usagef("%s is a folder; name a specification in it, a file like %s/job.yaml", s.Name, s.Name)
		}
		return nil, Usagef("cannot read the specification: %w", err)
	}
	if len(s.Text) > MaxInput {
		return nil, Usagef("%s is larger than %d MiB; a specification has at most 1 MiB", s.Name, MaxInput>>20)
	}
	c.Current = s.Name
	return s, nil
}

// Load reads, parses and checks one specification. Findings are no error.
func (c *CLI) Load(path string) (*Source, error) {
	s, err := c.Read(path)
	if err == nil {
		s.Machine, s.Found = Check(s.Name, s.Text)
	}
	return s, err
}

// Check parses a file and looks at the machine in it, and at those that it uses.
func Check(file string, src []byte) (*spec.Machine, spec.Diagnostics) {
	m, found := validate.Source(file, src)
	if m == nil || len(m.Uses) == 0 {
		return m, found
	}
	found = append(found, spec.Link(m, func(path string) ([]byte, error) { return ReadSpec(filepath.FromSlash(path)) })...)
	found.Sort()
	return m, found
}

// MaxInput bounds what is read into memory; spec.Parse reports a file that
// is above its own, lower limit, with its size.
const MaxInput = 8 << 20

// ReadSpec reads at most MaxInput bytes and one more.
func ReadSpec(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxInput+1))
	return data, errors.Join(err, f.Close())
}

// LoadAll loads the specifications in the order of the command line.
func (c *CLI) LoadAll(paths []string) ([]*Source, error) { return SourcesOf(paths, c.Load) }

// SourcesOf reads or loads the specifications in the order of the command line.
func SourcesOf(paths []string, load func(string) (*Source, error)) ([]*Source, error) {
	seen := make(map[string]bool)
	var sources []*Source
	for _, p := range paths {
		if key := filepath.Clean(p); seen[key] {
			return nil, Usagef("%s is named twice", Shown(p))
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

// SpecFiles completes the names of specifications in a shell.
func SpecFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// OneOf completes a flag in a shell, and oneOf's values are what it accepts.
func OneOf(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// Sound loads a specification that has no errors.
func (c *CLI) Sound(path string) (*Source, error) {
	s, err := c.Load(path)
	if err != nil {
		return nil, err
	}
	if s.Found.HasErrors() {
		c.RenderAll(c.Err, []*Source{s}, spec.Error)
		return nil, Usagef("%s has errors; fix them first", s.Name)
	}
	return s, nil
}

// Interrupted returns a context that ends with the first Ctrl-C, so that nothing is
// left open; a second one ends the program.
func Interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// Broken says what the end of a context means to who pressed Ctrl-C.
func Broken(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("broken off")
	}
	return err
}

// SpecThen completes a specification first, and nothing after it.
func SpecThen(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// Write prints a result as it is.
func (c *CLI) Write(data []byte) error {
	if _, err := c.Out.Write(data); err != nil {
		return Usagef("cannot print: %w", err)
	}
	return nil
}

// Shown returns path as a reader would type it: with slashes, and relative when
// it lies below the working folder.
func Shown(path string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}
