// Package database opens what the programs of the browser tests run over: a file of SQLite, or PostgreSQL by an address.
package database

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// Store is a database with machines.
type Store interface {
	fsm.Store
	Close() error
}

// Open opens a file of SQLite, or PostgreSQL by its address, whose schema it makes.
func Open(ctx context.Context, database string) (Store, error) {
	if !strings.HasPrefix(database, "postgres://") {
		return sqlite.Open(database)
	}
	address, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	if schema := address.Query().Get("search_path"); schema != "" {
		db, err := sql.Open("pgx", database)
		if err != nil {
			return nil, err
		}
		_, err = db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS "`+strings.ReplaceAll(schema, `"`, `""`)+`"`)
		if err := errors.Join(err, db.Close()); err != nil {
			return nil, err
		}
	}
	return postgres.Open(ctx, database)
}
