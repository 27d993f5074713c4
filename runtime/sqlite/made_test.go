package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
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

// What neither version made stays, however it is written and whatever it is called:
// columns and rules on lines of their own in the text of our table, behind our columns,
// and objects whose names begin as ours do.
func TestMigrateKeepsWhatLooksLikeOurs(t *testing.T) {
	t.Parallel()
	for _, noted := range []bool{true, false} {
		path, s, migrate := inFile(t)
		execute := func(text string) {
			t.Helper()
			if _, err := foreign(t, path, settings).Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		execute(`CREATE TABLE "mine_parent" ("k" TEXT PRIMARY KEY); INSERT INTO "mine_parent" VALUES ('precious');`)
		byHand(t, path, "execution",
			"    \"finished_at\" INTEGER,\n", "    \"finished_at\" INTEGER,\n    \"mine_column\" TEXT DEFAULT 'precious',\n    \"mine_sum\" INTEGER AS (\"attempt\" + 1),\n",
			`"lease_owner" TEXT NOT NULL`, `"lease_owner" TEXT NOT NULL CHECK ("lease_owner" <> 'mine')`,
			"    CONSTRAINT \"state is known\"", "    CONSTRAINT \"rev is mine\" CHECK (\"rev\" < 1000),\n    FOREIGN KEY (\"mine_column\") REFERENCES \"mine_parent\",\n    CONSTRAINT \"state is known\"",
			"\n) STRICT", ",\n    UNIQUE (\"mine_column\", \"id\"),\n    CHECK (\"mine_column\" <> 'no')\n) STRICT")
		byHand(t, path, "execution_events", "    \"actor\" TEXT NOT NULL,\n", "    \"actor\" TEXT NOT NULL,\n    \"mine_note\" TEXT DEFAULT 'precious',\n")
		execute(`CREATE UNIQUE INDEX "mine" ON "execution" ("lease_owner", "id");
			CREATE INDEX "execution_due_mine" ON "execution" ("lease_owner");
			CREATE INDEX "execution_events_mine" ON "execution_events" ("mine_note");
			CREATE TRIGGER "execution_update_mine" BEFORE UPDATE ON "execution" BEGIN SELECT 1; END;
			CREATE VIEW "execution_mine" AS` + "\nSELECT\n" + `    "id" FROM "execution";`)
		if noted {
			execute(`CREATE UNIQUE INDEX "execution_unique_mine" ON "execution" ("lease_owner")`)
		} else {
			execute(`DELETE FROM "fsm_made"`)
		}
		look := func() (list []string) {
			db := foreign(t, path, settings)
			rows, err := db.Query(`SELECT "type" || ' ' || "name" || ': ' || "sql" FROM sqlite_master WHERE "sql" IS NOT NULL AND "name" LIKE '%mine%' UNION ALL
				SELECT "id" || ': ' || "mine_column" || "mine_sum" FROM "execution" UNION ALL SELECT "mine_note" FROM "execution_events" ORDER BY 1`)
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
			for _, set := range []string{`"lease_owner" = 'mine'`, `"rev" = 1000`, `"mine_column" = 'nowhere'`, `"mine_column" = 'no'`} {
				_, err := db.Exec(`DROP TRIGGER IF EXISTS "execution_update"; UPDATE "execution" SET ` + set)
				list = append(list, set+": "+errorText(err))
			}
			var unique int
			if err := db.QueryRow(`SELECT count(*) FROM pragma_index_list('execution') WHERE "origin" = 'u'`).Scan(&unique); err != nil || unique != 1 {
				t.Errorf("%d unique rules, want mine: %v", unique, err)
			}
			return list
		}
		before := look() // it takes a trigger away, which Migrate makes again
		if len(before) < 11 {
			t.Fatalf("others have %q", before)
		}
		for i, next := range []*driver.Schema{s, wider(s), version(narrower(s), 3, "h3"), version(s, 4, "h4")} {
			if err := migrate(next); err != nil {
				t.Fatalf("noted %t, step %d: %v", noted, i, err)
			}
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Fatalf("noted %t, step %d: what others have (-before +after):\n%s", noted, i, diff)
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "taken"
	}
	return err.Error()
}

// What stands where a new version needs its own, or over what goes, is named, and
// nothing changes. So is what the generator may have made, where nobody has noted it.
func TestMigrateTakesNothingOver(t *testing.T) {
	t.Parallel()
	forget := `; DELETE FROM "fsm_made"`
	for _, c := range []struct {
		name, make   string
		edits        []string
		next         func(*driver.Schema) *driver.Schema
		kind, object string
	}{
		{"a column", `ALTER TABLE "execution" ADD COLUMN "note" TEXT`, nil, wider, "column", "note"},
		{"a column with another type", `ALTER TABLE "execution" ADD COLUMN "NOTE" INTEGER DEFAULT 7`, nil, wider, "column", "NOTE"},
		{"a column on a line of its own", "", []string{"    \"finished_at\" INTEGER,\n", "    \"finished_at\" INTEGER,\n    \"note\" TEXT,\n"}, wider, "column", "note"},
		{"a column, nothing noted", `ALTER TABLE "execution" ADD COLUMN "note" TEXT` + forget, nil, wider, "column", "note"},
		{"a column on a line of its own, nothing noted", `SELECT 1` + forget,
			[]string{"    \"finished_at\" INTEGER,\n", "    \"finished_at\" INTEGER,\n    \"note\" TEXT,\n"}, wider, "column", "note"},
		{"an index", `CREATE INDEX "execution_unique_mine" ON "execution" ("lease_owner")`, nil, withIndex, "index", "execution_unique_mine"},
		{"a rule over a column", "", []string{"\n) STRICT", ",\n    CONSTRAINT \"mine\" CHECK (\"finished_at\" > 0)\n) STRICT"}, narrower, "constraint", "mine"},
		{"a column over a column", `ALTER TABLE "execution" ADD COLUMN "mine" INTEGER AS ("finished_at" + 1)`, nil, narrower, "column", "mine"},
		{"a rule behind a column", "", []string{`"finished_at" INTEGER`, `"finished_at" INTEGER CHECK ("rev" > 0)`}, narrower, "constraint", `CHECK ("rev" > 0)`},
		{"a column that a hand has changed", "", []string{`"finished_at" INTEGER`, `"finished_at" ANY UNIQUE`}, wider, "column", "finished_at"},
		{"a column of an unknown maker", `SELECT 1` + forget, nil, narrower, "column", "finished_at"},
		{"a rule of an unknown maker", `SELECT 1` + forget, []string{"\n) STRICT", ",\n    CONSTRAINT \"mine\" CHECK (\"rev\" > 0)\n) STRICT"}, wider, "constraint", "mine"},
		{"a unique index of an unknown maker", `CREATE UNIQUE INDEX "execution_unique_mine" ON "execution" ("lease_owner")` + forget, nil, wider, "index", "execution_unique_mine"},
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
			if !errors.Is(err, fsm.ErrSchemaMismatch) || !errors.As(err, &other) || other.Kind != c.kind || other.Name != c.object {
				t.Errorf("got %v, want a refusal that names the %s %s", err, c.kind, c.object)
			}
			if diff := cmp.Diff(before, all(t, path)); diff != "" {
				t.Errorf("a refused Migrate changed (-before +after):\n%s", diff)
			}
			if strings.HasPrefix(c.name, "a column of an unknown maker") { // the way out that the message names
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
