package migration_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/migration"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/spec"
)

// shipped returns the specifications of the tree.
func shipped(t *testing.T) (list []*spec.Machine) {
	t.Helper()
	for _, pattern := range []string{"../../specs/*.yaml", "../../examples/machines/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) < 5 {
			t.Fatalf("%s: %q, %v", pattern, paths, err)
		}
		for _, path := range paths {
			list = append(list, parse(t, path, read(t, path)))
		}
	}
	return list
}

func described(t testing.TB, m *spec.Machine, dialect, level string) *driver.Schema {
	t.Helper()
	s, err := live.Schema(m, dialect, level)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// migrates calls Migrate as a program does when it starts.
func migrates(t testing.TB, store fsm.Store, s *driver.Schema) error {
	t.Helper()
	table, err := store.Table(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return table.Migrate(ctx)
}

// catalog is what PostgreSQL knows of a database, with the transaction that wrote it.
const catalog = `SELECT relname, oid::text, xmin::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
	UNION ALL SELECT attrelid::regclass || '.' || attname, '', pg_attribute.xmin::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace
	UNION ALL SELECT proname, oid::text, xmin::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
	UNION ALL SELECT tgname, oid::text, xmin::text FROM pg_trigger UNION ALL SELECT conname, oid::text, xmin::text FROM pg_constraint
	UNION ALL SELECT "machine", "hash", xmin::text FROM "fsm_meta" ORDER BY 1, 2`

// Where nothing is to be done Migrate writes nothing and waits for nobody: not in
// the database that the SQL file made, not beside a transaction that has locked
// every table of the machine.
func TestMigrateHasNothingToDo(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		db := opened(t, dsn)
		store, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		locker, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer locker.Rollback()
		for _, m := range shipped(t) {
			s := described(t, m, migration.Postgres, "full")
			execute(t, db, s.SQL[migration.Postgres])
			if _, err := locker.Exec(`LOCK TABLE "` + strings.Join([]string{m.Name, m.Name + "_events", m.Name + "_outbox", m.Name + "_groups"}, `", "`) + `" IN ACCESS EXCLUSIVE MODE`); err != nil {
				t.Fatal(err)
			}
			before := rowsOf(t, db, catalog)
			if err := migrates(t, store, s); err != nil {
				t.Fatalf("%s: %v", m.Name, err)
			}
			if diff := cmp.Diff(before, rowsOf(t, db, catalog)); diff != "" {
				t.Fatalf("%s: Migrate changed (-before +after):\n%s", m.Name, diff)
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for _, m := range shipped(t) {
			path := filepath.Join(t.TempDir(), "x.db")
			s := described(t, m, migration.SQLite, "full")
			db := openSQLite(t, path)
			execute(t, db, "PRAGMA journal_mode = WAL;"+s.SQL[migration.SQLite])
			store, err := sqlite.Open(path, sqlite.WithBusyTimeout(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			execute(t, db, "BEGIN IMMEDIATE")
			if err := migrates(t, store, s); err != nil {
				t.Errorf("%s, beside a writer: %v", m.Name, err)
			}
			execute(t, db, "ROLLBACK")
			store.Close()
		}
	})
}

// What is missing in a database, or of no use, is made without a new version; what others have made
// stays. On SQLite so is an index or a trigger that is another one, and a function on PostgreSQL.
func TestMigrateMakesWhatIsMissing(t *testing.T) {
	t.Parallel()
	m := parse(t, "execution", read(t, "../../specs/execution.yaml"))
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		db := opened(t, dsn)
		store, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s := described(t, m, migration.Postgres, "full")
		execute(t, db, s.SQL[migration.Postgres])
		whole := postgresObjects(t, db)
		for _, harm := range []string{
			`DROP TRIGGER "execution_guard" ON "execution"`,
			`CREATE OR REPLACE FUNCTION "execution_guard"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
			`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'execution_events_log'::regclass`,
			`DROP INDEX "execution_open"`, `DROP VIEW "execution_job"`, `ALTER TABLE "execution_events" DROP COLUMN "chain" CASCADE`, `ALTER TABLE "execution" DROP COLUMN "started_at" CASCADE`,
		} {
			execute(t, db, harm)
			if err := migrates(t, store, s); err != nil {
				t.Errorf("%s: %v", harm, err)
				continue
			}
			if strings.Contains(harm, "started_at") {
				continue // its rules went with it; Migrate adds the column
			}
			if diff := cmp.Diff(whole, postgresObjects(t, db)); diff != "" {
				t.Errorf("%s (-whole +migrated):\n%s", harm, diff)
			}
		}
	})
	t.Run("an index of others", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		db := opened(t, dsn)
		store, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s := described(t, m, migration.Postgres, "full")
		execute(t, db, s.SQL[migration.Postgres])
		for _, harm := range []string{
			`DROP INDEX "execution_open"; CREATE TABLE "own" ("n" int); CREATE INDEX "execution_open" ON "own" ("n")`,
		} {
			execute(t, db, harm)
			before := rowsOf(t, db, catalog)
			err := migrates(t, store, s)
			var other *sqlstore.UserObjectError
			if !errors.As(err, &other) || other.Kind != "index" || other.Name != "execution_open" {
				t.Errorf("%s: got %v, want a refusal that names the index", harm, err)
			}
			if diff := cmp.Diff(before, rowsOf(t, db, catalog)); diff != "" {
				t.Errorf("%s: a refused Migrate changed (-before +after):\n%s", harm, diff)
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := described(t, m, migration.SQLite, "full")
		for _, harm := range []string{
			`DROP TRIGGER "execution_update"`, `DROP TRIGGER "execution_delete"; CREATE TRIGGER "execution_delete" BEFORE DELETE ON "execution" BEGIN SELECT RAISE(ABORT, 'fsm: execution: never'); END`,
			`DROP INDEX "execution_state"; CREATE INDEX "execution_state" ON "execution" ("state")`, `DROP VIEW "execution_job"`,
			`DROP TRIGGER "execution_events_insert"; DROP TRIGGER "execution_events_update"; DROP TRIGGER "execution_insert"; DROP TRIGGER "execution_update"; ALTER TABLE "execution_events" DROP COLUMN "chain"`, `DROP TABLE "execution_groups"`,
		} {
			path := filepath.Join(t.TempDir(), "x.db")
			db := openSQLite(t, path)
			execute(t, db, "PRAGMA journal_mode = WAL;"+s.SQL[migration.SQLite])
			whole := sqliteObjects(t, db)
			execute(t, db, harm)
			store, err := sqlite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := migrates(t, store, s); err != nil {
				t.Errorf("%s: %v", harm, err)
			}
			store.Close()
			got := sqliteObjects(t, db)
			for i := range got { // a column that was added stands at the end, with a mark
				got[i] = strings.ReplaceAll(got[i], ` /* fsmgen */`, "")
			}
			if len(got) != len(whole) {
				t.Errorf("%s:\n%s", harm, cmp.Diff(whole, got))
			}
			if diff := cmp.Diff(whole, got); diff != "" && !strings.Contains(harm, "chain") {
				t.Errorf("%s (-whole +migrated):\n%s", harm, diff)
			}
		}
	})
}
