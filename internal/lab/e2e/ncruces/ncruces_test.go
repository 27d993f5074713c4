// Package ncruces tests the store over github.com/ncruces/go-sqlite3, which
// needs no cgo and has locks of its own.
package ncruces

import (
	"database/sql"
	"net/url"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3/driver"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/sqlitetest"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
)

// name holds the settings, so that whoever opens it has them.
func name(path string) string {
	return "file:" + path + "?" + url.Values{"_txlock": {"immediate"}, "_pragma": sqlitetest.Pragmas}.Encode()
}

var open sqlitetest.Open = func(path string) (*sql.DB, error) { return sqlite3.Open(name(path)) }

var driver = open.Driver("SQLite (ncruces)", &sqlite3.SQLite{}, name)

func TestMain(m *testing.M) { faults.Main(m, driver) }

func TestConformance(t *testing.T) { open.Conformance(t) }

func TestFaults(t *testing.T) { sqlitetest.Faults(t, driver) }
