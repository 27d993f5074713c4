package main

import (
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/spec"
)

func (c *cli) diagramCommand() *cobra.Command {
	var out string
	var check bool
	cmd := &cobra.Command{
		Use:   "diagram SPEC",
		Short: "Draw a machine as a Mermaid state diagram",
		Long: `Diagram prints a Mermaid stateDiagram-v2 of the machine: GitHub and most wikis
draw it in a code block of the language "mermaid". "-" reads the standard input.`,
		Example: `  fsmgen diagram specs/lifecycle.yaml
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.mmd
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.mmd --check`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: specFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			return c.diagram(args[0], out, check)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the file instead of printing (.mmd)")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 when the file of -o is not up to date")
	return cmd
}

func (c *cli) diagram(path, out string, check bool) error {
	switch {
	case check && out == "":
		return usagef("--check compares with a file; name it with -o")
	case out != "" && !hasHeader(out):
		return usagef("-o is %q; a diagram is a .mmd file", out)
	}
	s, err := c.load(path)
	if err != nil {
		return err
	}
	c.renderAll(c.err, []*source{s}, spec.Warning)
	if s.found.HasErrors() {
		return errFindings
	}
	data := gen.Mermaid(s.machine)
	if out == "" {
		if _, err := c.out.Write(data); err != nil {
			return usagef("cannot print the diagram: %w", err)
		}
		return nil
	}
	return c.put([]*plan{{source: s, targets: []*target{{path: out, data: data}}}}, putOptions{check: check})
}
