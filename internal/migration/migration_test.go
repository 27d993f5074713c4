package migration_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens instead of comparing with them")

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parse(t testing.TB, name, src string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse(name, []byte(src))
	if found.HasErrors() {
		t.Fatal(found)
	}
	return m
}

// versions returns the two versions of a folder of testdata.
func versions(t testing.TB, name string) (old, next *spec.Machine) {
	t.Helper()
	dir := filepath.Join("testdata", name)
	return parse(t, "old.yaml", read(t, filepath.Join(dir, "old.yaml"))), parse(t, "new.yaml", read(t, filepath.Join(dir, "new.yaml")))
}

func generate(t testing.TB, m *spec.Machine, enforce string) map[string]string {
	t.Helper()
	files, err := gen.Generate(m, gen.Options{Enforce: enforce})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = string(f.Data)
	}
	return all
}

func openSQLite(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t testing.TB, db *sql.DB, script string) {
	t.Helper()
	if _, err := db.Exec(script); err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
}

// rowsOf returns the rows of a query, their columns divided by bars.
func rowsOf(t testing.TB, db querier, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = v.String
		}
		list = append(list, strings.Join(words, " | "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// sqliteObjects is what a database is made of; rebuilt tables are written with
// other white space.
func sqliteObjects(t testing.TB, db *sql.DB) []string {
	list := rowsOf(t, db, `SELECT "type", "name", "sql" FROM sqlite_master WHERE "sql" IS NOT NULL ORDER BY 1, 2`)
	return generatedOnly(append(list, rowsOf(t, db, `SELECT "version", "hash", "enforce" FROM "fsm_meta"`)...))
}

// generatedOnly leaves out the table that only a migration makes.
func generatedOnly(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return strings.Contains(s, "fsm_versions") })
}

// The life of a program, over both databases: generated code of the old version
// fills one, that of the new version is refused, the printed SQL migrates it, and
// generated code of the new version finds nothing wrong and goes on. Both databases
// hold the same then, word for word.
func TestTicketsLiveOn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own and starts PostgreSQL")
	}
	t.Parallel()
	old, next := versions(t, "ticket")
	program := build(t, "ticket", packages(t, old, next))
	file := filepath.Join(t.TempDir(), "tickets.db")
	dumps := map[string]string{}
	for _, c := range []struct{ dialect, place, order, early string }{
		{migration.SQLite, file, `"seq"`, "the rows of version 1"},
		{migration.Postgres, pgtest.DSN(t), `"xid", "id", "rev", "n"`, "fsmgen diff --sql postgres OLD NEW"},
	} {
		t.Run(c.dialect, func(t *testing.T) {
			dumps[c.dialect] = liveOn(t, program, old, next, c.dialect, c.place, c.order, c.early)
		})
	}
	if n := strings.Count(dumps[migration.SQLite], "\n"); n < 60*3 {
		t.Errorf("60 records and their logs are %d lines", n)
	}
	if d := cmp.Diff(strings.Split(dumps[migration.SQLite], "\n"), strings.Split(dumps[migration.Postgres], "\n")); d != "" {
		t.Errorf("the migrated databases differ (-SQLite +PostgreSQL):\n%s", d)
	}
}

func liveOn(t *testing.T, program string, old, next *spec.Machine, dialect, place, order, early string) (dump string) {
	if got := run(t, program, "fill", place); got != "15 15 15 15\n" {
		t.Fatalf("filled %q", got)
	}
	driver := map[string]string{migration.SQLite: "sqlite", migration.Postgres: "pgx"}[dialect]
	db, err := sql.Open(driver, place)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	log := `SELECT * FROM "ticket_events" ORDER BY ` + order
	objects := map[string]func(testing.TB, *sql.DB) []string{migration.SQLite: sqliteObjects, migration.Postgres: postgresObjects}[dialect]
	before, made := rowsOf(t, db, log), objects(t, db)
	if got := run(t, program, "early", place); !strings.Contains(got, early) {
		t.Errorf("the new version on the old database said %s, want a word of %q", got, early)
	}
	if d := cmp.Diff([][]string{before, made}, [][]string{rowsOf(t, db, log), objects(t, db)}); d != "" {
		t.Errorf("the refused program changed the database (-before +after):\n%s", d)
	}

	m, err := migration.New(old, next, dialect, "full")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range m.Queries {
		if rows := rowsOf(t, db, q.SQL); len(rows) > 0 {
			t.Errorf("%s: %q", q.Rule, rows)
		}
	}
	execute(t, db, m.Script)
	after := rowsOf(t, db, log)
	if d := cmp.Diff(before, after[:len(before)]); d != "" {
		t.Errorf("the log changed (-before +after):\n%s", d)
	}
	if n := len(after) - len(before); n != 15 {
		t.Errorf("%d events were added, want 15", n)
	}
	if _, err := db.Exec(m.Script); err == nil || !strings.Contains(err.Error(), "this is not a database of version 1") {
		t.Errorf("the second run: %v", err)
	}
	if dialect == migration.Postgres {
		execute(t, db, "ROLLBACK")
		if left := rowsOf(t, db, `SELECT conname FROM pg_constraint WHERE NOT convalidated`); len(left) > 0 {
			t.Errorf("not validated: %q", left)
		}
	}
	db.Close()
	dump = run(t, program, "dump", place)
	if got := run(t, program, "audit", place); got != "30 15 15\n" {
		t.Errorf("audited %q", got)
	}
	return dump
}

// packages generates a package for each version.
func packages(t *testing.T, versions ...*spec.Machine) []map[string]string {
	t.Helper()
	var list []map[string]string
	for _, m := range versions {
		list = append(list, generate(t, m, "full"))
	}
	return list
}

// build makes the program of a folder of testdata with generated packages, which
// it imports as v1, v2 and so on.
func build(t *testing.T, name string, packages []map[string]string) string {
	t.Helper()
	module := outside.New(t, "example.com/desk")
	for i, files := range packages {
		for file, text := range files {
			if !strings.HasSuffix(file, "_test.go") {
				module.Write(filepath.Join(fmt.Sprint("v", i+1), name, file), []byte(text))
			}
		}
	}
	module.Write("main.go", []byte(read(t, filepath.Join("testdata", name, "program.go"))))
	program := filepath.Join(module.Dir, "program")
	module.Run("go", append(append([]string{"build"}, outside.Fast...), "-o", program, ".")...)
	return program
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}
