// Package sqlitetest runs the conformance suite of stores and the faults of
// package faults over drivers of SQLite that the main module does not use.
package sqlitetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// Open opens a database with the settings that a store asks for.
type Open func(path string) (*sql.DB, error)

// Pragmas are these settings.
var Pragmas = []string{
	"busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=1",
	"recursive_triggers=1", "trusted_schema=0", "cell_size_check=1",
}

// Store opens a store over a writing and a reading pool, as sqlite.Open does.
func (open Open) Store(path string, opts ...sqlstore.Option) (*sqlstore.Store, error) {
	write, err := open(path)
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := open(path)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(4)
	store, err := sqlstore.New(write, sqlstore.SQLite(), append(opts, sqlstore.WithReaders(read),
		sqlstore.WithRelease(write.Close), sqlstore.WithRelease(read.Close))...)
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	return store, nil
}

// Driver makes what the faults need. d opens what name makes of a path, with the
// same settings as open.
func (open Open) Driver(shown string, d driver.Driver, name func(path string) string) faults.Driver {
	return faults.Driver{
		Name: shown,
		Open: func(ctx context.Context, place string, migrate bool) (*faults.Subject, func() error, error) {
			store, err := open.Store(place)
			if err != nil {
				return nil, nil, err
			}
			db, err := open(place)
			if err != nil {
				return nil, nil, errors.Join(err, store.Close())
			}
			return faults.OpenOver(ctx, store, db, migrate)
		},
		Ledger: open,
		Normal: func(ctx context.Context, place string) (*faults.Subject, error) {
			ledger, err := open(place)
			if err != nil {
				return nil, err
			}
			return faults.OpenNormal(ctx, d, name(place), ledger)
		},
	}
}

// Conformance runs the suite of all stores.
func (open Open) Conformance(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "gen", "testdata", "schema", "parcel.sqlite.sql"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(tb testing.TB) fsm.Store {
		store, err := open.Store(filepath.Join(tb.TempDir(), "x.db"))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}, storetest.WithSQL(map[string]string{"sqlite": string(text)}))
}

// Faults runs the faults of processes, power and disks.
func Faults(t *testing.T, d faults.Driver) {
	t.Run("ProcessKills", func(t *testing.T) {
		faults.ProcessKills(t, d, 1, 20, 500, func() string { return filepath.Join(t.TempDir(), "x.db") })
	})
	t.Run("PowerCuts", func(t *testing.T) { faults.PowerCuts(t, d, faults.Size(40, 375), 100, 1500) })
	t.Run("IOErrors", func(t *testing.T) { faults.IOErrors(t, d, 57, 3) })
}
