package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
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

func (c *cli) sqlCommand() *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql SPEC --dialect sqlite|postgres",
		Short: "Print the SQL schema of a machine, or a migration to it",
		Long: `Sql prints the schema of the tables of a machine: the text that the generated
package carries and its Migrate installs. It can be run again on a database that
has it. "-" reads the specification from the standard input.

How much the database refuses by itself is the level: none (tables, unique rules,
the log), checks (besides: every rule of a single row, an append-only log) or full
(besides: moves, terminal records, an event for every revision).

With --migrate-from it prints the migration of a database that holds an older
version: a script that changes nothing in any other database, and is undone as a
whole when a row does not fit. "fsmgen diff --rows" prints the queries that list
those rows beforehand. No database is looked at.`,
		Example: `  fsmgen sql --dialect sqlite job.yaml | sqlite3 -bail jobs.db
  fsmgen sql --dialect postgres job.yaml | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"
  fsmgen sql --dialect postgres --migrate-from git:v1.2.0 job.yaml > migration.sql`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: specFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.sql(args[0], f) },
	}
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "the database: sqlite or postgres (required)")
	cmd.Flags().StringVar(&f.level, "level", "full", "what the database enforces by itself: none, checks or full")
	cmd.Flags().StringVar(&f.from, "migrate-from", "", "print the migration from this older specification instead: a file or git:REVISION")
	c.jsonFlag(cmd, &f.asJSON, "output (format and text).")
	c.quietFlag(cmd)
	// What gen and diff call the level.
	cmd.Flags().StringVar(&f.level, "enforce", "full", "the same as --level")
	if err := cmd.Flags().MarkHidden("enforce"); err != nil {
		panic(err) // the flag does not exist
	}
	oneOf(cmd, "dialect", gen.Dialects...)
	oneOf(cmd, "level", gen.Levels...)
	return cmd
}

func (c *cli) sql(path string, f sqlFlags) error {
	switch {
	case f.dialect == "":
		return usagef("--dialect is missing; write --dialect sqlite or --dialect postgres")
	case allowed("--dialect", f.dialect, gen.Dialects...) != nil:
		return usagef("--dialect is %q; write sqlite or postgres", f.dialect)
	case allowed("--level", f.level, gen.Levels...) != nil:
		return usagef("--level is %q; write none, checks or full", f.level)
	case f.from == "-" && path == "-":
		return usagef("the standard input is one version; name a file for the other one")
	}
	next, err := c.load(path)
	if err != nil {
		return err
	}
	if err := c.accepts(next, f.asJSON); err != nil {
		return err
	}
	if f.from != "" {
		return c.sqlFrom(next, f)
	}
	text, err := gen.Schema(next.machine, f.dialect, f.level)
	if err != nil {
		return internalError{err}
	}
	return c.give(next, f.asJSON, f.dialect, text)
}

// sqlFrom prints the migration from an older version.
func (c *cli) sqlFrom(next *source, f sqlFlags) error {
	var old *source
	var err error
	if strings.HasPrefix(f.from, "git:") {
		old, err = c.fromGit("--migrate-from", f.from, next.path)
	} else {
		old, err = c.load(f.from)
	}
	if err != nil {
		return err
	}
	if old.machine == nil || old.found.HasErrors() {
		c.renderAll(c.err, []*source{old}, spec.Error)
		return usagef("%s is not sound, so its tables are not known; mend it first", old.name)
	}
	m, err := migration.New(old.machine, next.machine, f.dialect, f.level)
	switch {
	case errors.Is(err, migration.ErrNone):
		return usageError{err}
	case err != nil:
		return internalError{err}
	}
	return c.give(next, f.asJSON, f.dialect, []byte(m.Script))
}

// write prints a result as it is.
func (c *cli) write(data []byte) error {
	if _, err := c.out.Write(data); err != nil {
		return usagef("cannot print: %w", err)
	}
	return nil
}
