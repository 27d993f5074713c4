package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/spec"
)

// sqlFlags are the flags of `sql`.
type sqlFlags struct {
	dialect string
	level   string
	asJSON  bool
	from    string // the version to migrate from: a file or git:REVISION
}

func (c *tool) sqlCommand() *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql SPEC --dialect sqlite|postgres",
		Short: "Print the SQL schema of a machine, or a migration to it",
		Long: `Sql prints the schema of the tables of a machine: the text that the generated
package carries and its Migrate installs. It can be run again on a database that
has it. "-" reads the specification from the standard input.

How much the database refuses by itself is the level: none (tables, unique
rules, the log), checks (besides: every rule of a single row, an append-only
log) or full (besides: moves, terminal records, an event for every revision).

With --migrate-from it prints the migration of a database that holds an older
version: a script that changes nothing in any other database, and is undone as a
whole when a row does not fit. "fsmgen diff --rows" prints the queries that list
those rows beforehand. No database is looked at.`,
		Example: `  fsmgen sql --dialect sqlite job.yaml | sqlite3 -bail jobs.db
  fsmgen sql --dialect postgres job.yaml |
    psql -v ON_ERROR_STOP=1 "$DATABASE_URL"
  fsmgen sql --dialect postgres --migrate-from git:v1.2.0 job.yaml > up.sql`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.sql(args[0], f) },
	}
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "the database: sqlite or postgres (required)")
	cmd.Flags().StringVar(&f.level, "level", "full", "rules that the database enforces: none, checks or full")
	cmd.Flags().StringVar(&f.from, "migrate-from", "", "print the migration from this older specification instead: a file or git:REVISION")
	c.JSONFlag(cmd, &f.asJSON, "output (format and text).")
	c.QuietFlag(cmd)
	// What gen and diff call the level.
	cmd.Flags().StringVar(&f.level, "enforce", "full", "the same as --level")
	if err := cmd.Flags().MarkHidden("enforce"); err != nil {
		panic(err) // the flag does not exist
	}
	cli.OneOf(cmd, "dialect", gen.Dialects...)
	cli.OneOf(cmd, "level", gen.Levels...)
	return cmd
}

func (c *tool) sql(path string, f sqlFlags) error {
	switch {
	case f.dialect == "":
		return cli.Usagef("--dialect is missing; write --dialect sqlite or --dialect postgres")
	case cli.Allowed("--dialect", f.dialect, gen.Dialects...) != nil:
		return cli.Usagef("--dialect is %q; write sqlite or postgres", f.dialect)
	case cli.Allowed("--level", f.level, gen.Levels...) != nil:
		return cli.Usagef("--level is %q; write none, checks or full", f.level)
	case f.from == "-" && path == "-":
		return cli.Usagef("the standard input is one version; name a file for the other one")
	}
	next, err := c.Load(path)
	if err != nil {
		return err
	}
	if err := c.Accepts(next, f.asJSON); err != nil {
		return err
	}
	if f.from != "" {
		return c.sqlFrom(next, f)
	}
	text, err := gen.Schema(next.Machine, f.dialect, f.level)
	if err != nil {
		return cli.Internal(err)
	}
	return c.Give(next, f.asJSON, f.dialect, text)
}

// sqlFrom prints the migration from an older version.
func (c *tool) sqlFrom(next *cli.Source, f sqlFlags) error {
	var old *cli.Source
	var err error
	if strings.HasPrefix(f.from, "git:") {
		old, err = c.FromGit("--migrate-from", f.from, next.Path)
	} else {
		old, err = c.Load(f.from)
	}
	if err != nil {
		return err
	}
	if old.Machine == nil || old.Found.HasErrors() {
		c.RenderAll(c.Err, []*cli.Source{old}, spec.Error)
		return cli.Usagef("%s has errors, so its tables are unknown; fix them first", old.Name)
	}
	m, err := migration.New(old.Machine, next.Machine, f.dialect, f.level)
	switch {
	case errors.Is(err, migration.ErrNone):
		return cli.Usage(err)
	case err != nil:
		return cli.Internal(err)
	}
	return c.Give(next, f.asJSON, f.dialect, []byte(m.Script))
}
