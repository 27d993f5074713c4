// Package sqlitewasm_test runs the conformance suite over SQLite with the driver
// github.com/ncruces/go-sqlite3. It is a package of its own since that driver and
// the one with cgo register under one name.
package sqlitewasm_test

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// settings are what sqlite.Open asks for, in this driver's words.
var settings = []string{
	"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "foreign_keys(1)", "recursive_triggers(1)",
	"trusted_schema(0)", "cell_size_check(1)", "journal_size_limit(67108864)",
}

func dsn(path string, readOnly bool) string {
	query := url.Values{"_pragma": settings}
	if readOnly {
		query["_pragma"] = append(append([]string{}, settings...), "query_only(1)")
	} else {
		query.Set("_txlock", "immediate")
	}
	return "file:" + path + "?" + query.Encode()
}

func open(tb testing.TB, path string) fsm.Store {
	tb.Helper()
	write, err := sql.Open("sqlite3", dsn(path, false))
	if err != nil {
		tb.Fatal(err)
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite3", dsn(path, true))
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
