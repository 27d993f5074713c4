package migration_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/migration"
)

// killed holds the file that this process is to migrate, when a test has started it
// to be killed.
const killed = "FSMGEN_MIGRATE_UNTIL_KILLED"

// A process that is killed within a migration leaves the old database or the new
// one, and the users' data in either, while another process has the file open.
func TestMigrateIsKilled(t *testing.T) {
	old, next := killedVersions(t)
	if path := os.Getenv(killed); path != "" {
		fmt.Println("begin")
		if err := storeMigrates(t, path, described(t, parse(t, "new.yaml", next.yaml()), migration.SQLite, "full")); err != nil {
			t.Fatal(err)
		}
		fmt.Println("done")
		return
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	r := rand.New(rand.NewPCG(*firstSeed, 9))
	took := 0 * time.Second
	within, before, after := 0, 0, 0
	for i := range 1 + *evolutions/5 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i, ".db"))
		db := openSQLite(t, path)
		schema, rows := old.around(migration.SQLite, 4, false, old)
		execute(t, db, "PRAGMA journal_mode = WAL; BEGIN;"+described(t, parse(t, "old.yaml", old.yaml()), migration.SQLite, "full").SQL[migration.SQLite]+
			old.rows(migration.SQLite, 300)+schema+rows+"COMMIT")
		want := takeSQLite(t, db, "full")
		cmd := exec.Command(os.Args[0], "-test.run", "^TestMigrateIsKilled$")
		cmd.Env = append(os.Environ(), killed+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "begin" {
			t.Fatalf("the process says %q", lines.Text())
		}
		began := time.Now()
		if i > 0 { // the first one shows how long it takes
			time.Sleep(time.Duration(r.Int64N(int64(took))))
			_ = cmd.Process.Kill()
		}
		done := false
		for lines.Scan() {
			done = done || strings.Contains(lines.Text(), "done")
		}
		_ = cmd.Wait()
		if i == 0 {
			took = time.Since(began)
		}
		got := takeSQLite(t, db, "full")
		if diff := gocmp.Diff(want.users, got.users); diff != "" {
			t.Errorf("kill %d: the users' data (-before +after):\n%s", i, diff)
		}
		if diff := gocmp.Diff(want.things, got.things); diff != "" {
			t.Errorf("kill %d: the records (-before +after):\n%s", i, diff)
		}
		switch {
		case !done && i > 0:
			within++
		case i == 0 && (!done || got.version == want.version):
			t.Fatalf("the migration that nobody killed: done %v, the database is %s", done, got.version)
		}
		if got.version == want.version {
			before++
		} else {
			after++
		}
		if problems := rowsOf(t, db, "PRAGMA integrity_check"); len(problems) != 1 || problems[0] != "ok" {
			t.Errorf("kill %d: %q", i, problems)
		}
	}
	t.Logf("%d processes killed before they said that they were done; %d databases are the old ones, %d the new ones", within, before, after)
	if within == 0 {
		t.Error("no process was killed within its migration")
	}
}

// killedVersions are two versions between which the table is rebuilt.
func killedVersions(t *testing.T) (old, next *thing) {
	t.Helper()
	old = newThing(rand.New(rand.NewPCG(3, 12)))
	n := *old
	n.version, n.states = 2, append([]string{"s9"}, old.states...)
	return old, &n
}
