package main

import (
	"bytes"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// fmtFlags are the flags of `fmt`.
type fmtFlags struct {
	check  bool
	fix    bool
	asJSON bool
}

func (c *tool) fmtCommand() *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt SPEC...",
		Short: "Print specifications in the canonical form",
		Long: `Fmt rewrites specifications in the canonical form: two spaces of indentation,
quotes only where they are needed, lengths of time in their largest unit, and
comments at the end of lines in one column. The order of keys is yours, comments
are kept, and the meaning does not change. Formatting is idempotent. Files that
have the form already are not touched; "-" prints the standard input to the
standard output.

Brackets with comments inside are opened. A file that cannot be read is reported
and left alone.

With --fix it also makes the edits that findings of "fsmgen check" offer: of a
name that is nearly one of the file, of a line that says nothing, or of a change
that the proof misses. Each edit takes its finding away and leads to no other
error. Edits are offered until none is left; what needs a decision stays.`,
		Example: `  fsmgen fmt specs/*.yaml
  fsmgen fmt --fix job.yaml               # also correct what has one correction
  fsmgen fmt --check specs/*.yaml         # in CI: fail when a file would change
  fsmgen fmt - < job.yaml | diff job.yaml -   # show what would change`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.fmt(args, f) },
	}
	c.JSONFlag(cmd, &f.asJSON, "files; output (format and text) for the standard input.")
	c.QuietFlag(cmd)
	cmd.Flags().BoolVar(&f.fix, "fix", false, "make the edits that findings offer")
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 when a file would change")
	return cmd
}

// fmt brings the specifications into the canonical form. All are printed in
// memory before the first one is written.
func (c *tool) fmt(paths []string, f fmtFlags) error {
	sources, err := cli.SourcesOf(paths, c.Read)
	if err != nil {
		return err
	}
	failed := false
	var targets []*target // the files to write
	var names []string    // theirs, as findings show them
	report := cli.Report{Files: []cli.FileReport{}}
	for _, s := range sources {
		c.Current = s.Name
		text := s.Text
		if f.fix {
			text = validate.Fixed(s.Name, s.Text)
		}
		var out []byte
		out, s.Found = spec.Format(s.Name, text)
		switch {
		case s.Found.HasErrors():
			if f.fix { // the file stays, so what is told is of its text
				_, s.Found = spec.Format(s.Name, s.Text)
			}
			failed = true
			continue
		case s.Path == "-" && !f.check && f.asJSON:
			report.Output = cli.NewOutputReport("yaml", out)
			continue
		case s.Path == "-" && !f.check:
			c.Printf("%s", out)
			continue
		}
		file := cli.FileReport{Path: s.Name, Status: statusUnchanged}
		if bytes.Equal(out, s.Text) {
			report.Files = append(report.Files, file)
			continue
		}
		file.Status, file.Written = statusDiffers, !f.check
		report.Files = append(report.Files, file)
		failed = failed || f.check
		t := &target{path: s.Path, data: out, status: statusDiffers}
		if !f.check {
			if t.path, err = filepath.EvalSymlinks(s.Path); err != nil { // a link stays, and its file is written
				return cli.Usagef("cannot read the specification: %w", err)
			}
		}
		targets, names = append(targets, t), append(names, s.Name)
	}
	if !f.asJSON {
		c.RenderAll(c.Err, sources, spec.Warning)
	}
	if !f.check {
		if err := writeAll(targets); err != nil {
			return cli.Usagef("cannot write: %w", err)
		}
	}
	if f.asJSON {
		found := cli.NewReport(sources, report.Files)
		found.Output = report.Output
		if err := c.PrintJSON(found); err != nil {
			return err
		}
	}
	for _, name := range names {
		switch {
		case f.asJSON:
		case !f.check:
			c.Remarkf("wrote %s\n", name)
		default:
			c.Printf("%s: not formatted\n", name)
		}
	}
	if failed {
		return cli.ErrFindings
	}
	return nil
}
