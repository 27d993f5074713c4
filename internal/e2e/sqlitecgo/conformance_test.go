//go:build cgo

// Package sqlitecgo_test runs the conformance suite over SQLite with the driver
// github.com/mattn/go-sqlite3, which needs a C compiler.
package sqlitecgo_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// The driver takes some settings in the name of the database; the rest, which
// it does not know by name, is set when a connection is made.
func init() {
	for name, more := range map[string]string{"sqlite3_writer": "", "sqlite3_reader": "PRAGMA query_only = 1"} {
		sql.Register(name, &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
			_, err := c.Exec("PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1; PRAGMA journal_size_limit = 67108864; "+more, nil)
			return err
		}})
	}
}

const settings = "?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_foreign_keys=1&_recursive_triggers=1"

func open(tb testing.TB, path string) fsm.Store {
	tb.Helper()
	write, err := sql.Open("sqlite3_writer", "file:"+path+settings+"&_txlock=immediate")
	if err != nil {
		tb.Fatal(err)
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite3_reader", "file:"+path+settings)
	if err != nil {
		tb.Fatal(err)
	}
	store, err := sqlstore.New(write, sqlstore.SQLite(), sqlstore.WithReaders(read),
		sqlstore.WithRelease(write.Close), sqlstore.WithRelease(read.Close))
	if err != nil {
		tb.Fatal(errors.Join(err, write.Close(), read.Close()))
	}
	tb.Cleanup(func() { store.Close() })
	return store
}

func TestConformance(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "gen", "testdata", "schema", "parcel.sqlite.sql"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(tb testing.TB) fsm.Store { return open(tb, filepath.Join(tb.TempDir(), "store.db")) },
		storetest.WithSQL(map[string]string{"sqlite": string(text)}))
}
