package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// openReadOnly opens the store over a file that it cannot write.
func openReadOnly(path string, o options) (*sqlstore.Store, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, fmt.Errorf("sqlite: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("sqlite: %s is no file", path)
	}
	query := url.Values{"mode": {"ro"}, "_dqs": {"0"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", own.Milliseconds()), "query_only(1)", "trusted_schema(0)", "cell_size_check(1)",
	}}
	store, err := newReadOnly(path, query, o)
	if err != nil && (strings.Contains(err.Error(), "unable to open database file") || strings.Contains(err.Error(), "attempt to write a readonly database")) {
		// In WAL mode even a reader needs files beside the database. Where it cannot
		// make them and there are none, nobody has the database open.
		if _, other := os.Stat(path + "-wal"); errors.Is(other, os.ErrNotExist) {
			query.Set("immutable", "1")
			return newReadOnly(path, query, o)
		}
	}
	return store, err
}

func newReadOnly(path string, query url.Values, o options) (*sqlstore.Store, error) {
	db, err := sql.Open("sqlite", address(path, query))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db.SetMaxOpenConns(sqlstore.Readers)
	db.SetMaxIdleConns(sqlstore.Readers)
	db.SetConnMaxLifetime(0)
	store, err := sqlstore.New(db, sqlstore.SQLite(), append(o.store, sqlstore.WithReadOnly(),
		sqlstore.WithWait(o.busy), sqlstore.WithRelease(db.Close))...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s for reading: %w", path, err), db.Close())
	}
	return store, nil
}
