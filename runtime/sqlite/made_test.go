package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// byHand changes the text of a table by the twelve steps of SQLite's documentation.
func byHand(t testing.TB, path, name string, edits ...string) {
	t.Helper()
	db := foreign(t, path, strings.Replace(settings, "foreign_keys(1)", "foreign_keys(0)", 1))
	db.SetMaxOpenConns(1)
	var text, columns string
	if err := db.QueryRow(`SELECT "sql", (SELECT group_concat('"' || "name" || '"') FROM pragma_table_info(?1)) FROM sqlite_master WHERE "name" = ?1`, name).Scan(&text, &columns); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(`SELECT "sql" FROM sqlite_master WHERE "tbl_name" = ? AND "type" IN ('index', 'trigger') AND "sql" IS NOT NULL`, name)
	if err != nil {
		t.Fatal(err)
	}
	var again []string
	for rows.Next() {
		again = append(again, "")
		if err := rows.Scan(&again[len(again)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, `"`+name+`"`, `"by_hand"`, 1)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("%q is not in %s", edits[i], text)
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	for _, s := range append([]string{"PRAGMA legacy_alter_table = 1", text,
		`INSERT INTO "by_hand" (` + columns + `) SELECT ` + columns + ` FROM "` + name + `"`,
		`DROP TABLE "` + name + `"`, `ALTER TABLE "by_hand" RENAME TO "` + name + `"`}, again...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// inFile opens a file that the machine has made, with a record.
func inFile(t *testing.T) (path string, s *driver.Schema, migrate func(*driver.Schema) error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	store := open(t, path)
	s = executionSchema(t)
	if err := table(t, store, s).Commit(t.Context(), lease("e1", "j1", 1)); err != nil {
		t.Fatal(err)
	}
	return path, s, func(s *driver.Schema) error {
		tab, err := store.Table(s)
		if err != nil {
			t.Fatal(err)
		}
		return tab.Migrate(context.Background())
	}
}

// version returns the schema as one of that version.
func version(s *driver.Schema, n int, hash string) *driver.Schema {
	w := *s
	w.Version, w.Hash = n, hash
	return &w
}

// What neither version made stays, however it is written and whatever it is called: objects
// whose names begin as ours do, and, where the table is not made again, columns and rules in the
// text of our table, behind our columns too. A table that must be rebuilt is refused by the
// name of the first of them.
func TestMigrateKeepsWhatLooksLikeOurs(t *testing.T) {
	t.Parallel()
	for _, noted := range []bool{true, false} {
		for _, columns := range []bool{true, false} {
			t.Run(fmt.Sprintf("noted %t, columns %t", noted, columns), func(t *testing.T) {
				t.Parallel()
				looksLikeOurs(t, noted, columns)
			})
		}
	}
}

func looksLikeOurs(t *testing.T, noted, columns bool) {
	path, s, migrate := inFile(t)
	execute := func(text string) {
		t.Helper()
		if _, err := foreign(t, path, settings).Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	execute(`CREATE TABLE "mine_parent" ("k" TEXT PRIMARY KEY); INSERT INTO "mine_parent" VALUES ('precious');`)
	if columns {
		byHand(t, path, "execution",
			"    \"finished_at\" INTEGER,\n", "    \"finished_at\" INTEGER,\n    \"mine_column\" TEXT DEFAULT 'precious',\n    \"mine_sum\" INTEGER AS (\"attempt\" + 1),\n",
			`"lease_owner" TEXT NOT NULL`, `"lease_owner" TEXT NOT NULL CHECK ("lease_owner" <> 'mine')`,
			"    CONSTRAINT \"state is known\"", "    CONSTRAINT \"rev is mine\" CHECK (\"rev\" < 1000),\n    FOREIGN KEY (\"mine_column\") REFERENCES \"mine_parent\",\n    CONSTRAINT \"state is known\"",
			"\n) STRICT", ",\n    UNIQUE (\"mine_column\", \"id\"),\n    CHECK (\"mine_column\" <> 'no')\n) STRICT")
		byHand(t, path, "execution_events", "    \"actor\" TEXT NOT NULL,\n", "    \"actor\" TEXT NOT NULL,\n    \"mine_note\" TEXT DEFAULT 'precious',\n")
		execute(`CREATE INDEX "execution_events_mine" ON "execution_events" ("mine_note")`)
	}
	execute(`CREATE UNIQUE INDEX "mine" ON "execution" ("lease_owner", "id");
		CREATE UNIQUE INDEX "execution_unique_mine" ON "execution" ("lease_owner");
		CREATE INDEX "execution_due_mine" ON "execution" ("lease_owner");
		CREATE TRIGGER "execution_update_mine" BEFORE UPDATE ON "execution" BEGIN SELECT 1; END;
		CREATE VIEW "execution_mine" AS` + "\nSELECT\n" + `    "id" FROM "execution";`)
	if !noted {
		execute(`DELETE FROM "fsm_made"`)
	}
	before := mine(t, path, columns) // it takes a trigger away, which Migrate makes again
	if len(before) < 6 {
		t.Fatalf("others have %q", before)
	}
	steps := []*driver.Schema{s, wider(s), version(narrower(s), 3, "h3"), version(s, 4, "h4")}
	if columns {
		steps = []*driver.Schema{s, longer(s), version(longer(s), 3, "h3")}
	}
	for i, next := range steps {
		if err := migrate(next); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if diff := cmp.Diff(before, mine(t, path, columns)); diff != "" {
			t.Fatalf("step %d: what others have (-before +after):\n%s", i, diff)
		}
	}
	if !columns {
		return
	}
	whole := all(t, path)
	err := migrate(version(narrower(s), 4, "h4"))
	var other *sqlstore.UserObjectError
	if !errors.Is(err, fsm.ErrSchemaMismatch) || !errors.As(err, &other) || other.Kind != "column" ||
		other.Name != "lease_owner" && other.Name != "mine_column" {
		t.Errorf("got %v, want a refusal that names a column", err)
	}
	if diff := cmp.Diff(whole, all(t, path)); diff != "" {
		t.Errorf("a refused Migrate changed (-before +after):\n%s", diff)
	}
}

// mine returns the objects and values of others, and which writes their rules refuse.
func mine(t *testing.T, path string, columns bool) (list []string) {
	t.Helper()
	db := foreign(t, path, settings)
	query := `SELECT "type" || ' ' || "name" || ': ' || "sql" FROM sqlite_master WHERE "sql" IS NOT NULL AND "name" LIKE '%mine%'`
	writes := []string{`"lease_owner" = 'mine'`}
	if columns {
		query += ` UNION ALL SELECT "id" || ': ' || "mine_column" || "mine_sum" FROM "execution"
			UNION ALL SELECT "mine_note" FROM "execution_events"`
		writes = append(writes, `"rev" = 1000`, `"mine_column" = 'nowhere'`, `"mine_column" = 'no'`)
	}
	rows, err := db.Query(query + ` ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		list = append(list, "")
		if err := rows.Scan(&list[len(list)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, set := range writes {
		_, err := db.Exec(`DROP TRIGGER IF EXISTS "execution_update"; UPDATE "execution" SET ` + set)
		list = append(list, set+": "+errorText(err))
	}
	return list
}

// longer has one more field, which a table gets without being made again.
func longer(s *driver.Schema) *driver.Schema {
	w := version(s, 2, "h2")
	w.Columns = append(slices.Clone(s.Columns), driver.Column{Name: "note", Stored: "note", Kind: driver.KindString, Optional: true})
	const last = "    \"finished_at\" INTEGER,\n"
	w.SQL = map[string]string{"sqlite": strings.Replace(s.SQL["sqlite"], last, last+"    \"note\" TEXT,\n", 1)}
	return w
}

func errorText(err error) string {
	if err == nil {
		return "taken"
	}
	return err.Error()
}

// What stands where a new version needs its own, or over what goes, is named, and
// nothing changes. Where nobody has noted what the generator made, the refusal says so.
func TestMigrateTakesNothingOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, make   string
		edits        []string
		next         func(*driver.Schema) *driver.Schema
		kind, object string
	}{
		{"a column", `ALTER TABLE "execution" ADD COLUMN "note" TEXT`, nil, wider, "column", "note"},
		{"a column with another type", `ALTER TABLE "execution" ADD COLUMN "NOTE" INTEGER DEFAULT 7`, nil, wider, "column", "NOTE"},
		{"a column on a line of its own", "", []string{"    \"finished_at\" INTEGER,\n", "    \"finished_at\" INTEGER,\n    \"note\" TEXT,\n"}, wider, "column", "note"},
		{"a column where one is added", `ALTER TABLE "execution" ADD COLUMN "note" TEXT`, nil, longer, "column", "note"},
		{"an index", `CREATE INDEX "execution_unique_mine" ON "execution" ("lease_owner")`, nil, withIndex, "index", "execution_unique_mine"},
		{"a rule over a column", "", []string{"\n) STRICT", ",\n    CONSTRAINT \"mine\" CHECK (\"finished_at\" > 0)\n) STRICT"}, narrower, "constraint", "mine"},
		{"a column over a column", `ALTER TABLE "execution" ADD COLUMN "mine" INTEGER AS ("finished_at" + 1)`, nil, narrower, "column", "mine"},
		{"a rule behind a column", "", []string{`"finished_at" INTEGER`, `"finished_at" INTEGER CHECK ("rev" > 0)`},
			narrower, "column", "finished_at"},
		{"a column that a hand has changed", "", []string{`"finished_at" INTEGER`, `"finished_at" ANY UNIQUE`}, wider, "column", "finished_at"},
		{"a column that would be lost", `ALTER TABLE "execution" ADD COLUMN "Mine ""own""" TEXT`, nil, wider, "column", `Mine "own"`},
		{"a column of the log that would be lost", `ALTER TABLE "execution_events" ADD COLUMN "mine" TEXT`, nil, otherLog, "column", "mine"},
		{"a rule without a name", "", []string{"\n) STRICT", ",\n    UNIQUE (\"lease_owner\")\n) STRICT"},
			wider, "constraint", `UNIQUE ("lease_owner")`},
		{"an unknown maker", `DELETE FROM "fsm_made"`, nil, wider, "", ""},
		{"an unknown maker, and a column more", `DELETE FROM "fsm_made"`, nil, longer, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, s, migrate := inFile(t)
			if len(c.edits) > 0 {
				byHand(t, path, "execution", c.edits...)
			}
			if _, err := foreign(t, path, settings).Exec(c.make); err != nil {
				t.Fatal(err)
			}
			before := all(t, path)
			err := migrate(c.next(s))
			var other *sqlstore.UserObjectError
			switch {
			case !errors.Is(err, fsm.ErrSchemaMismatch):
				t.Errorf("got %v, want a refusal", err)
			case c.kind == "":
				if !strings.Contains(err.Error(), "fsm_made") {
					t.Errorf("got %v, want a refusal that says what is not noted", err)
				}
			case !errors.As(err, &other) || other.Kind != c.kind || other.Name != c.object:
				t.Errorf("got %v, want a refusal that names the %s %s", err, c.kind, c.object)
			}
			if diff := cmp.Diff(before, all(t, path)); diff != "" {
				t.Errorf("a refused Migrate changed (-before +after):\n%s", diff)
			}
			if c.kind == "" { // the way out that the message names
				if err := errors.Join(migrate(s), migrate(c.next(s))); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// withIndex has one more index.
func withIndex(s *driver.Schema) *driver.Schema {
	w := version(s, 2, "h2")
	w.SQL = map[string]string{"sqlite": strings.Replace(s.SQL["sqlite"], `CREATE INDEX IF NOT EXISTS "execution_state"`,
		`CREATE UNIQUE INDEX IF NOT EXISTS "execution_unique_mine" ON "execution" ("lease_owner", "id");`+"\n"+`CREATE INDEX IF NOT EXISTS "execution_state"`, 1)}
	return w
}

// A foreign key of a user needs a unique index of ours: the version that takes it away is refused,
// where the table stays and where it is made again.
func TestMigrateKeepsKeysOfForeignKeys(t *testing.T) {
	t.Parallel()
	for _, next := range []func(*driver.Schema) *driver.Schema{func(s *driver.Schema) *driver.Schema { return s }, wider} {
		path, s, migrate := inFile(t)
		if err := migrate(withIndex(s)); err != nil {
			t.Fatal(err)
		}
		const mine = `CREATE TABLE "mine" ("a" TEXT, "b" TEXT, FOREIGN KEY ("a", "b") REFERENCES "execution" ("lease_owner", "id") ON DELETE CASCADE);
			INSERT INTO "mine" SELECT "lease_owner", "id" FROM "execution"`
		if _, err := foreign(t, path, settings).Exec(mine); err != nil {
			t.Fatal(err)
		}
		before := all(t, path)
		err := migrate(version(next(s), 3, "h3"))
		var other *sqlstore.UserObjectError
		if !errors.Is(err, fsm.ErrSchemaMismatch) || !errors.As(err, &other) || other.Kind != "table" || other.Name != "mine" {
			t.Errorf("got %v, want a refusal that names the table", err)
		}
		if diff := cmp.Diff(before, all(t, path)); diff != "" {
			t.Errorf("a refused Migrate changed (-before +after):\n%s", diff)
		}
	}
}

// Programs that migrate one file at once all find it migrated: one does it, the others wait.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path, s, _ := inFile(t)
	if _, err := foreign(t, path, settings).Exec(`CREATE INDEX "mine" ON "execution" ("lease_owner")`); err != nil {
		t.Fatal(err)
	}
	var programs sync.WaitGroup
	for range 4 {
		store := open(t, path)
		programs.Go(func() {
			tab, err := store.Table(wider(s))
			if err != nil {
				t.Error(err)
			} else if err := errors.Join(tab.Migrate(t.Context()), tab.Check(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	programs.Wait()
	var mine, rows int
	if err := foreign(t, path, settings).QueryRow(`SELECT (SELECT count(*) FROM sqlite_master WHERE "name" = 'mine'), count(*)
		FROM "execution" WHERE "tries" = 0`).Scan(&mine, &rows); err != nil || mine != 1 || rows != 1 {
		t.Errorf("%d of my indexes and %d records, want one of each: %v", mine, rows, err)
	}
}

// otherLog has a log with one rule less, so its table must be rebuilt.
func otherLog(s *driver.Schema) *driver.Schema {
	w := version(s, 2, "h2")
	w.SQL = map[string]string{"sqlite": strings.Replace(s.SQL["sqlite"], `    CONSTRAINT "n is a count" CHECK ("n" >= 0),`+"\n", "", 1)}
	return w
}
