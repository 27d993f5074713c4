package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// SQLite is the dialect of SQLite from 3.51.3 on, in WAL mode, by any driver.
func SQLite() Dialect { return sqlite{} }

type sqlite struct{}

func (sqlite) Name() string { return "sqlite" }

func (sqlite) server() bool { return false }

// sqliteSettings are the PRAGMAs that a connection must have, and why.
var sqliteSettings = []struct {
	pragma string
	want   string
	fits   func(string) bool
	why    string
}{
	{"journal_mode", "wal", is("wal"), "readers and the writer work side by side"},
	{"synchronous", "FULL", is("2", "3"), "an acknowledged transition survives a power cut"},
	{"foreign_keys", "1", is("1"), "references hold"},
	{"recursive_triggers", "1", is("1"), "REPLACE asks the triggers"},
	{"trusted_schema", "0", is("0"), "a schema runs no function that could do harm"},
	{"cell_size_check", "1", is("1"), "a corrupt page is found early"},
	{"busy_timeout", "5000", func(v string) bool { return v != "" && v != "0" && v[0] != '-' }, "a busy database is waited for"},
	{"ignore_check_constraints", "0", is("0"), "the schema's CHECKs hold"},
	{"writable_schema", "0", is("0"), "the schema is not edited by hand"},
}

func is(values ...string) func(string) bool {
	return func(v string) bool {
		for _, want := range values {
			if strings.EqualFold(v, want) {
				return true
			}
		}
		return false
	}
}

// oldestSQLite is the first version without a known way to corrupt a database
// in WAL mode: before it, a checkpoint at the wrong moment could reset the log
// while a reader used it.
var oldestSQLite = [3]int{3, 51, 3}

// patience: nobody is asked but the file.
func (sqlite) patience() time.Duration { return 0 }

func (d sqlite) settings(ctx context.Context, q querier, u use, _ *table) error {
	if u == forReading {
		value, err := one(ctx, q, "PRAGMA query_only")
		if err == nil && value != "1" {
			err = fmt.Errorf("query_only is %q, expected 1 so that nothing can be written", value)
		}
		if err != nil {
			return fmt.Errorf("sqlstore: the settings of a store for reading: %w", err)
		}
		return nil
	}
	version, err := one(ctx, q, "SELECT sqlite_version()")
	if err != nil {
		return fmt.Errorf("sqlstore: read SQLite's version: %w", err)
	}
	var have [3]int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &have[0], &have[1], &have[2]); err != nil {
		return fmt.Errorf("sqlstore: read SQLite's version %q: %w", version, err)
	}
	if older(have, oldestSQLite) {
		return fmt.Errorf("sqlstore: SQLite %s can corrupt a database in WAL mode; use a driver with 3.51.3 or later", version)
	}
	var wrong []string
	for _, s := range sqliteSettings {
		value, err := one(ctx, q, "PRAGMA "+s.pragma)
		if err != nil {
			return fmt.Errorf("sqlstore: read PRAGMA %s: %w", s.pragma, err)
		}
		if !s.fits(value) {
			wrong = append(wrong, fmt.Sprintf("%s is %q, expected %s so that %s", s.pragma, value, s.want, s.why))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("sqlstore: the connection's settings do not do: %s; set them for every connection, as sqlite.Open does", strings.Join(wrong, "; "))
	}
	return nil
}

func older(have, want [3]int) bool {
	for i := range have {
		if have[i] != want[i] {
			return have[i] < want[i]
		}
	}
	return false
}

// one returns the first column of the only row of a query, as text.
func one(ctx context.Context, q querier, text string) (string, error) {
	var value string
	err := q.query(ctx, func(rows Rows) error { return rows.Scan(&value) }, text)
	return value, err
}

func (sqlite) file(ctx context.Context, q querier) (string, error) {
	file, err := one(ctx, q, `SELECT "file" FROM pragma_database_list WHERE "name" = 'main'`)
	if err != nil {
		return "", fmt.Errorf("sqlstore: ask for the database's file: %w", err)
	}
	if file == "" {
		return "", errors.New("sqlstore: the database is in memory or temporary and would lose every transition; give it a file, or use memstore")
	}
	return file, nil
}

func (sqlite) pooled() bool { return false }

func (sqlite) snapshot() string { return "BEGIN" }

// claim changes nothing. BEGIN alone takes the write lock at the first write
// only, and a transaction that has read before it would be refused then.
func (sqlite) claim() string { return `DELETE FROM "fsm_meta" WHERE 0` }

// isolation: there is one writer, so every level is the strictest.
func (sqlite) isolation(bool) sql.IsolationLevel { return sql.LevelDefault }

func (d sqlite) claimSchema() string { return d.claim() }

func (sqlite) makingAgain(error) bool { return false }

func (sqlite) hold() string { return "" }

func (sqlite) hidden(error, string) bool { return false }

// savepoint: a constraint takes back its own statement only.
func (sqlite) savepoint() bool { return false }

func (sqlite) objects(ctx context.Context, q querier) (map[string]bool, error) {
	names, err := column(ctx, q, `SELECT "name" FROM sqlite_master`)
	if err != nil {
		return nil, err
	}
	objects := make(map[string]bool, len(names))
	for _, n := range names {
		objects[n] = true
	}
	return objects, nil
}

// column returns the first column of a query, as text.
func column(ctx context.Context, q querier, text string, args ...any) ([]string, error) {
	var values []string
	err := q.query(ctx, func(rows Rows) error {
		values = append(values, "")
		return rows.Scan(&values[len(values)-1])
	}, text, args...)
	return values, err
}

func (sqlite) shred() string { return "PRAGMA secure_delete = 1" }

// backup: a session that may not write could not write the copy either.
func (sqlite) backup(path string) []string {
	return []string{"PRAGMA query_only = 0", "VACUUM INTO " + literal(path)}
}

// qualified: a temporary table of the same name, which a caller's transaction may have
// made on this connection, would come first.
func (sqlite) qualified(table string) string { return `"main".` + quote(table) }

func (sqlite) within() string { return "" }

func (sqlite) reached(context.Context, querier, []string) error { return nil }
func (sqlite) usable(context.Context, querier, *table) error    { return nil }
func (sqlite) verified(*table) string                           { return "" }

func (sqlite) placeholder(int) string { return "?" }

// limit: SQLite plans by the value of a parameter that is the whole limit, and so
// prepares such a statement anew at each execution; a sum it does not look into.
func (sqlite) limit(placeholder string) string { return " LIMIT " + placeholder + " + 0" }

func (sqlite) cast(parameter string, _ driver.Kind) string { return parameter }

func (sqlite) bind(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UnixMicro()
	case *time.Time:
		return v.UnixMicro()
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	return held(v)
}

func (sqlite) operand(column string, _ driver.Kind) string { return column }

// later: both are numbers of microseconds.
func (sqlite) later(column, length string) string { return "(" + column + " + " + length + ")" }

func (sqlite) since(parameter string) string { return parameter }

func (sqlite) present(column string) string { return "(json_array_length(" + column + ") > 0)" }

// Without ANALYZE, SQLite takes a state to hold for ten rows of a million and a
// deadline in the past for a quarter, so it would read all records of a state
// to find those that are due, and sort them to find the next. The hints do not
// hide the conditions from partial indexes.
func (sqlite) often(condition string) string { return "likelihood(" + condition + ", 0.9)" }

func (sqlite) seldom(condition string) string { return "likelihood(" + condition + ", 0.0001)" }

func (d sqlite) walk(column string, kind driver.Kind, optional bool) string {
	switch {
	case optional:
		return d.seldom("(" + column + " IS NULL) >= 0")
	case kind == driver.KindString || kind == driver.KindEnum || kind == driver.KindJSON || kind == driver.KindSet:
		return d.seldom(column + " >= ''")
	}
	return d.seldom(column + " >= -9223372036854775808")
}

func (sqlite) order(column string, optional, descending bool) []string {
	var keys []string
	if optional {
		keys = append(keys, column+" IS NULL")
	}
	if descending {
		column += " DESC"
	}
	return append(keys, column)
}

func (sqlite) lock() string { return "" }

func (sqlite) lockGroup(*table, bool) string  { return "" }
func (sqlite) lockPlaces(*table, bool) string { return "" }

// codeSuffix is what some drivers put after the message.
var codeSuffix = regexp.MustCompile(` \(\d+\)$`)

func (sqlite) rule(err error, machine string) string {
	message := codeSuffix.ReplaceAllString(err.Error(), "")
	for _, mark := range []string{"fsm: " + machine + ": ", "CHECK constraint failed: "} {
		if _, rule, ok := strings.Cut(message, mark); ok {
			return rule
		}
	}
	return ""
}
