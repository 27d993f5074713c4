package main

import (
	"slices"

	"github.com/spf13/cobra"

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

func (c *cli) checkCommand() *cobra.Command {
	var format string
	var asJSON, strict, verbose bool
	cmd := &cobra.Command{
		Use:   "check SPEC...",
		Short: "Report what is wrong with specifications",
		Long: `Check reads specifications and prints all findings, sorted by position, to the
standard output. "-" reads the standard input. The exit code is 1 when there is
an error; warnings alone leave it 0, or make it 1 with --strict.

With --json it prints one object: findings (file, line, column, length, severity,
code, message, and where there is more hint, before, after, related), errors and
warnings (how many).`,
		Example: `  fsmgen check specs/*.yaml
  fsmgen check --strict specs/*.yaml   # in CI: warnings fail, too
  fsmgen check --json - < job.yaml
  fsmgen check --format sarif specs/*.yaml > fsmgen.sarif`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: specFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				format = formatJSON
			}
			return c.check(args, format, strict, verbose)
		},
	}
	cmd.Flags().StringVar(&format, "format", formatText, "form of the findings: text, json, sarif (2.1.0) or github (workflow commands)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print facts about the machine: what carries each unique (FSM505)")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 for warnings, too")
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	c.quietFlag(cmd)
	c.modelFlags(cmd)
	oneOf(cmd, "format", checkFormats...)
	return cmd
}

func (c *cli) check(paths []string, format string, strict, verbose bool) error {
	if err := allowed("--format", format, checkFormats...); err != nil {
		return err
	}
	sources, err := c.loadAll(paths)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if verbose && !s.found.HasErrors() {
			s.found = append(s.found, validate.Facts(s.machine)...)
			s.found.Sort()
		}
	}
	if err := c.runModel(sources, format == formatText && !c.quiet); err != nil {
		return err
	}
	switch format {
	case formatJSON:
		err = c.printJSON(newReport(sources, nil))
	case formatSARIF:
		err = c.printJSON(newSARIF(sources))
	case formatGitHub:
		printGitHub(c.out, sources)
	default:
		c.renderAll(c.out, sources, c.least(spec.Info))
		for _, s := range sources {
			if !s.found.HasErrors() {
				c.remarkf("%s: ok, %s\n", s.name, summary(s.machine))
			}
			c.printModel(s)
		}
	}
	if err != nil {
		return err
	}
	if anyErrors(sources) || strict && newReport(sources, nil).Warnings > 0 {
		return errFindings
	}
	return nil
}

// allowed refuses a flag's value that is not in the list.
func allowed(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usagef("%s is %q; write %s", flag, value, listed(values, "or"))
}
