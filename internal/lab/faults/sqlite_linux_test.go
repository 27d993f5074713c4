package faults_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	modernc "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/faults/histories"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// The drivers of this module.
var (
	moderncSQLite = faults.Driver{Name: "SQLite (modernc)", Open: openSQLite, Ledger: openLedger, Normal: openNormal}
	postgresPgx   = faults.Driver{Name: "PostgreSQL (client)", Open: openClient, Ledger: openServer}
)

func TestMain(m *testing.M) {
	histories.Main(openHistory)
	faults.Main(m, moderncSQLite, postgresPgx)
}

func TestProcessKills(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("kills processes; run without -short")
	}
	if !faults.Long() {
		t.Parallel()
	}
	t.Run("SQLite", func(t *testing.T) {
		faults.ProcessKills(t, moderncSQLite, 1, 40, 2000, func() string { return filepath.Join(t.TempDir(), "x.db") })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		faults.ProcessKills(t, postgresPgx, 1, 20, 500, func() string { return pgtest.DSN(t) })
	})
}

// One of three processes that write the same database is killed.
func TestProcessKillsAmongThree(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("kills processes; run without -short")
	}
	if !faults.Long() {
		t.Parallel()
	}
	t.Run("SQLite", func(t *testing.T) {
		faults.ProcessKills(t, moderncSQLite, 3, 20, 1000, func() string { return filepath.Join(t.TempDir(), "x.db") })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		faults.ProcessKills(t, postgresPgx, 3, 12, 500, func() string { return pgtest.DSN(t) })
	})
}

func TestSweeperKills(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("kills processes; run without -short")
	}
	if !faults.Long() {
		t.Parallel()
	}
	t.Run("SQLite", func(t *testing.T) {
		if !faults.Long() {
			t.Parallel()
		}
		faults.SweeperKills(t, moderncSQLite, faults.Size(6, 100), func() string { return filepath.Join(t.TempDir(), "x.db") })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		if !faults.Long() {
			t.Parallel()
		}
		faults.SweeperKills(t, postgresPgx, faults.Size(6, 100), func() string { return pgtest.DSN(t) })
	})
}

func TestPowerCut(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("replays thousands of power cuts; run without -short")
	}
	if !faults.Long() {
		t.Parallel()
	}
	faults.PowerCuts(t, moderncSQLite, faults.Size(60, 750), 160, 5000)
}

func TestIOErrors(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("fails hundreds of system calls; run without -short")
	}
	if !faults.Long() {
		t.Parallel()
	}
	faults.IOErrors(t, moderncSQLite, 53, 1)
}

// openSQLite opens the machine in a file; with migrate it makes the tables.
func openSQLite(ctx context.Context, path string, migrate bool) (*faults.Subject, func() error, error) {
	store, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	db, err := openLedger(path)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return faults.OpenOver(ctx, store, db, migrate)
}

func openLedger(path string) (*sql.DB, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "synchronous(FULL)"}}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: filepath.ToSlash(path), RawQuery: q.Encode()}).String())
}

func openServer(dsn string) (*sql.DB, error) { return sql.Open("pgx", dsn) }

// openClient opens the machine on a server.
func openClient(ctx context.Context, dsn string, migrate bool) (*faults.Subject, func() error, error) {
	store, err := postgres.Open(ctx, dsn, quiet)
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return faults.OpenOver(ctx, store, db, migrate)
}

// openNormal opens the machine over connections that fall back to
// synchronous=NORMAL once the store has looked at their settings.
func openNormal(ctx context.Context, path string) (*faults.Subject, error) {
	ledger, err := openLedger(path)
	if err != nil {
		return nil, err
	}
	return faults.OpenNormal(ctx, &modernc.Driver{}, "file:"+path+"?"+storeSettings, ledger)
}

// storeSettings are what a store asks of a connection.
const storeSettings = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
	"&_pragma=recursive_triggers(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_txlock=immediate&_dqs=0"
