package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/spec"
)

// tool is one run of fsmgen.
type tool struct {
	*cli.CLI
	model modelRun

	generate func(*spec.Machine, gen.Options) ([]gen.File, error) // replaced by tests that need a failing generator
}

func newCLI(in io.Reader, out, err io.Writer) *tool {
	return &tool{CLI: cli.New("fsmgen", in, out, err), generate: gen.Generate}
}

// run executes one command line and returns the exit code.
func (c *tool) run(args []string) int { return c.Run(c.rootCommand, args) }

func (c *tool) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "fsmgen",
		Short: "Compile the YAML definition of a state machine into a Go package",
		Long: `Start with "fsmgen init".

fsmgen compiles the YAML definition of a state machine into a Go package:
typed transition methods, exhaustive tests, SQL schemas and a diagram.

Each command has --json and -q. A command that reads specifications prints with
--json one object: findings, errors and warnings (how many), and where it
applies files (path, status before the run, written) or output (what would be
printed). -q prints findings only; requested output is still printed.

Exit codes: 0 ok; 1 the specification has errors, files on disk are not what
fsmgen would write, or a log has an event that the machine could not make; 2 the
command line, or a file it names, cannot be used; 3 a bug in fsmgen. Databases
are read by fsmctl.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return cli.Usagef("a command is missing")
		},
	}
	root.AddCommand(
		c.genCommand(), c.movedCommand("audit", "fsmctl audit --db DATABASE SPEC"), c.checkCommand(),
		c.diagramCommand(), c.diffCommand(), c.docsCommand(), c.explainCommand(), c.exportCommand(),
		c.fmtCommand(), c.initCommand(), c.lspCommand(), c.movedCommand("log", "fsmctl log --db DATABASE SPEC [ID]"), c.replayCommand(),
		c.schemaCommand(), c.serveCommand(), c.sqlCommand(), c.VersionCommand(),
	)
	cli.Group(root, "Write", "init", "check", "fmt", "explain", "schema", "lsp")
	cli.Group(root, "Build", "gen", "sql", "export", "diff", "docs")
	cli.Group(root, "Look", "serve", "diagram", "replay")
	return root
}
