// Package sqldb opens the databases of SQL for internal/live: SQLite files and
// PostgreSQL, by the address that a person types. It counts what their logs hold,
// lists the indexes and triggers that somebody added, and names those of the machine that
// somebody has changed.
//
// It guarantees that nothing is written unless Open is told to, and that neither its
// errors nor those that went through Clean hold the password of an address, also of
// one that cannot be read.
package sqldb

import (
	"context"
	"io"
	"log/slog"

	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/spec"
)

// Options say how a database is opened.
type Options struct {
	// Write opens it for Repair, and nothing else: a SQLite file then must not be
	// open in another program.
	Write bool
	// SpecFile is the specification as messages name it; empty: the machine's name
	// with .yaml.
	SpecFile string
}

// Open opens the database at an address for a machine, as live.Open says. Without
// Options.Write nothing in it can be changed.
func Open(ctx context.Context, text string, m *spec.Machine, o Options) (*live.DB, error) {
	a, err := Parse(text)
	if err != nil {
		return nil, err
	}
	s, err := openStore(ctx, a, o.Write)
	if err != nil {
		return nil, a.Clean(err)
	}
	return live.Open(ctx, store{s, a}, live.Address{Shown: a.Shown, Dialect: a.Dialect, Clean: a.Clean}, m, o.SpecFile)
}

// store is a store as package live wants it.
type store struct {
	*sqlstore.Store
	address Address
}

func (s store) Installed(ctx context.Context) ([]live.Installed, error) {
	list, err := s.Store.Installed(ctx)
	var all []live.Installed
	for _, x := range list {
		all = append(all, live.Installed{Machine: x.Machine, Version: x.Version, Hash: x.Hash, Enforce: x.Enforce})
	}
	return all, err
}

// openStore opens the database, whatever it holds.
func openStore(ctx context.Context, a Address, write bool) (*sqlstore.Store, error) {
	if a.Dialect == "postgres" {
		options := []postgres.Option{postgres.WithMaxSessions(4), postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
		if !write {
			options = append(options, postgres.WithReadOnly())
		}
		return postgres.Open(ctx, a.Text, options...)
	}
	if err := CheckFile(a.Text); err != nil {
		return nil, err
	}
	if write {
		return sqlite.Open(a.Text)
	}
	return sqlite.Open(a.Text, sqlite.WithReadOnly())
}
