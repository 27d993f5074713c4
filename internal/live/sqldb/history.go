package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/gen/chart"
)

// History counts the events of the machine of that name in the log of a database: how
// often each operation led from one state to another. It takes no lock, knows the log's
// table and columns, which are a part of what the generated schema promises, and does
// not check the log; that is what an audit is for.
func History(ctx context.Context, text, machine string) ([]chart.Traffic, error) {
	a, err := Parse(text)
	if err != nil {
		return nil, err
	}
	db, err := open(a)
	if err != nil {
		return nil, a.Clean(err)
	}
	ts, err := count(ctx, db, machine)
	return ts, a.Clean(errors.Join(err, db.Close()))
}

// Reading opens the database at an address for reading alone, whatever it holds.
func Reading(text string) (*sql.DB, Address, error) {
	a, err := Parse(text)
	if err != nil {
		return nil, a, err
	}
	db, err := open(a)
	return db, a, a.Clean(err)
}

func open(a Address) (*sql.DB, error) {
	if a.Dialect == "sqlite" {
		if err := CheckFile(a.Text); err != nil {
			return nil, err
		}
		return sql.Open("sqlite", "file:"+(&url.URL{Path: a.Text}).EscapedPath()+"?mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	}
	config, err := pgx.ParseConfig(a.Text)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	for name, value := range map[string]string{"timezone": "UTC", "datestyle": "ISO", "intervalstyle": "postgres"} { // for Drift
		config.RuntimeParams[name] = value
	}
	return stdlib.OpenDB(*config), nil
}

func count(ctx context.Context, db *sql.DB, machine string) (ts []chart.Traffic, err error) {
	table := `"` + strings.ReplaceAll(machine+"_events", `"`, `""`) + `"`
	rows, err := db.QueryContext(ctx, `SELECT "operation", COALESCE("from_state", ''), "to_state", "n" > 0, count(*) FROM `+table+
		` GROUP BY "operation", "from_state", "to_state", "n" > 0 ORDER BY 1, 2, 3, 4`)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "42P01") {
			return nil, fmt.Errorf("the database has no log of the machine %q: the table %s is missing; is it another database, or another machine", machine, table)
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
