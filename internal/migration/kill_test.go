package migration_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/spec"
)

// killed holds the step and the file that this process is to migrate, when a test has started it
// to be killed.
const killed = "FSMGEN_MIGRATE_UNTIL_KILLED"

// killing leads databases over three versions, and kills who does it.
type killing struct {
	*testing.T
	dialect  string
	things   []*thing
	versions []*spec.Machine
	place    string
	db       *sql.DB
	took     [3]time.Duration // to a version, when nobody is killed
}

// Each step of a database over three versions is killed at random moments, and taken again until it is done. Whatever
// is killed leaves the version before or the next one, and the users' data in either. On SQLite the process dies, while
// another one has the file open; on PostgreSQL the server ends the session of the script.
func TestMigrateIsKilled(t *testing.T) {
	k := &killing{T: t, things: killedVersions(t)}
	for _, m := range k.things {
		k.versions = append(k.versions, parse(t, "thing.yaml", m.yaml()))
	}
	if asked := os.Getenv(killed); asked != "" {
		step, path, _ := strings.Cut(asked, " ")
		fmt.Println("begin")
		if err := storeMigrates(t, path, described(t, k.versions[len(step)], migration.SQLite, "full")); err != nil {
			t.Fatal(err)
		}
		fmt.Println("done")
		return
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, dialect := range []string{migration.SQLite, migration.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			k := *k
			k.T, k.dialect = t, dialect
			r := rand.New(rand.NewPCG(*firstSeed, 9))
			within := 0
			for i := 0; i <= *evolutions/5 || within == 0 && i <= *evolutions; i++ { // a loaded machine may miss a few
				k.begin(i)
				for step := 1; step < len(k.versions); step++ {
					within += k.step(r, step, i > 0)
				}
			}
			t.Logf("%d were killed before they said that they were done", within)
			if within == 0 {
				t.Error("none was killed within its migration")
			}
		})
	}
}

// begin makes a database of the first version, with the users' objects around it.
func (k *killing) begin(i int) {
	m := k.things[0]
	schema, rows := m.around(k.dialect, 4, false, m)
	for k.dialect == migration.SQLite && strings.Contains(schema, " ADD COLUMN ") { // such a table is not rebuilt
		schema, rows = m.around(k.dialect, 4, false, m)
	}
	script := "BEGIN;" + described(k, k.versions[0], k.dialect, "full").SQL[k.dialect] + m.rows(k.dialect, 300) + "COMMIT;" + schema + "BEGIN;" + rows + "COMMIT"
	if k.dialect == migration.SQLite {
		k.place = filepath.Join(k.TempDir(), fmt.Sprint(i, ".db"))
		k.db = openSQLite(k.T, k.place)
		script = "PRAGMA journal_mode = WAL;" + script
	} else {
		k.place = pgtest.DSN(k.T)
		k.db = opened(k.T, k.place)
		k.db.SetMaxOpenConns(1)
	}
	execute(k.T, k.db, script)
}

func (k *killing) take() state {
	if k.dialect == migration.SQLite {
		return takeSQLite(k, k.db, "full")
	}
	return takePostgres(k, k.db)
}

// step leads the database to a version, and returns how many were killed within.
func (k *killing) step(r *rand.Rand, step int, kills bool) (within int) {
	k.Helper()
	want := k.take()
	for try := 0; ; try++ {
		after := time.Duration(-1)
		if kills && try < 5 {
			after = time.Duration(r.Int64N(int64(k.took[step])))
		}
		done := k.run(step, after)
		got := k.take()
		if diff := gocmp.Diff(want.users, got.users); diff != "" {
			k.Fatalf("to version %d, try %d: the users' data (-before +after):\n%s", step+1, try, diff)
		}
		if diff := gocmp.Diff(want.things, got.things); diff != "" {
			k.Fatalf("to version %d, try %d: the records (-before +after):\n%s", step+1, try, diff)
		}
		if !done {
			within++
		}
		switch became := got.version != want.version; {
		case became:
			k.whole(step)
			return within
		case done || after < 0:
			k.Fatalf("to version %d, try %d: done %t, the database is %s", step+1, try, done, got.version)
		}
	}
}

// run migrates, and is killed after some time; negative: it is not. It reports whether it came to its end.
func (k *killing) run(step int, after time.Duration) (done bool) {
	k.Helper()
	if k.dialect == migration.Postgres {
		return k.runScript(step, after)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestMigrateIsKilled$")
	cmd.Env = append(os.Environ(), killed+"="+strings.Repeat("+", step)+" "+k.place)
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "begin" {
		k.Fatalf("the process says %q", lines.Text())
	}
	began := time.Now()
	if after >= 0 {
		time.Sleep(after)
		_ = cmd.Process.Kill()
	}
	var said strings.Builder
	for lines.Scan() {
		done = done || strings.Contains(lines.Text(), "done")
		said.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil && after < 0 {
		k.Fatalf("%v\n%s", err, &said)
	}
	if after < 0 {
		k.took[step] = time.Since(began)
	}
	return done
}

// runScript runs a script, whose session the server ends after some time.
func (k *killing) runScript(step int, after time.Duration) (done bool) {
	k.Helper()
	text := read(k, script(k.T, k.versions[step-1], k.versions[step]))
	other := opened(k.T, k.place)
	defer other.Close()
	if err := other.Ping(); err != nil {
		k.Fatal(err)
	}
	began, ended := time.Now(), make(chan error, 1)
	go func() { _, err := other.Exec(text); ended <- err }()
	if after >= 0 {
		time.Sleep(after)
		execute(k.T, k.db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	err := <-ended
	if after < 0 {
		if k.took[step] = time.Since(began); err != nil {
			k.Fatal(err)
		}
	}
	return err == nil
}

// whole looks whether the database is that of the version, as the version's program finds it.
func (k *killing) whole(step int) {
	k.Helper()
	s := described(k, k.versions[step], k.dialect, "full")
	if k.dialect == migration.SQLite {
		if problems := rowsOf(k, k.db, "PRAGMA integrity_check"); len(problems) != 1 || problems[0] != "ok" {
			k.Errorf("version %d: %q", step+1, problems)
		}
		if err := storeMigrates(k.T, k.place, s); err != nil {
			k.Error(err)
		}
		return
	}
	text := read(k, script(k.T, k.versions[step-1], k.versions[step]))
	_, behind, _ := strings.Cut(text, "\nCOMMIT;\n")
	execute(k.T, k.db, behind) // it may be killed behind its commit; again it does no harm
	if left := rowsOf(k, k.db, `SELECT conname FROM pg_constraint WHERE NOT convalidated`); len(left) > 0 {
		k.Errorf("version %d: %q are not validated", step+1, left)
	}
	store, err := postgres.Open(k.Context(), k.place, postgres.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		k.Fatal(err)
	}
	defer store.Close()
	before := rowsOf(k, k.db, catalog)
	if err := migrates(k, store, s); err != nil {
		k.Error(err)
	}
	if diff := gocmp.Diff(before, rowsOf(k, k.db, catalog)); diff != "" {
		k.Errorf("version %d: Migrate finds something to do (-before +after):\n%s", step+1, diff)
	}
}

// killedVersions are three versions, for each of which the table of SQLite is rebuilt.
func killedVersions(t *testing.T) []*thing {
	t.Helper()
	one := newThing(rand.New(rand.NewPCG(3, 12)))
	two, three := *one, *one
	two.version, two.states = 2, append([]string{"s9"}, one.states...)
	three.version, three.states = 3, append([]string{"s8"}, two.states...)
	return []*thing{one, &two, &three}
}
