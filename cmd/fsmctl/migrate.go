package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	"github.com/fsmgen/fsmgen/internal/migration"
)

// migrateFlags are the flags of `migrate`.
type migrateFlags struct {
	db, against, level string
}

func (c *ctl) migrateCommand() *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate --db DATABASE OLD NEW",
		Short: "Print the migration of a database to the next version of a machine",
		Long: `Migrate prints the script of "fsmgen diff --sql" for this database: in a SQLite
file it also makes your own indexes and triggers over the records again. The
script is one transaction: if a row does not fit, or the database is another
one, nothing changes. The command only reads the database; you run the script in
the shell of the database.`,
		Example: `  fsmctl migrate --db jobs.db old/job.yaml job.yaml | sqlite3 -bail jobs.db
  fsmctl migrate --db jobs.db --against git:v1.2.0 job.yaml > migration.sql`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.migrate(args, f) },
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().StringVar(&f.against, "against", "", "take the old version from git:REVISION")
	cmd.Flags().StringVar(&f.level, "enforce", "full", "level of enforcement of the database: none, checks or full")
	c.QuietFlag(cmd)
	cli.OneOf(cmd, "enforce", gen.Levels...)
	return cmd
}

func (c *ctl) migrate(args []string, f migrateFlags) error {
	if !slices.Contains(gen.Levels, f.level) {
		return cli.Usagef("--enforce is %q; write none, checks or full", f.level)
	}
	old, next, err := c.Versions(args, f.against)
	if err != nil {
		return err
	}
	if f.db == "" {
		return errNoDatabase
	}
	if isEtcd(f.db) {
		return cli.Usagef("--db: etcd has no script; the new program migrates its keys when it calls Migrate (what breaks: fsmgen diff OLD NEW)")
	}
	a, err := parse(f.db)
	if err != nil {
		return cli.Usagef("--db: %w", err)
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, historyDeadline)
	defer cancel()
	var own []migration.Object
	if a.Dialect == migration.SQLite {
		found, err := sqldb.Objects(ctx, f.db, old.Machine.Name)
		if err != nil {
			return cli.Usagef("--db: %w", cli.Broken(err))
		}
		for _, o := range found {
			own = append(own, migration.Object(o))
		}
	}
	m, err := migration.New(old.Machine, next.Machine, a.Dialect, f.level, own...)
	switch {
	case errors.Is(err, migration.ErrNone):
		return cli.Usage(err)
	case old.Found.HasErrors():
		return cli.Usagef("%s has errors, so its tables are unknown; fix them first", old.Name)
	case err != nil:
		return cli.Internal(err)
	}
	return c.Write([]byte(m.Script))
}

// parse reads the address of a database of SQL.
func parse(text string) (sqldb.Address, error) { return sqldb.Parse(text) }
