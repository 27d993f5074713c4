package main

import (
	"bytes"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/spec"
)

// fmtFlags are the flags of `fmt`.
type fmtFlags struct {
	check  bool
	diff   bool
	asJSON bool
}

func (c *cli) fmtCommand() *cobra.Command {
	var f fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt SPEC...",
		Short: "Print specifications in the canonical form",
		Long: `Fmt rewrites specifications in the canonical form: two spaces of indentation,
quotes only where they are needed, comments at the end of lines in one column.
The order of keys is yours, comments are kept, and the meaning does not change.
What is printed once does not change when it is printed again. Files that are
in the form already are not touched; "-" prints the standard input to the
standard output.

A file that cannot be read is reported and left alone, and so is a file with a
comment that would be lost: those inside of brackets can be.`,
		Example: `  fsmgen fmt specs/*.yaml
  fsmgen fmt --check specs/*.yaml   # in CI: fail when a file would change
  fsmgen fmt --diff job.yaml        # show what would change`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: specFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.fmt(args, f) },
	}
	c.jsonFlag(cmd, &f.asJSON, "files, with --diff each with its diff; output\n(format and text) for the standard input.")
	c.quietFlag(cmd)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 when a file would change")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "write nothing; print what would change, and exit with 1 when something would")
	return cmd
}

// fmt brings the specifications into the canonical form. All are printed in
// memory before the first one is written.
func (c *cli) fmt(paths []string, f fmtFlags) error {
	sources, err := sourcesOf(paths, c.read)
	if err != nil {
		return err
	}
	dry, failed := f.check || f.diff, false
	var targets []*target // the files to write
	var names []string    // theirs, as findings show them
	report := report{Files: []fileReport{}}
	for _, s := range sources {
		c.current = s.name
		var out, difference []byte
		out, s.found = spec.Format(s.name, s.text)
		switch {
		case s.found.HasErrors():
			failed = true
			continue
		case losesComment(s.text, out):
			const why = "a comment would be lost, so the file is left as it is; move comments out of brackets, onto lines of their own"
			report.Files = append(report.Files, fileReport{Path: s.name, Status: statusUnchanged, Problem: why})
			if !f.asJSON {
				c.errorf("%s: %s\n", s.name, why)
			}
			failed = true
			continue
		case f.diff:
			difference = diff.Diff(s.name, s.text, s.name+" (formatted)", out)
			if !f.asJSON {
				c.printf("%s", colouredDiff(c.out, difference))
			}
		case s.path == "-" && !f.check && f.asJSON:
			report.Output = newOutputReport("yaml", out)
			continue
		case s.path == "-" && !f.check:
			c.printf("%s", out)
			continue
		}
		file := fileReport{Path: s.name, Status: statusUnchanged, Diff: string(difference)}
		if bytes.Equal(out, s.text) {
			report.Files = append(report.Files, file)
			continue
		}
		file.Status, file.Written = statusDiffers, !dry
		report.Files = append(report.Files, file)
		failed = failed || dry
		t := &target{path: s.path, data: out, status: statusDiffers}
		if !dry {
			if t.path, err = filepath.EvalSymlinks(s.path); err != nil { // a link stays, and its file is written
				return usagef("cannot read the specification: %w", err)
			}
		}
		targets, names = append(targets, t), append(names, s.name)
	}
	if !f.asJSON {
		c.renderAll(c.err, sources, spec.Warning)
	}
	if !dry {
		if err := writeAll(targets); err != nil {
			return usagef("cannot write: %w", err)
		}
	}
	if f.asJSON {
		found := newReport(sources, report.Files)
		found.Output = report.Output
		if err := c.printJSON(found); err != nil {
			return err
		}
	}
	for _, name := range names {
		switch {
		case f.asJSON:
		case !dry:
			c.remarkf("wrote %s\n", name)
		case !f.diff:
			c.printf("%s: not formatted\n", name)
		}
	}
	if failed {
		return errFindings
	}
	return nil
}

// losesComment reports whether the printed form lacks a comment. The YAML
// library drops some inside of brackets. Texts hold the same signs in both, so
// a number sign that is missing is the one of a comment.
func losesComment(src, out []byte) bool {
	return bytes.Count(out, []byte("#")) < bytes.Count(src, []byte("#"))
}
