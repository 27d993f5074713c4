package migration_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
)

// shell returns a function that runs a script as the head of a migration says. Where
// the shell is missing the test is skipped, or fails where it is required.
func shell(t *testing.T, dialect string) func(place, script string) error {
	t.Helper()
	program, needs, required := "sqlite3", "apt-get install sqlite3", os.Getenv("FSMGEN_REQUIRE_SQLITE3")
	if dialect == migration.Postgres {
		program, needs, required = "psql", "apt-get install postgresql-client", os.Getenv("FSMGEN_REQUIRE_POSTGRES")
	}
	if _, err := exec.LookPath(program); err != nil {
		missing := fmt.Sprintf("there is no %s for this test: install one (%s)", program, needs)
		if required == "1" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return func(place, script string) error {
		cmd := exec.CommandContext(t.Context(), program, "-bail", place)
		cmd.Stdin = strings.NewReader(script)
		if dialect == migration.Postgres {
			file := filepath.Join(t.TempDir(), "script.sql")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				return err
			}
			cmd = exec.CommandContext(t.Context(), program, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, place)
		}
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%s", program, err, &said)
		}
		return nil
	}
}

// What is printed runs where people run it, over rows: the shells of both databases
// make the tables of random machines, fill and migrate them. They end as the driver
// ends on the same rows, and leave the same behind.
func TestPrintedScriptsRunInShells(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{migration.SQLite, migration.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("starts programs")
			}
			s := shells{dialect: dialect, run: shell(t, dialect)}
			draws := 1
			if campaign.On() {
				draws = *evolutions
			}
			for i := range draws {
				if s.pair(t, *firstSeed+17+uint64(i)); t.Failed() { // the first one lacks a document
					return
				}
			}
			if s.judge(t); s.absent == 0 {
				t.Error("no row lacks a document that a rule looks at")
			}
		})
	}
}

type shells struct {
	tally
	dialect string
	run     func(place, script string) error
	places  [2]string // one for the shell, one for the driver
	absent  int       // pairs with a json that a row lacks
}

// place returns an empty database for the shell, or for the driver.
func (s *shells) place(t *testing.T, i int) string {
	t.Helper()
	if s.dialect == migration.SQLite {
		return filepath.Join(t.TempDir(), "x.db")
	}
	if s.places[i] == "" {
		s.places[i] = pgtest.DSN(t)
	}
	return s.places[i]
}

// pair takes one pair of versions through the shell, and through the driver.
func (s *shells) pair(t *testing.T, seed uint64) {
	r, m, _, old, later := drawn(t, seed, &s.tally)
	if old == nil {
		return
	}
	level := []string{"full", "checks", "none"}[r.IntN(3)]
	made := described(t, old, s.dialect, level).SQL[s.dialect]
	rows := m.rows(s.dialect, 4)
	mig, err := migration.New(old, later, s.dialect, level)
	if err != nil {
		s.refused++
		return
	}
	rows = "BEGIN;" + rows + "COMMIT;"
	scripts := []string{made, made, rows, mig.Script} // a schema can run again and again
	for i := range scripts {
		if s.dialect == migration.SQLite {
			scripts[i] = "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;" + scripts[i]
		}
	}
	if s.dialect == migration.Postgres {
		scripts[0] = "SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public;" + made
	}
	var left [2][]string
	var ends [2]error
	for i := range left {
		place := s.place(t, i)
		db := openSQLite(t, place)
		if s.dialect == migration.Postgres {
			db = opened(t, place+"&default_query_exec_mode=exec") // the tables change all the time
		}
		db.SetMaxOpenConns(1)
		for n, script := range scripts {
			for _, f := range m.fields {
				if n == 3 && level != "none" && f.kind == "optional json" && rowsOf(t, db, `SELECT count(*) FROM "thing" WHERE "`+f.name+`" IS NULL`)[0] != "0" {
					s.absent++
				}
			}
			var err error
			if i == 0 {
				err = s.run(place, script)
			} else {
				_, err = db.Exec(script)
			}
			if err != nil && n < len(scripts)-1 {
				t.Fatalf("seed %d, level %s: %v\n%s", seed, level, err, script)
			}
			ends[i] = err
		}
		if ends[i] != nil && i == 1 {
			_, _ = db.Exec("ROLLBACK")
		}
		for _, table := range []string{"thing", "thing_outbox", "fsm_meta"} {
			left[i] = append(left[i], rowsOf(t, db, fmt.Sprintf(`SELECT * FROM "%s" ORDER BY 1`, table))...)
		}
		left[i] = append(left[i], rowsOf(t, db, `SELECT "id", "rev", "n", "operation", "to_state" FROM "thing_events" ORDER BY 1, 2, 3`)...)
		db.Close()
	}
	if (ends[0] == nil) != (ends[1] == nil) {
		t.Errorf("seed %d, level %s: the shell: %v, the driver: %v\n%s\n%s", seed, level, ends[0], ends[1], m.yaml(), mig.Script)
	}
	if d := cmp.Diff(left[0], left[1]); d != "" && len(later.Removed) == 0 {
		t.Errorf("seed %d, level %s: (-shell +driver)\n%s", seed, level, d)
	}
	if ends[0] == nil {
		s.migrated++
	} else {
		s.refused++
	}
}
