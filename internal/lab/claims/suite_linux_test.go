package claims_test

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// Three processes run the conformance suite at once. On PostgreSQL it is in one database, each
// in schemas of its own. Over SQLite each has files of its own, and the files of the n-th tests of
// all processes have one lock: they write in turn.
func TestConformanceByProcesses(t *testing.T) {
	campaign.Only(t)
	for _, database := range []string{"postgres", "sqlite"} {
		t.Run(database, func(t *testing.T) {
			place := t.TempDir()
			if database == "postgres" {
				place = pgtest.DSN(t)
			}
			var all sync.WaitGroup
			for p := range 3 {
				all.Go(func() {
					cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuite$", "-test.count=1", "-test.v", "-test.timeout=10m")
					cmd.Env = append(os.Environ(), fmt.Sprintf("%s=suite %s %s p%d", asked, database, place, p))
					out, err := cmd.CombinedOutput()
					passed := strings.Count(string(out), "--- PASS: TestSuite/")
					if err != nil || passed < 100 {
						t.Errorf("process %d: %v, %d tests passed:\n%s", p, err, passed, failures(string(out)))
					}
					t.Logf("process %d: %d tests passed", p, passed)
				})
			}
			all.Wait()
			if database == "sqlite" {
				sharedLocks(t, place)
			}
		})
	}
}

// sharedLocks demands that each lock was that of a file of each process.
func sharedLocks(t *testing.T, dir string) {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(dir, "[0-9]*.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range locks {
		mine, err := os.Stat(lock)
		if err != nil {
			t.Fatal(err)
		}
		for p := range 3 {
			theirs, err := os.Stat(filepath.Join(dir, fmt.Sprintf("p%d_%s", p, strings.Replace(filepath.Base(lock), ".lock", ".db.lock", 1))))
			if err != nil || !os.SameFile(mine, theirs) {
				t.Errorf("%s is not the lock of process %d: %v", lock, p, err)
			}
		}
	}
	if len(locks) < 100 {
		t.Errorf("%d locks", len(locks))
	}
}

// failures leaves out what passed.
func failures(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "PASS") && !strings.HasPrefix(line, "===") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestSuite is one of the processes of TestConformanceByProcesses.
func TestSuite(t *testing.T) {
	args := strings.Fields(os.Getenv(asked))
	if len(args) != 4 {
		t.Skip("TestConformanceByProcesses runs it in processes of its own")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "gen", "testdata", "schema", "parcel."+args[1]+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	open := inFiles(args[2], args[3])
	if args[1] == "postgres" {
		open = inSchemas(t, args[2], args[3])
	}
	storetest.Run(t, open, storetest.WithSQL(map[string]string{args[1]: string(text)}))
}

func inSchemas(t *testing.T, dsn, process string) func(testing.TB) fsm.Store {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var n atomic.Int64
	return func(tb testing.TB) fsm.Store {
		schema := fmt.Sprintf("%s_%d", process, n.Add(1))
		if _, err := db.ExecContext(tb.Context(), "CREATE SCHEMA "+schema); err != nil {
			tb.Fatal(err)
		}
		store, err := postgres.Open(tb.Context(), dsn+"&synchronous_commit=off&search_path="+schema,
			postgres.WithMaxSessions(8), postgres.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}
}

func inFiles(dir, process string) func(testing.TB) fsm.Store {
	var n atomic.Int64
	return func(tb testing.TB) fsm.Store {
		i := n.Add(1)
		lock, path := filepath.Join(dir, fmt.Sprintf("%d.lock", i)), filepath.Join(dir, fmt.Sprintf("%s_%d.db", process, i))
		file, err := os.OpenFile(lock, os.O_CREATE, 0o600)
		if err == nil {
			err = errors.Join(file.Close(), os.Link(lock, path+".lock"))
		}
		if err != nil {
			tb.Fatal(err)
		}
		store, err := sqlite.Open(path)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}
}
