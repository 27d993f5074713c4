// Package pgtest gives tests an empty PostgreSQL database of their own.
//
// It uses the server that FSMGEN_POSTGRES_URL names, or the one that all packages of a
// run share (see with), or starts a throw-away cluster from the programs in
// /usr/lib/postgresql/*/bin, reachable by a Unix socket only and removed when the last
// test that uses it ends. Where there is none of them, tests are skipped with the sentence that enables them; with
// FSMGEN_REQUIRE_POSTGRES=1 they fail instead.
//
// It guarantees nothing about speed, and its cluster is for tests only.
package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const enable = "there is no PostgreSQL for this test: set FSMGEN_POSTGRES_URL to a server where databases may be created, or install one (apt-get install postgresql)"

// DSN returns the address of a new, empty database, for the driver "pgx". The
// database is dropped when the test ends.
func DSN(t testing.TB) string {
	t.Helper()
	server := cmp.Or(os.Getenv("FSMGEN_POSTGRES_URL"), os.Getenv(RunVariable))
	if server == "" {
		server = shared.use(t)
	}
	name := "fsmgen_test_" + rand.Text()
	if err := run(server, `CREATE DATABASE "`+name+`"`+copied()); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := run(server, `DROP DATABASE "`+name+`" WITH (FORCE)`); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("FSMGEN_POSTGRES_URL: %v; expected postgres://user@host/database", err)
	}
	u.Path = "/" + name
	if q := u.Query(); len(q) == 0 { // callers add settings with &
		q.Set("application_name", "fsmgen")
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// use starts the cluster for a test, or counts one user more; it is released when the test ends.
func (c *cluster) use(t testing.TB) (dsn string) {
	t.Helper()
	dsn, err := c.acquire()
	if errors.Is(err, errNoPrograms) {
		if os.Getenv("FSMGEN_REQUIRE_POSTGRES") == "1" {
			t.Fatal(enable)
		}
		t.Skip(enable)
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(c.release)
	return dsn
}

// copied says how a server of our own copies its template: by its files, which takes a
// third of the time that writing each page into the log takes (since version 15).
func copied() string {
	bin, err := programs()
	if os.Getenv("FSMGEN_POSTGRES_URL") != "" || err != nil || version(bin) < 15 {
		return ""
	}
	return " STRATEGY = FILE_COPY"
}

// Open returns a new, empty database. It is closed and dropped when the test ends.
func Open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func run(server, statement string) error {
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // for thousands of tables, on a busy disk
	defer cancel()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// Deadlocks returns how many deadlocks the server has ended in a database. All other
// sessions on it must be about to end: a session tells what it has met when it does.
func Deadlocks(t testing.TB, dsn string) (n int) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for others := 1; others > 0; time.Sleep(time.Millisecond) {
		if err := db.QueryRow(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND backend_type = 'client backend'`).Scan(&others); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRow(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
