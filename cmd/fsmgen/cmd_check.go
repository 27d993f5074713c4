package main

import (
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

const (
	formatText   = "text"
	formatJSON   = "json"
	formatSARIF  = "sarif"
	formatGitHub = "github"
)

var checkFormats = []string{formatText, formatJSON, formatSARIF, formatGitHub}

func (c *tool) checkCommand() *cobra.Command {
	var format string
	var asJSON, strict, verbose bool
	cmd := &cobra.Command{
		Use:   "check SPEC...",
		Short: "Check specifications and report problems",
		Long: `Check reads specifications and prints all findings, sorted by position, to the
standard output. "-" reads the standard input. The exit code is 1 when there is
an error; warnings alone leave it 0, or make it 1 with --strict.

With --json it prints one object: findings (file, line, column, length,
severity, code, message, and where there is more hint, before, after, related),
errors and warnings (how many).`,
		Example: `  fsmgen check specs/*.yaml
  fsmgen check --strict specs/*.yaml   # in CI: warnings fail, too
  fsmgen check --json - < job.yaml
  fsmgen check --format sarif specs/*.yaml > fsmgen.sarif`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				format = formatJSON
			}
			return c.check(args, format, strict, verbose)
		},
	}
	cmd.Flags().StringVar(&format, "format", formatText, "form of the findings: text, json, sarif (2.1.0) or github (workflow commands)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print facts about the machine, such as how each unique is kept (FSM505)")
	cmd.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	c.QuietFlag(cmd)
	c.modelFlags(cmd)
	cli.OneOf(cmd, "format", checkFormats...)
	return cmd
}

func (c *tool) check(paths []string, format string, strict, verbose bool) error {
	if err := cli.Allowed("--format", format, checkFormats...); err != nil {
		return err
	}
	sources, err := c.LoadAll(paths)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if verbose && !s.Found.HasErrors() {
			s.Found = append(s.Found, validate.Facts(s.Machine)...)
			s.Found.Sort()
		}
	}
	if err := c.runModel(sources, format == formatText && !c.Quiet); err != nil {
		return err
	}
	switch format {
	case formatJSON:
		err = c.PrintJSON(cli.NewReport(sources, nil))
	case formatSARIF:
		err = c.PrintJSON(newSARIF(sources))
	case formatGitHub:
		printGitHub(c.Out, sources)
	default:
		c.RenderAll(c.Out, sources, c.Least(spec.Info))
		for _, s := range sources {
			if !s.Found.HasErrors() {
				c.Remarkf("%s: ok, %s\n", s.Name, validate.Extent(s.Machine))
			}
			c.printModel(s)
		}
	}
	if err != nil {
		return err
	}
	if errors, warnings := cli.Tally(sources); errors > 0 || strict && warnings > 0 {
		return cli.ErrFindings
	}
	return nil
}
