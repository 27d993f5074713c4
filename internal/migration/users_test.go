package migration_test

import (
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/evolve"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/spec"
)

var (
	evolutions = flag.Int("evolutions", 20, "how many random evolutions TestUsersData makes in each database")
	firstSeed  = flag.Uint64("seed", 1, "of TestUsersData")
)

// tally counts what became of the evolutions.
type tally struct{ migrated, refused, unsound int }

func (t *tally) String() string {
	return fmt.Sprintf("%d migrated, %d refused with nothing changed, %d specifications were not sound", t.migrated, t.refused, t.unsound)
}

// In random schemas of users around a random machine that changes at random, every
// row, object and foreign key of the users is after a migration what it was, or
// nothing at all has changed. Records and logs are kept.
func TestUsersData(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		var n tally
		for i := range *evolutions {
			evolveSQLite(t, *firstSeed+uint64(i), &n)
			if t.Failed() {
				break
			}
		}
		n.judge(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		var n tally
		db := opened(t, pgtest.DSN(t)+"&default_query_exec_mode=exec") // the tables change all the time
		db.SetMaxOpenConns(1)
		for i := range (*evolutions + 1) / 2 {
			evolvePostgres(t, db, *firstSeed+uint64(i), &n)
			if t.Failed() {
				break
			}
		}
		n.judge(t)
	})
}

// judge logs the figures, and fails where hardly anything was tried.
func (t *tally) judge(tb testing.TB) {
	tb.Helper()
	tb.Log(t)
	if all := t.migrated + t.refused + t.unsound; t.migrated*3 < all {
		tb.Errorf("%v: at least a third of them should have been migrated", t)
	}
}

// drawn draws a machine, its next versions, and what is around it.
func drawn(t testing.TB, seed uint64, n *tally) (r *rand.Rand, m, next *thing, old, later *spec.Machine) {
	r = rand.New(rand.NewPCG(seed, 12))
	m = newThing(r)
	next = m.evolve()
	old, found := spec.Parse("old.yaml", []byte(m.yaml()))
	if found.HasErrors() {
		t.Fatalf("seed %d: %v\n%s", seed, found, m.yaml())
	}
	later, found = spec.Parse("new.yaml", []byte(next.yaml()))
	if found.HasErrors() {
		n.unsound++
		return r, m, next, nil, nil
	}
	return r, m, next, old, later
}

func evolveSQLite(t *testing.T, seed uint64, n *tally) {
	r, m, next, old, later := drawn(t, seed, n)
	if old == nil {
		return
	}
	level := []string{"full", "checks", "none"}[r.IntN(3)]
	keys, recursive := r.IntN(2), r.IntN(2)
	path := filepath.Join(t.TempDir(), fmt.Sprint(seed, ".db"))
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=foreign_keys(%d)&_pragma=recursive_triggers(%d)&_pragma=journal_mode(WAL)", path, keys, recursive))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	schema, rows := m.around(migration.SQLite, 4, false, next)
	execute(t, db, described(t, old, migration.SQLite, level).SQL[migration.SQLite])
	m.ownLines(t, db)
	script := m.rows(migration.SQLite, 4) + schema + rows
	if _, err := db.Exec(script); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, script)
	}
	for range 2 { // the next version, and the one after it
		before := takeSQLite(t, db, level)
		by, err := hopSQLite(t, r, db, path, level, old, later)
		execute(t, db, fmt.Sprint("PRAGMA foreign_keys = ", keys)) // the script leaves them on, as stores need them
		what := fmt.Sprintf("seed %d, %s from version %d, level %s, foreign_keys %d", seed, by, old.Version, level, keys)
		compare(t, what, before, takeSQLite(t, db, level), err, n, m, next, schema)
		if err != nil || t.Failed() {
			return
		}
		noted(t, what, db, later, level)
		m, old = next, later
		next = m.evolve()
		var found spec.Diagnostics
		if later, found = spec.Parse("new.yaml", []byte(next.yaml())); found.HasErrors() {
			return
		}
	}
}

// hopSQLite leads a file to the next version, in one of three ways.
func hopSQLite(t *testing.T, r *rand.Rand, db *sql.DB, path, level string, old, later *spec.Machine) (by string, err error) {
	t.Helper()
	by = []string{"Migrate", "the script", "the script that knows the database"}[r.IntN(3)]
	if by == "Migrate" {
		return by, storeMigrates(t, path, described(t, later, migration.SQLite, level))
	}
	var others []migration.Object
	if by != "the script" {
		for _, o := range rowsOf(t, db, `SELECT "type", "name", "sql" FROM sqlite_master
				WHERE "tbl_name" = 'thing' AND "type" IN ('index', 'trigger') AND "name" LIKE '%own%'`) {
			part := strings.SplitN(o, " | ", 3)
			others = append(others, migration.Object{Kind: part[0], Name: part[1], SQL: part[2]})
		}
	}
	mig, err := migration.New(old, later, migration.SQLite, level, others...)
	if err != nil {
		return by, err
	}
	if _, err = db.Exec(mig.Script); err != nil {
		_, _ = db.Exec("ROLLBACK") // what a shell does when it ends
	}
	return by, err
}

// noted holds what the file says that the generator made to the schema of the version.
func noted(t *testing.T, what string, db *sql.DB, m *spec.Machine, level string) {
	t.Helper()
	texts := rowsOf(t, db, fmt.Sprintf(`SELECT "schema" FROM "fsm_made" WHERE "machine" = '%s' AND "hash" = '%s'`, m.Name, m.Hash))
	if len(texts) != 1 {
		t.Errorf("%s: %d notes of the version", what, len(texts))
		return
	}
	note, err := evolve.Parse(texts[0])
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	parts := evolve.Sections(described(t, m, migration.SQLite, level).SQL[migration.SQLite])
	want, err := evolve.Parse(parts["tables"] + parts["checks"] + parts["full"])
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !note.Same(want) {
		t.Errorf("%s: the file notes\n%s", what, texts[0])
	}
}

func storeMigrates(t *testing.T, path string, s *driver.Schema) error {
	store, err := sqlite.Open(path, sqlite.WithEnforce(cmp.Or(s.Enforce, "full")))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	return migrates(t, store, s)
}

func evolvePostgres(t *testing.T, db *sql.DB, seed uint64, n *tally) {
	r, m, next, old, later := drawn(t, seed, n)
	if old == nil {
		return
	}
	level := []string{"full", "checks", "none"}[r.IntN(3)]
	moves := len(next.gone) > 0
	schema, rows := m.around(migration.Postgres, 4, moves, next)
	script := "DROP SCHEMA public CASCADE; CREATE SCHEMA public;" + described(t, old, migration.Postgres, level).SQL[migration.Postgres] +
		"BEGIN;" + m.rows(migration.Postgres, 4) + "COMMIT;" + schema + "BEGIN;" + rows + "COMMIT;"
	if _, err := db.Exec(script); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, script)
	}
	for range 2 { // the next version, and the one after it
		before := takePostgres(t, db)
		mig, err := migration.New(old, later, migration.Postgres, level)
		if err == nil {
			if _, err = db.Exec(mig.Script); err != nil {
				_, _ = db.Exec("ROLLBACK")
			}
		}
		what := fmt.Sprintf("seed %d from version %d, level %s", seed, old.Version, level)
		compare(t, what, before, takePostgres(t, db), err, n, m, next, schema)
		if err != nil || t.Failed() {
			return
		}
		m, old = next, later
		next = m.evolve()
		var found spec.Diagnostics
		later, found = spec.Parse("new.yaml", []byte(next.yaml()))
		if found.HasErrors() || len(next.gone) > 0 && !moves {
			return
		}
	}
}

// state is what is in a database.
type state struct {
	users   []string // objects, rows, and what becomes of the rows when things go
	things  []string // records: id and what the users' column holds
	version string
}

func compare(t *testing.T, what string, before, after state, err error, n *tally, m, next *thing, schema string) {
	t.Helper()
	failed := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\n%s\n%s\n%s", what, fmt.Sprintf(format, args...), m.yaml(), next.yaml(), schema)
	}
	if diff := gocmp.Diff(before.users, after.users); diff != "" {
		failed("the users' data (-before +after), error %v:\n%s", err, diff)
	}
	if diff := gocmp.Diff(before.things, after.things); diff != "" {
		failed("the records (-before +after), error %v:\n%s", err, diff)
	}
	if err == nil && m.clash != "" {
		failed("%q is the users', and the new version has taken it", m.clash)
	}
	switch changed := before.version != after.version; {
	case err == nil && changed:
		n.migrated++
		for _, f := range next.fields { // no log of theirs holds any field
			i := slices.IndexFunc(m.fields, func(o thingField) bool { return o.name == cmp.Or(f.was, f.name) || o.was != "" && o.was == f.was })
			if i >= 0 && m.fields[i].def != "" && m.fields[i].def != f.def {
				failed("the default of %s became %q, and the rows keep %q", f.name, f.def, m.fields[i].def)
			}
		}
	case err == nil:
		failed("no error, and the database is %s", after.version)
	case changed:
		failed("%v, and the database went from %s to %s", err, before.version, after.version)
	default:
		n.refused++
		if testing.Verbose() {
			t.Logf("%s: %.300v", what, err)
		}
		var refusal *fsm.Refusal
		if errors.As(err, &refusal) && !errors.Is(err, fsm.ErrSchemaMismatch) {
			failed("the refusal is %v", err)
		}
	}
}

type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

func takeSQLite(t testing.TB, db *sql.DB, level string) state {
	t.Helper()
	s := state{version: fmt.Sprint(rowsOf(t, db, `SELECT "version", "hash" FROM "fsm_meta"`))}
	s.users = rowsOf(t, db, `SELECT "type", "name", "tbl_name", "sql" FROM sqlite_master WHERE "name" LIKE '%own%' ORDER BY 1, 2`)
	tables := rowsOf(t, db, `SELECT "name" FROM sqlite_master WHERE "type" = 'table' AND "name" LIKE '%own%' ORDER BY 1`)
	dump := func(q querier) (list []string) {
		for _, name := range tables {
			for _, row := range rowsOf(t, q, "SELECT * FROM "+name+" ORDER BY 1") {
				list = append(list, name+": "+row)
			}
		}
		return list
	}
	s.users = append(s.users, dump(db)...)
	s.things = thingsOf(t, db, rowsOf(t, db, `SELECT "name" FROM pragma_table_info('thing')`))
	for _, id := range []string{"t1", "t0"} {
		statements := []string{`DROP TRIGGER IF EXISTS "thing_delete"`, `DELETE FROM "thing" WHERE "id" = '` + id + `'`}
		s.users = append(s.users, strings.Join(attempt(t, db, statements, func(q querier) []string {
			return append(dump(q), rowsOf(t, q, "SELECT * FROM pragma_foreign_key_check WHERE \"table\" LIKE '%own%' ORDER BY 1, 2, 4")...)
		}), "\n"))
	}
	s.users = append(s.users, rowsOf(t, db, `SELECT "table", "from", "to", "on_delete" FROM pragma_foreign_key_list('thing')`)...)
	s.users = append(s.users, rowsOf(t, db, `SELECT "sql" LIKE '%CHECK ("rev" < 1000000)%' FROM sqlite_master WHERE "name" = 'thing'`)...)
	s.users = append(s.users, attempt(t, db, []string{`DROP TRIGGER IF EXISTS "thing_update"`, `UPDATE "thing" SET "own_line" = 'x'`}, dump)...)
	s.users = append(s.users, fmt.Sprint("triggers and views: ", rowsOf(t, db, `SELECT count(*) FROM sqlite_master WHERE "type" IN ('trigger', 'view') AND "name" LIKE '%own%'`)))
	return s
}

func thingsOf(t testing.TB, db *sql.DB, columns []string) (list []string) {
	own := "''"
	for _, c := range []string{"own_column", "own_line"} {
		if slices.Contains(columns, c) {
			own += " || " + c
		}
	}
	list = rowsOf(t, db, `SELECT "id", "key", `+own+` FROM "thing" ORDER BY 1`)
	return append(list, rowsOf(t, db, `SELECT "id", "rev", "operation", "occurred_at", "actor", "checksum" FROM "thing_events" WHERE "operation" <> 'migrate' ORDER BY 1, 2`)...)
}

// attempt runs statements in a transaction that is taken back, and returns what is
// there in between, or the error.
func attempt(t testing.TB, db *sql.DB, statements []string, look func(querier) []string) (list []string) {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, s := range statements {
		if _, err := tx.Exec(s); err != nil {
			return []string{regexp.MustCompile(`\d{4,}`).ReplaceAllString(err.Error(), "N")}
		}
	}
	return look(tx)
}

func takePostgres(t testing.TB, db *sql.DB) state {
	t.Helper()
	s := state{version: fmt.Sprint(rowsOf(t, db, `SELECT "version", "hash" FROM "fsm_meta"`))}
	for _, query := range []string{
		`SELECT conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid::regclass::text LIKE '%own%' ORDER BY 1, 2`,
		`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE '%own%' ORDER BY 1`,
		`SELECT tgrelid::regclass, tgname, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname LIKE '%own%' ORDER BY 1, 2`,
		`SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' AND viewname LIKE '%own%' ORDER BY 1`,
	} {
		s.users = append(s.users, rowsOf(t, db, query)...)
	}
	tables := rowsOf(t, db, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE '%own%' ORDER BY 1`)
	dump := func(q querier) (list []string) {
		for _, name := range tables {
			for _, row := range rowsOf(t, q, "SELECT * FROM "+name+" ORDER BY 1") {
				list = append(list, name+": "+row)
			}
		}
		return list
	}
	s.users = append(s.users, dump(db)...)
	s.things = thingsOf(t, db, rowsOf(t, db, `SELECT attname FROM pg_attribute WHERE attrelid = 'thing'::regclass AND NOT attisdropped`))
	for _, id := range []string{"t1", "t0"} {
		statements := []string{`ALTER TABLE "thing" DISABLE TRIGGER USER`, `DELETE FROM "thing" WHERE "id" = '` + id + `'`, "SET CONSTRAINTS ALL IMMEDIATE"}
		s.users = append(s.users, strings.Join(attempt(t, db, statements, dump), "\n"))
	}
	return s
}
