package migration_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// oldWrite is what a program writes that was generated for contract version 1.
const oldWrite = `INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason",
	"request_n", "fingerprint", "version", "sum") SELECT 'x', 1, 0, 'enqueue', 'enqueued', NULL, 'queued', "updated_at", '', '', -1, '', 1, 0
	FROM "lifecycle" LIMIT 1`

// Views, indexes and triggers that users made over the log of contract version 1 go on
// after Migrate, which gives the columns other names. What it cannot keep stops it, and
// nothing has changed. A program of before writes nothing any more.
func TestColumnsGetNames(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, db *sql.DB, store fsm.Store, mine string, bad, good []string, kind, name, why, objects string) {
		t.Cleanup(func() { store.(interface{ Close() error }).Close() })
		for _, text := range bad {
			execute(t, db, text)
		}
		before, had := rowsOf(t, db, mine), rowsOf(t, db, objects)
		var other *sqlstore.UserObjectError
		err := lifecycle.Migrate(t.Context(), store)
		if !errors.As(err, &other) || !errors.Is(err, fsm.ErrSchemaMismatch) || other.Kind != kind || other.Name != name {
			t.Fatalf("Migrate: %v, want a refusal that names the %s %s", err, kind, name)
		}
		if _, err := lifecycle.Open(t.Context(), store); !errors.Is(err, fsm.ErrSchemaMismatch) || !strings.Contains(err.Error(), `"from_state"`) {
			t.Errorf("Open: %v, want a refusal that names the new column", err)
		}
		if diff := cmp.Diff(had, rowsOf(t, db, objects)); diff != "" {
			t.Errorf("the refused Migrate changed (-before +after):\n%s", diff)
		}
		for _, text := range good {
			execute(t, db, text)
		}
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, rowsOf(t, db, mine)); diff != "" {
			t.Errorf("the view (-before +after):\n%s", diff)
		}
		m, err := lifecycle.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.ClaimNext(t.Context(), lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Hour)}, fsm.Call{Actor: "w7", RequestID: "after"}); err != nil {
			t.Fatal(err)
		}
		if after := rowsOf(t, db, mine); len(after) != len(before)+1 {
			t.Errorf("the view has %d rows, want %d", len(after), len(before)+1)
		}
		if noted := rowsOf(t, db, `SELECT "state" FROM "noted"`); len(noted) != 1 || noted[0] != "claimed" {
			t.Errorf("the trigger noted %v", noted)
		}
		if _, err := db.Exec(oldWrite); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a program of before writes: %v, want %q", err, why)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		db := openSQLite(t, path)
		execute(t, db, "PRAGMA journal_mode = WAL")
		execute(t, db, olderDump(t, "sqlite"))
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		check(t, db, store, `SELECT * FROM "mine" ORDER BY 1, 2`, []string{
			`CREATE VIEW "mine" AS SELECT "id", "rev", e."from" AS "left", "to" AS "entered", "at" AS "when", "sum" FROM "lifecycle_events" AS e WHERE "n" = 0`,
			`CREATE INDEX "mine_when" ON "lifecycle_events" ("at")`, `CREATE TABLE "noted" ("state" TEXT)`,
			`CREATE TRIGGER "mine_notes" AFTER INSERT ON "lifecycle_events" WHEN NEW."from" IS NOT NULL BEGIN INSERT INTO "noted" VALUES (NEW."to"); END`,
			`CREATE TABLE "gone" ("a")`, `CREATE VIEW "unreadable" AS SELECT "a" FROM "gone"`, `DROP TABLE "gone"`,
		}, []string{`DROP VIEW "unreadable"`}, "view", "unreadable", "has no column named from", `SELECT "sql" FROM sqlite_master ORDER BY 1`)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		db := opened(t, dsn)
		execute(t, db, olderDump(t, "postgres"))
		store, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		const notes = `CREATE OR REPLACE FUNCTION mine_notes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO noted VALUES (NEW.%s); RETURN NULL; END $$`
		const trigger = `CREATE TRIGGER mine_notes AFTER INSERT ON lifecycle_events FOR EACH ROW WHEN (NEW."from" IS NOT NULL) EXECUTE FUNCTION mine_notes()`
		check(t, db, store, `SELECT * FROM mine ORDER BY 1, 2`, []string{
			`CREATE VIEW mine AS SELECT id, rev, e."from" AS "left", "to" AS entered, at AS "when", sum FROM lifecycle_events AS e WHERE n = 0`,
			`CREATE INDEX mine_when ON lifecycle_events (at)`, `CREATE TABLE noted (state text)`,
			strings.Replace(notes, "%s", "to", 1), trigger,
			`CREATE FUNCTION harmless() RETURNS bigint LANGUAGE sql AS 'SELECT sum(rev) FROM lifecycle_events WHERE now() AT TIME ZONE ''UTC'' IS NOT NULL'`,
		}, []string{`DROP TRIGGER mine_notes ON lifecycle_events`, `DROP FUNCTION mine_notes`,
			strings.Replace(notes, "%s", "to_state", 1), strings.Replace(trigger, `"from"`, `"request_n"`, 1)},
			"function", "mine_notes()", "42703", catalog)
		const rules = `SELECT conname, coalesce(obj_description(oid, 'pg_constraint'), '') FROM pg_constraint WHERE conname LIKE 'claimed:%' OR conname LIKE 'queued:%' ORDER BY 1`
		want := []string{"claimed: present owner, lease; absent result, error; 2 more | claimed: present owner, lease; absent result, error, queued_at; attempt >= 1",
			"queued: absent owner, lease, result, error | "}
		if diff := cmp.Diff(want, rowsOf(t, db, rules)); diff != "" {
			t.Errorf("the rules (-want +got):\n%s", diff)
		}
		// A user's comment stays.
		const said = `SELECT obj_description('lifecycle'::regclass), col_description('lifecycle'::regclass, 8), obj_description('lifecycle_outbox'::regclass)`
		execute(t, db, `COMMENT ON TABLE lifecycle IS 'ours'; COMMENT ON TABLE lifecycle_outbox IS NULL`)
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, db, said); got[0] != "ours | The worker that is responsible for the job. | Effects that wait for being performed." {
			t.Errorf("the comments are %s", got[0])
		}
	})
}

// A script drops a rule by the name of today or by that of an older fsmgen.
func TestFormerRuleNames(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join("..", "..", "specs", "lifecycle.yaml"))
	next := strings.Replace(text, "invariant: [attempt >= 1]", "invariant: [attempt >= 1, attempt >= 0]", 1)
	next = strings.Replace(next, "entity: Job\n", "entity: Job\nversion: 2\n", 1)
	m, err := migration.New(parse(t, "old.yaml", text), parse(t, "next.yaml", next), migration.Postgres, "full")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../../examples/queue/lifecycle/lifecycle.postgres.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, former := range []bool{false, true} {
		db := pgtest.Open(t)
		db.SetMaxOpenConns(1)
		execute(t, db, string(schema))
		if former {
			execute(t, db, `ALTER TABLE "lifecycle" RENAME CONSTRAINT "claimed: present owner, lease; absent result, error; 2 more"
				TO "claimed: present owner, lease; absent result, error, q_d078e23a"`)
		}
		if _, err := db.ExecContext(t.Context(), m.Script); err != nil {
			t.Errorf("former name %t: %v", former, err)
		}
		if names := rowsOf(t, db, `SELECT conname FROM pg_constraint WHERE conname LIKE 'claimed: %'`); len(names) != 1 {
			t.Errorf("former name %t: the rules are %q", former, names)
		}
	}
}
