package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/export"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/spec"
)

// exportFlags are the flags of `export`.
type exportFlags struct {
	format string
	out    string
	check  bool
	asJSON bool
}

// exports are the formats of `export`.
var exports = map[string]func(*spec.Machine) ([]byte, error){
	"jsonschema": export.JSONSchema, "ts": export.TypeScript, "xstate": export.XState,
}

var exportNames = []string{"jsonschema", "ts", "xstate"}

func (c *tool) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export SPEC --format jsonschema|ts|xstate",
		Short: "Write a machine for programs in other languages",
		Long: `Export writes what a program in another language needs to know of a machine.
"-" reads the specification from the standard input.

  jsonschema     the JSON Schema (draft 2020-12) of a record, and below $defs of
                 the inputs of each operation and of each event of the log
  ts             the same as types of TypeScript: a record is one type for each
                 state, with the fields that the state promises
  xstate         a machine for XState, version 5, as JSON

Records are as Go's json writes those of the generated package, and events as
"fsmctl log --json" prints them. Each is of this version of the machine.`,
		Example: `  fsmgen export specs/lifecycle.yaml --format ts -o web/job.ts
  fsmgen export specs/lifecycle.yaml --format ts -o web/job.ts --check
  fsmgen export specs/lifecycle.yaml --format jsonschema > job.schema.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.export(args[0], f) },
	}
	cmd.Flags().StringVar(&f.format, "format", "", "what to write: jsonschema, ts or xstate (required)")
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the file instead of printing")
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 when the file of -o is not up to date")
	c.JSONFlag(cmd, &f.asJSON, "output (format and text), or files with -o.")
	c.QuietFlag(cmd)
	cli.OneOf(cmd, "format", exportNames...)
	return cmd
}

func (c *tool) export(path string, f exportFlags) error {
	write := exports[f.format]
	switch {
	case f.format == "":
		return cli.Usagef("--format is missing; write --format jsonschema, ts or xstate")
	case write == nil:
		return cli.Usagef("--format is %q; %s", f.format, spec.DidYouMean(spec.Nearest(f.format, exportNames), "write one of", exportNames))
	case f.check && f.out == "":
		return cli.Usagef("--check compares with a file; name it with -o")
	}
	s, err := c.Load(path)
	if err != nil {
		return err
	}
	if err := c.Accepts(s, f.asJSON); err != nil {
		return err
	}
	data, err := write(s.Machine)
	if err != nil {
		return cli.Internal(fmt.Errorf("export %s: %w", f.format, err))
	}
	if f.out == "" {
		return c.Give(s, f.asJSON, f.format, data)
	}
	return c.put([]*plan{{source: s, targets: []*target{{path: f.out, data: data}}}}, putOptions{check: f.check, asJSON: f.asJSON})
}
