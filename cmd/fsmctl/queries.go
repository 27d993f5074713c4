package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

func (c *ctl) queriesCommand() *cobra.Command {
	var dialect string
	cmd := &cobra.Command{
		Use:   "queries --dialect sqlite|postgres SPEC",
		Short: "Print the statements that the store sends for a machine",
		Long: `Queries prints the statements that the store sends to the tables of a machine, each
under its name, and what it is for: one for each operation, and those that are the
same for each call. Statistics of the server, such as pg_stat_statements, show the
same texts, with the schema of the tables and a condition that compares which tables
they are. On PostgreSQL a text says its machine and its name behind its first word.
Lists, picks and counts are made for the filter of each call and are not here: they
say "rows", "count", "others", "full" and "doubles".

No database is asked.`,
		Example: `  fsmctl queries --dialect postgres job.yaml
  fsmctl queries --dialect sqlite job.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.queries(args[0], dialect) },
	}
	cmd.Flags().StringVar(&dialect, "dialect", "", "the database: sqlite or postgres")
	c.QuietFlag(cmd)
	cli.OneOf(cmd, "dialect", "sqlite", "postgres")
	return cmd
}

func (c *ctl) queries(path, dialect string) error {
	of, known := map[string]sqlstore.Dialect{"sqlite": sqlstore.SQLite(), "postgres": sqlstore.Postgres()}[dialect]
	if !known {
		return cli.Usagef("--dialect is %q; write sqlite or postgres", dialect)
	}
	s, err := c.Sound(path)
	if err != nil {
		return err
	}
	schema, err := live.Schema(s.Machine, dialect, "full")
	if err != nil {
		return cli.Internal(err)
	}
	list, err := sqlstore.Queries(of, schema)
	if err != nil {
		return cli.Internal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "-- The statements of the machine %s on %s.\n", s.Machine.Name, dialect)
	for _, q := range list {
		fmt.Fprintf(&b, "\n-- name: %s\n%s%s;\n", q.Name, q.Comment, q.Text)
	}
	return c.Write(b.Bytes())
}
