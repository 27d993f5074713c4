// Package traffic counts what the event log of a database holds of a machine:
// how often each operation led from one state to another.
//
// It reads and never writes: a SQLite file is opened read-only, a PostgreSQL
// session is read-only, and no lock is taken, so a running application is not
// disturbed. It knows the log's table and columns, which are a part of what the
// generated schema promises, and needs no generated package. It does not check
// the log; that is what an audit is for.
package traffic

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/gen/chart"
)

// Read counts the events of the machine of that name in a database: the path
// of a SQLite file, or an address postgres://… . Errors never hold the password
// of an address.
func Read(ctx context.Context, address, machine string) ([]chart.Traffic, error) {
	db, clean, err := open(address)
	if err != nil {
		return nil, err
	}
	ts, err := count(ctx, db, machine)
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, errors.New(clean(err.Error()))
	}
	return ts, nil
}

// IsPostgres reports whether an address is one of PostgreSQL.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

func open(address string) (*sql.DB, func(string) string, error) {
	same := func(s string) string { return s }
	if !IsPostgres(address) {
		if _, err := os.Stat(address); err != nil {
			return nil, nil, fmt.Errorf("%w; expected the path of a SQLite file, or an address like postgres://user:password@host:5432/database", err)
		}
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: address}).EscapedPath()+"?mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(5000)")
		return db, same, err
	}
	config, err := pgx.ParseConfig(address)
	if err != nil { // its words may hold a part of the address, and so of the password
		return nil, nil, errors.New("the address cannot be read; expected one like postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	clean := same
	if config.Password != "" {
		clean = func(s string) string { return strings.ReplaceAll(s, config.Password, "…") }
	}
	return stdlib.OpenDB(*config), clean, nil
}

func count(ctx context.Context, db *sql.DB, machine string) (ts []chart.Traffic, err error) {
	table := `"` + strings.ReplaceAll(machine+"_events", `"`, `""`) + `"`
	rows, err := db.QueryContext(ctx, `SELECT "operation", COALESCE("from", ''), "to", "n" > 0, count(*) FROM `+table+
		` GROUP BY "operation", "from", "to", "n" > 0 ORDER BY 1, 2, 3, 4`)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "42P01") {
			return nil, fmt.Errorf("the database has no log of the machine %q: there is no table %s; is it another database, or another machine", machine, table)
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t chart.Traffic
		if err := rows.Scan(&t.Operation, &t.From, &t.To, &t.Recorded, &t.Count); err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	return ts, rows.Err()
}
