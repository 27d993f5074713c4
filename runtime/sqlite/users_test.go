package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// wider is the execution machine with two more fields, as version 2.
func wider(s *driver.Schema) *driver.Schema {
	w := *s
	w.Version, w.Hash = 2, "h2"
	w.Columns = append(slices.Clone(s.Columns), driver.Column{Name: "tries", Stored: "tries", Kind: driver.KindCounter},
		driver.Column{Name: "note", Stored: "note", Kind: driver.KindString, Optional: true})
	w.SQL = map[string]string{"sqlite": strings.Replace(s.SQL["sqlite"], "    \"finished_at\" INTEGER,\n",
		"    \"finished_at\" INTEGER,\n    \"tries\" INTEGER NOT NULL,\n    \"note\" TEXT,\n", 1)}
	return &w
}

// narrower lacks a column.
func narrower(s *driver.Schema) *driver.Schema {
	w := *s
	w.Version, w.Hash, w.Columns = 2, "h2", nil
	for _, c := range s.Columns {
		if c.Name != "finished_at" {
			w.Columns = append(w.Columns, c)
		}
	}
	text := strings.ReplaceAll(s.SQL["sqlite"], `NEW."finished_at" IS NOT OLD."finished_at"`, "0")
	text = regexp.MustCompile(`(?m)^    (?:"finished_at"|CONSTRAINT "\w+: finished_at).*\n`).ReplaceAllString(text, "")
	w.SQL = map[string]string{"sqlite": strings.ReplaceAll(text, ",\n) STRICT", "\n) STRICT")}
	return &w
}

// dumped is what others have in a database: their rows and the texts of their
// objects.
func dumped(t testing.TB, path string) (list []string) {
	t.Helper()
	db := foreign(t, path, settings)
	for _, query := range []string{
		`SELECT "type" || ' ' || "name" || ' ' || "sql" FROM sqlite_master WHERE "sql" LIKE '%mine%' AND "name" <> 'execution' ORDER BY 1`,
		`SELECT concat_ws(',', "n", "job", "part") FROM "mine_line" ORDER BY 1`, `SELECT concat_ws(',', "n", "line") FROM "mine_part" ORDER BY 1`,
		`SELECT "id" FROM "execution" ORDER BY 1`,
	} {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

const others = `
CREATE TABLE "mine_line" ("n" INTEGER PRIMARY KEY, "job" TEXT REFERENCES "execution" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
	"part" INTEGER REFERENCES "mine_part" ("n") ON DELETE SET NULL);
CREATE TABLE "mine_part" ("n" INTEGER PRIMARY KEY, "line" INTEGER REFERENCES "mine_line" ("n"), "job" TEXT DEFAULT 'e1' REFERENCES execution ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "mine_log" ("what" TEXT);
CREATE TABLE "execution_new" ("mine" TEXT);
CREATE INDEX "mine ""quoted"" Index" ON execution ("id" DESC, 'x' || lease_owner COLLATE NOCASE) WHERE "state" <> 'mine';
CREATE TRIGGER [mine in brackets] AFTER UPDATE ON Execution WHEN NEW.state = 'mine'
	BEGIN UPDATE execution SET rev = rev WHERE id = NEW.id; END;
CREATE VIEW "mine with a space" AS SELECT * FROM "mine_view";
CREATE INDEX "mine_index" ON "execution" ("lease_owner") WHERE "lease_owner" IS NOT NULL;
CREATE INDEX "execution_mine" ON "execution" (lower("lease_owner"));
CREATE VIEW "mine_view" AS SELECT "id", "lease_owner" FROM execution;
CREATE VIEW "mine_view2" AS SELECT count(*) AS "mine" FROM "mine_view" JOIN "execution_job";
CREATE TRIGGER "mine_trigger" AFTER UPDATE OF "lease_owner" ON "execution" BEGIN INSERT INTO "mine_log" VALUES (NEW."id"); END;
CREATE TRIGGER "execution_mine_too" AFTER INSERT ON "execution" BEGIN INSERT INTO "mine_log" VALUES (NEW."id"); END;
CREATE TRIGGER "mine_other" BEFORE INSERT ON "mine_line" BEGIN SELECT RAISE(ABORT, 'mine') WHERE NOT EXISTS (SELECT 1 FROM execution WHERE id = NEW.job); END;
CREATE VIEW "mine_broken" AS SELECT * FROM "mine_nowhere";
INSERT INTO "mine_line" VALUES (1, 'e1', NULL), (2, 'e1', NULL);
INSERT INTO "mine_part" ("n", "line") VALUES (1, 1), (2, 2);
UPDATE "mine_line" SET "part" = "n";`

// What others have made stays as it is when the tables are made anew: rows that
// refer to ours, whatever they ask for when ours are deleted, and all objects.
func TestMigrateKeepsWhatOthersMade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.db")
	store := open(t, path)
	s := executionSchema(t)
	tab := table(t, store, s)
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := foreign(t, path, settings).Exec(others); err != nil {
		t.Fatal(err)
	}
	before := dumped(t, path)
	if len(before) < 18 {
		t.Fatalf("others have %q", before)
	}
	two := table(t, store, wider(s))
	if diff := cmp.Diff(before, dumped(t, path)); diff != "" {
		t.Errorf("what others have (-before +after):\n%s", diff)
	}
	// The references hold as before, for the store too.
	db := foreign(t, path, settings)
	if _, err := db.Exec(`INSERT INTO "mine_part" ("n", "job") VALUES (9, 'nobody')`); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("a part of no execution: %v, want a refusal", err)
	}
	if _, err := db.Exec(`DROP TRIGGER "execution_delete"; DELETE FROM "execution"`); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("mine_part refers to a line that would go: %v, want a refusal", err)
	}
	w := lease("e2", "j2", 1)
	w.Row.Values = append(slices.Clone(w.Row.Values), int64(0), nil)
	if err := two.Commit(ctx, w); err != nil {
		t.Fatal(err)
	}
	var logged string
	if err := db.QueryRow(`SELECT group_concat("what") FROM "mine_log"`).Scan(&logged); err != nil || logged != "e2" {
		t.Errorf("the trigger on the machine's table wrote %q, want e2: %v", logged, err)
	}
}

// An object of somebody else that could not go on is named, and nothing changes.
func TestMigrateNamesWhatWouldBreak(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct{ name, make, kind, object string }{
		{"a view", `CREATE VIEW "mine" AS SELECT finished_at FROM execution`, "view", "mine"},
		{"a view with an odd name", `CREATE VIEW "mine ""and"" Yours" AS SELECT finished_at FROM execution`, "view", `mine "and" Yours`},
		{"a view that nobody can read", `CREATE VIEW "mine" AS SELECT * FROM nowhere`, "view", "mine"},
		{"a view over a view", `CREATE VIEW "a" AS SELECT * FROM execution; CREATE VIEW "mine" AS SELECT finished_at FROM a`, "view", "mine"},
		{"a view with a column that would become a text", `CREATE VIEW "mine" AS SELECT "finished_at" FROM execution`, "view", "mine"},
		{"an index", `CREATE INDEX "mine" ON execution (finished_at)`, "index", "mine"},
		{"an index with a condition", `CREATE INDEX "mine" ON execution (id) WHERE finished_at IS NOT NULL`, "index", "mine"},
		{"a trigger", `CREATE TABLE t (x); CREATE TRIGGER "mine" AFTER UPDATE ON execution BEGIN INSERT INTO t VALUES (NEW.finished_at); END`, "trigger", "mine"},
		{"a trigger of the column", `CREATE TABLE t (x); CREATE TRIGGER "mine" AFTER UPDATE OF finished_at ON execution BEGIN DELETE FROM t; END`, "trigger", "mine"},
		{"a trigger elsewhere", `CREATE TABLE t (x); CREATE TRIGGER "mine" AFTER INSERT ON t BEGIN DELETE FROM t WHERE x IN (SELECT finished_at FROM execution); END`, "trigger", "mine"},
		{"a foreign key to the column", `CREATE UNIQUE INDEX "key" ON execution (lease_owner, finished_at);
			CREATE TABLE "mine" (a, b, FOREIGN KEY (a, b) REFERENCES execution (lease_owner, finished_at))`, "index", "key"},
		{"a table where one will be", `DROP TABLE "execution_groups"; CREATE VIEW "execution_groups" AS SELECT 1 AS x`, "view", "execution_groups"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			store := open(t, path)
			s := executionSchema(t)
			tab := table(t, store, s)
			if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
				t.Fatal(err)
			}
			if _, err := foreign(t, path, settings).Exec(c.make); err != nil {
				t.Fatal(err)
			}
			before := all(t, path)
			two, err := store.Table(narrower(s))
			if err != nil {
				t.Fatal(err)
			}
			err = two.Migrate(ctx)
			var other *sqlstore.UserObjectError
			if !errors.Is(err, fsm.ErrSchemaMismatch) || !errors.As(err, &other) || other.Kind != c.kind || other.Name != c.object {
				t.Errorf("got %v, want a refusal that names the %s %s", err, c.kind, c.object)
			}
			if diff := cmp.Diff(before, all(t, path)); diff != "" {
				t.Errorf("a refused Migrate changed (-before +after):\n%s", diff)
			}
		})
	}
}

func all(t testing.TB, path string) (list []string) {
	t.Helper()
	rows, err := foreign(t, path, settings).Query(`SELECT "sql" FROM sqlite_master WHERE "sql" IS NOT NULL UNION ALL SELECT "hash" FROM "fsm_meta" UNION ALL SELECT "id" FROM "execution"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
