package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// probe is a dialect of PostgreSQL that is good enough to show that Dialect is a
// real seam: the conformance suite passes over it. It keeps no promise about
// lost commits, failovers or settings.
type probe struct{}

func (probe) Name() string           { return "postgres" }
func (probe) writers() int           { return 0 }
func (probe) snapshot() string       { return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" }
func (probe) claim() string          { return "" }
func (probe) savepoint() bool        { return true }
func (probe) bind(v any) any         { return v }
func (probe) often(c string) string  { return c }
func (probe) seldom(c string) string { return c }

// lock waits for rows that another writer holds. Passing over them would need
// the engine to look for the request once more before it finds nothing to do.
func (probe) lock() string { return " FOR UPDATE" }

func (probe) settings(context.Context, querier) error       { return nil }
func (probe) file(context.Context, querier) (string, error) { return "", nil }
func (probe) walk(string, fsm.Kind, bool) string            { return "" }
func (probe) placeholder(n int) string                      { return fmt.Sprintf("$%d", n) }
func (probe) present(column string) string                  { return "(json_array_length(" + column + ") > 0)" }

func (probe) objects(ctx context.Context, q querier) (map[string]bool, error) {
	names, err := column(ctx, q, `SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		UNION SELECT tgname::text FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid WHERE relnamespace = current_schema()::regnamespace`)
	objects := map[string]bool{}
	for _, n := range names {
		objects[n] = true
	}
	return objects, err
}

func (probe) reshape(context.Context, querier, *fsm.Schema, string) error {
	return errors.New("the probe migrates nothing")
}

func (probe) backup(string) []string { return nil }

func (probe) operand(column string, kind fsm.Kind) string {
	if kind == fsm.KindJSON || kind == fsm.KindSet {
		return column + "::text"
	}
	return column
}

func (probe) order(column string, _, descending bool) []string {
	if descending {
		column += " DESC"
	}
	return []string{column + " NULLS LAST"}
}

func (probe) lockGroup(table string) string {
	return `INSERT INTO ` + table + ` AS g ("name", "key", "number") VALUES ($1, $2, 0) ON CONFLICT ("name", "key") DO UPDATE SET "number" = g."number"`
}

func (probe) failure(err error) failure {
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return failOther
	}
	state := coded.SQLState()
	switch {
	case state[:2] == "23" || state[:2] == "FS":
		return failConstraint
	case slices.Contains([]string{"40001", "40P01", "55P03"}, state):
		return failBusy
	case state == "42P01" || state == "42703":
		return failSchema
	}
	return failOther
}

func (probe) isolation() sql.IsolationLevel { return sql.LevelSerializable }

func (probe) hidden(err error) bool {
	var coded interface{ SQLState() string }
	return errors.As(err, &coded) && coded.SQLState() == "23505"
}

func (probe) rule(err error, _ string) string { return err.Error() }

func TestTheSeamCarriesPostgres(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.DSN(t)
	var n atomic.Int64
	storetest.Run(t, func(tb testing.TB) fsm.Store {
		schema := fmt.Sprint("s", n.Add(1))
		db, err := sql.Open("pgx", server+"&synchronous_commit=off&search_path="+schema)
		if err != nil {
			tb.Fatal(err)
		}
		db.SetMaxOpenConns(8)
		if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
			tb.Fatal(err)
		}
		store, err := New(db, probe{}, WithRelease(db.Close))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}, storetest.WithSQL(map[string]string{"postgres": string(text)}))
}
