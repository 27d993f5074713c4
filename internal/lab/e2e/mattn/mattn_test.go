// Package mattn tests the store over github.com/mattn/go-sqlite3, which needs cgo.
package mattn

import (
	"database/sql"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/sqlitetest"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
)

var sqlite = &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
	for _, p := range sqlitetest.Pragmas {
		if _, err := c.Exec("PRAGMA "+p, nil); err != nil {
			return err
		}
	}
	return nil
}}

func init() { sql.Register("mattn", sqlite) }

func name(path string) string { return "file:" + path + "?_txlock=immediate" }

var open sqlitetest.Open = func(path string) (*sql.DB, error) { return sql.Open("mattn", name(path)) }

var driver = open.Driver("SQLite (mattn)", sqlite, name)

func TestMain(m *testing.M) { faults.Main(m, driver) }

func TestConformance(t *testing.T) { open.Conformance(t) }

func TestFaults(t *testing.T) { sqlitetest.Faults(t, driver) }
