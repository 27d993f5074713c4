package migration_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/spec"
)

// A script that waits for the tables ends nobody's transaction and is ended by
// nobody, in whatever order a writer takes them.
func TestMigrationMakesNoDeadlock(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	t.Parallel()
	dir := filepath.Join("testdata", "errand")
	load := func(name string) *spec.Machine { return parse(t, name, read(t, filepath.Join(dir, name))) }
	old, next := load("old.yaml"), load("new.yaml")
	m, err := migration.New(old, next, migration.Postgres, "full")
	if err != nil {
		t.Fatal(err)
	}
	for name, order := range map[string][]string{
		"the log first": {"errand_events", "errand", "errand_outbox"}, "the record first": {"errand", "errand_outbox", "errand_events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t)
			execute(t, db, generate(t, old, "full")["errand.postgres.sql"])
			writer, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Rollback()
			lock := func(table string) {
				t.Helper()
				if _, err := writer.Exec("LOCK TABLE " + table + " IN ROW EXCLUSIVE MODE"); err != nil {
					t.Fatalf("the writer: %s: %v", table, err)
				}
			}
			lock(order[0])
			migrated := make(chan error, 1)
			go func() {
				_, err := db.Exec(m.Script)
				migrated <- err
			}()
			// The script has met the writer's lock when it waits for it or has slept for it.
			for met := "0"; met == "0"; time.Sleep(time.Millisecond) {
				met = rowsOf(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
					AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')`)[0]
				select {
				case err := <-migrated:
					t.Fatalf("the script did not wait for the writer: %v", err)
				default:
				}
			}
			lock(order[1])
			lock(order[2])
			if err := writer.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-migrated; err != nil {
				t.Errorf("the script: %v", err)
			}
		})
	}
}
