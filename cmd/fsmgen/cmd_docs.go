package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/mdpage"
)

func (c *tool) docsCommand() *cobra.Command {
	var out string
	var check, asJSON bool
	cmd := &cobra.Command{
		Use:   "docs SPEC",
		Short: "Write the Markdown page of a machine",
		Long: `Docs writes a reference page (Markdown) for a machine: the picture, the states
with what holds in them, the operations with guards, effects and refusals, the
matrix, the events as JSON, and the table of the records. "-" reads the standard
input.`,
		Example: `  fsmgen docs job.yaml
  fsmgen docs job.yaml -o docs/job.md
  fsmgen docs job.yaml -o docs/job.md --check   # in CI: fail when it is out of date`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.docs(args[0], out, check, asJSON) },
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the file instead of printing")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 when the file of -o is not up to date")
	c.JSONFlag(cmd, &asJSON, "output (format and text), or files with -o.")
	c.QuietFlag(cmd)
	return cmd
}

func (c *tool) docs(path, out string, check, asJSON bool) error {
	switch {
	case check && out == "":
		return cli.Usagef("--check compares with a file; name it with -o")
	case out != "" && filepath.Ext(out) != ".md":
		return cli.Usagef("-o is %q; the page is a .md file", out)
	}
	s, err := c.Load(path)
	if err != nil {
		return err
	}
	if err := c.Accepts(s, asJSON); err != nil {
		return err
	}
	text, err := mdpage.Markdown(s.Machine)
	if err != nil {
		return cli.Internal(err)
	}
	if out == "" {
		return c.Give(s, asJSON, "markdown", text)
	}
	return c.put([]*plan{{source: s, targets: []*target{{path: out, data: text}}}}, putOptions{check: check, asJSON: asJSON})
}
