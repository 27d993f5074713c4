package migration_test

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/spec"
)

// postgresObjects is what a database is made of, without the order of columns.
func postgresObjects(t testing.TB, db *sql.DB) []string {
	var list []string
	for _, query := range []string{
		`SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`,
		`SELECT conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0 AND contype <> 't' ORDER BY 1, 2`,
		`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
		`SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indexrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) ORDER BY 1`,
		`SELECT tgrelid::regclass, tgname, pg_get_triggerdef(oid), (SELECT prosrc FROM pg_proc WHERE pg_proc.oid = tgfoid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
		`SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1`,
		`SELECT "version", "hash", "enforce" FROM "fsm_meta"`,
	} {
		list = append(list, rowsOf(t, db, query)...)
	}
	return generatedOnly(list)
}

func TestPostgresSchemaIsTheGeneratedOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	// In a campaign it is every edit; since this says so, make campaigns runs it.
	everyEdit(t, []string{"full", "none"}, func(t *testing.T, old, next *spec.Machine, enforce string) {
		m, err := migration.New(old, next, migration.Postgres, enforce)
		if err != nil {
			t.Fatal(err)
		}
		db, fresh := pgtest.Open(t), pgtest.Open(t)
		db.SetMaxOpenConns(1)
		execute(t, db, generate(t, old, enforce)[old.Name+".postgres.sql"])
		for _, q := range m.Queries {
			if rows := rowsOf(t, db, q.SQL); len(rows) > 0 {
				t.Errorf("%s: rows of an empty table: %q", q.Rule, rows)
			}
		}
		execute(t, db, m.Script)
		execute(t, fresh, generate(t, next, enforce)[next.Name+".postgres.sql"])
		if d := cmp.Diff(postgresObjects(t, fresh), postgresObjects(t, db)); d != "" {
			t.Errorf("(-generated +migrated):\n%s", d)
		}
	})
}

func opened(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
