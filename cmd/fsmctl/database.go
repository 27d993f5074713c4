package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	"github.com/fsmgen/fsmgen/internal/serve"
	"github.com/fsmgen/fsmgen/spec"
)

// databaseFlag adds the flag --db.
func databaseFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "db", "",
		"the database: the path of a SQLite file, or an address of PostgreSQL or etcd as \"fsmctl --help\" shows it (required)")
}

// open opens the database for a specification that is sound.
func (c *ctl) open(ctx context.Context, address string, s *cli.Source, write bool) (*live.DB, error) {
	if address == "" {
		return nil, errNoDatabase
	}
	db, err := openAt(ctx, address, s.Machine, sqldb.Options{Write: write, SpecFile: s.Name})
	if err != nil {
		return nil, cli.Usagef("--db: %w", cli.Broken(err))
	}
	return db, nil
}

var errNoDatabase = cli.Usagef("--db is missing; name the database: --db jobs.db, or --db postgres://user:password@host:5432/database")

// openAt opens what is at an address for a machine.
func openAt(ctx context.Context, address string, m *spec.Machine, o sqldb.Options) (*live.DB, error) {
	if isEtcd(address) {
		return openEtcd(ctx, address, m, o.SpecFile, o.Write)
	}
	return sqldb.Open(ctx, address, m, o)
}

// openPage opens a database for the page.
func openPage(address string) (*serve.Database, error) {
	shown, err := shownAs(address)
	if err != nil {
		return nil, err
	}
	return serve.NewDatabase(shown, func(ctx context.Context, m *spec.Machine) (*live.DB, error) {
		return openAt(ctx, address, m, sqldb.Options{SpecFile: m.File})
	}), nil
}

// shownAs is an address without its password.
func shownAs(address string) (string, error) {
	if isEtcd(address) {
		c, err := parseEtcd(address)
		return c.address().Shown, err
	}
	a, err := sqldb.Parse(address)
	return a.Shown, err
}
