package fsmcases

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// postgresEnv names the database of tests over PostgreSQL.
const postgresEnv = "FSMGEN_POSTGRES_URL"

// PostgresSchema makes a schema for one test in the database that the variable
// FSMGEN_POSTGRES_URL names and returns the database's address with that schema
// as its search path. The schema is dropped with all that is in it when the test
// ends. Without the variable the test is skipped with the words that say how to
// run it.
//
// It uses the driver "pgx", which runtime/postgres links into the program.
func PostgresSchema(t testing.TB) (dsn string) {
	t.Helper()
	server := os.Getenv(postgresEnv)
	if server == "" {
		t.Skip("this test needs PostgreSQL: set " + postgresEnv + " to a database where schemas may be created, " +
			"such as postgres://user@host/database")
	}
	name := "fsmcases_" + strings.ToLower(rand.Text())
	dsn, err := inSchema(server, name)
	if err != nil {
		t.Fatalf("%s cannot be read; expected an address like postgres://user:password@host:5432/database", postgresEnv)
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatalf("%v; expected the driver pgx, which runtime/postgres brings", err)
	}
	run := func(statement string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err := db.ExecContext(ctx, statement)
		return err
	}
	if err := run(`CREATE SCHEMA "` + name + `"`); err != nil {
		db.Close()
		t.Fatalf("make a schema in the database of %s: %v", postgresEnv, err)
	}
	t.Cleanup(func() {
		defer db.Close()
		if err := run(`DROP SCHEMA "` + name + `" CASCADE`); err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
	})
	return dsn
}

// inSchema adds the schema to an address: to a URL, or to "key=value" pairs.
func inSchema(server, name string) (string, error) {
	if !strings.Contains(server, "://") {
		return server + " search_path=" + name, nil
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String(), nil
}
