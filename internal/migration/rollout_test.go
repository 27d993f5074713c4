package migration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/spec"
)

// A roll-out that stops nobody: programs of two versions work on the same
// records while the tables are migrated and afterwards, until the old one is
// retired. Versions that do not go together are refused.
func TestRollOut(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	t.Parallel()
	dir := filepath.Join("testdata", "errand")
	load := func(name string) *spec.Machine { return parse(t, name, read(t, filepath.Join(dir, name))) }
	v1, v2, v3 := load("old.yaml"), load("new.yaml"), load("next.yaml")
	if why := diff.Machines(v1, v2).Beside(); len(why) > 0 {
		t.Fatalf("version 2 does not go beside version 1: %q", why)
	}
	if why := diff.Machines(v2, v3).Beside(); len(why) == 0 {
		t.Fatal("version 3 goes beside version 2")
	}
	list := packages(t, v1, v2, v3)
	files, err := gen.Generate(v2, gen.Options{Beside: []gen.SpecID{{Version: v1.Version, Hash: v1.Hash}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		list[1][f.Name] = string(f.Data)
	}
	program := build(t, "errand", list)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		t.Log(run(t, program, "sqlite", filepath.Join(t.TempDir(), "errands.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		t.Log(run(t, program, "postgres", dsn, script(t, v1, v2), script(t, v2, v3)))
	})
}

// script writes the migration of a PostgreSQL database into a file.
func script(t *testing.T, old, next *spec.Machine) string {
	t.Helper()
	m, err := migration.New(old, next, migration.Postgres, "full")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "migration.sql")
	if err := os.WriteFile(path, []byte(m.Script), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What the header says about programs of the old version.
func TestRollOutIsSaidInTheScript(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "errand")
	load := func(name string) *spec.Machine { return parse(t, name, read(t, filepath.Join(dir, name))) }
	for _, c := range []struct {
		old, next      string
		header, values string
	}{
		{"old.yaml", "new.yaml", "-- Programs of version 1 may keep running, until", "1, 'open');"},
		{"new.yaml", "next.yaml", "-- Stop the program, make a backup", "2, 'retired');"},
	} {
		m, err := migration.New(load(c.old), load(c.next), migration.Postgres, "full")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.header, c.values} {
			if !strings.Contains(m.Script, want) {
				t.Errorf("from %s to %s: the script lacks %q", c.old, c.next, want)
			}
		}
	}
}
