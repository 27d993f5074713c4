package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/migration"
)

const formatMarkdown = "markdown"

func (c *tool) diffCommand() *cobra.Command {
	var o diffOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two versions of a specification",
		Long: `Diff compares two versions of a specification and says whom each change breaks:
SOURCE (Go code that calls the generated package), DATA (stored rows and
events), BEHAVIOR (what callers and readers rely on), or nobody. The exit code
is 1 when a change breaks somebody. "-" reads one version from the standard
input; --against reads the old one from git.

With --sql it prints the migration of a database instead: rows of states under
` + "`removed`" + ` move, with an event each. With --rows it prints the queries that list
the rows which do not fit the new version. Neither looks at a database. Where
you have made indexes or triggers over the table of the records in a SQLite
file, the migration stops before one would be lost; "fsmctl migrate" prints one
that makes them again.

With --json it prints one object: old and new (file, machine, version, hash),
breaking, changes (code, class, message, hint, and its place in old and new),
and counts of them by class.`,
		Example: `  fsmgen diff old/job.yaml job.yaml
  fsmgen diff --against git:main job.yaml
  fsmgen diff --against git:v1.2.0 --format markdown job.yaml
  fsmgen diff --against git:main --format github job.yaml   # for a pull request
  fsmgen diff --against git:v1.2.0 --sql sqlite job.yaml > migration.sql`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cli.SpecFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				o.format = formatJSON
			}
			return c.diff(args, o)
		},
	}
	cmd.Flags().StringVar(&o.against, "against", "", "take the old version from git:REVISION")
	cmd.Flags().StringVar(&o.format, "format", formatText, "form of the report: text, json, markdown or github")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().StringVar(&o.sql, "sql", "", "print the migration for sqlite or postgres")
	cmd.Flags().StringVar(&o.rows, "rows", "", "print the queries for rows that do not fit, for sqlite or postgres")
	hidden(cmd, &o.database, "database")
	cmd.Flags().StringVar(&o.enforce, "enforce", "full", "level of enforcement of the database: none, checks or full")
	c.QuietFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("sql", "rows", "format", "json")
	cli.OneOf(cmd, "format", formatText, formatJSON, formatMarkdown, formatGitHub)
	cli.OneOf(cmd, "sql", migration.SQLite, migration.Postgres)
	cli.OneOf(cmd, "rows", migration.SQLite, migration.Postgres)
	cli.OneOf(cmd, "enforce", "none", "checks", "full")
	return cmd
}

// diffOptions are the flags of diff.
type diffOptions struct {
	against, format, sql, rows, enforce, database string
}

func (c *tool) diff(args []string, o diffOptions) error {
	if err := cli.Allowed("--format", o.format, formatText, formatJSON, formatMarkdown, formatGitHub); err != nil {
		return err
	}
	for flag, value := range map[string]string{"--sql": o.sql, "--rows": o.rows} {
		if err := cli.Allowed(flag, value, "", migration.SQLite, migration.Postgres); err != nil {
			return cli.Usagef("%s is %q; write sqlite or postgres", flag, value)
		}
	}
	if err := cli.Allowed("--enforce", o.enforce, "none", "checks", "full"); err != nil {
		return err
	}
	if o.database != "" {
		return cli.Usagef("%s", moved("fsmctl migrate --db FILE OLD NEW"))
	}
	old, next, err := c.Versions(args, o.against)
	if err != nil {
		return err
	}
	report := diff.Machines(old.Machine, next.Machine)
	was, notOld := gen.Symbols(old.Machine)
	is, notNew := gen.Symbols(next.Machine)
	if notOld == nil && notNew == nil { // else a version has errors, and so no package
		report.Symbols(was, is)
	}
	switch {
	case o.sql != "" || o.rows != "":
		if err := c.migration(old, next, o); err != nil {
			return err
		}
	case o.format == formatJSON:
		if err := c.PrintJSON(report.Document()); err != nil {
			return err
		}
	case o.format == formatMarkdown:
		c.Printf("%s", report.Markdown())
	case o.format == formatGitHub:
		printGitHubDiff(c.Out, next.Name, report)
	case c.Quiet && !report.Breaking():
	default:
		c.Printf("%s", report.Text())
		for _, change := range report.Changes {
			c.ToExplain(change.Code)
		}
	}
	if report.Breaking() {
		return cli.ErrFindings
	}
	return nil
}

// migration prints the SQL of a migration, or the queries that belong to it.
func (c *tool) migration(old, next *cli.Source, o diffOptions) error {
	m, err := migration.New(old.Machine, next.Machine, cmp.Or(o.sql, o.rows), o.enforce)
	switch {
	case errors.Is(err, migration.ErrNone):
		return cli.Usage(err)
	case old.Found.HasErrors():
		return cli.Usagef("%s has errors, so its tables are not known: %w", old.Name, err)
	case err != nil:
		return cli.Internal(err)
	case o.sql != "":
		c.Printf("%s", m.Script)
		return nil
	}
	for _, q := range m.Queries {
		c.Printf("-- %s\n%s;\n", q.Rule, q.SQL)
	}
	return nil
}
