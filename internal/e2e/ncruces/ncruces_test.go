// Package ncruces tests the store over github.com/ncruces/go-sqlite3, which
// needs no cgo and has locks of its own.
package ncruces

import (
	"database/sql"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3/driver"

	gosqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/fsmgen/fsmgen/internal/e2e/sqlitetest"
	"github.com/fsmgen/fsmgen/internal/faults"
)

var open sqlitetest.Open = func(path string) (*sql.DB, error) {
	return sqlite3.Open("file:"+path+"?_txlock=immediate", func(c *gosqlite3.Conn) error {
		for _, p := range sqlitetest.Pragmas {
			if err := c.Exec("PRAGMA " + p); err != nil {
				return err
			}
		}
		return nil
	})
}

var driver = open.Driver("SQLite (ncruces)")

func TestMain(m *testing.M) { faults.Main(m, driver) }

func TestConformance(t *testing.T) { open.Conformance(t) }

func TestFaults(t *testing.T) { sqlitetest.Faults(t, driver) }
