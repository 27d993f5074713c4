package claims_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/internal/campaign"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// Three processes run the conformance suite at once in one database, each in schemas
// of its own.
func TestConformanceByProcesses(t *testing.T) {
	campaign.Only(t)
	dsn := pgtest.DSN(t)
	var all sync.WaitGroup
	for p := range 3 {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuite$", "-test.count=1", "-test.v", "-test.timeout=10m")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=suite %s p%d", asked, dsn, p))
			out, err := cmd.CombinedOutput()
			passed := strings.Count(string(out), "--- PASS: TestSuite/")
			if err != nil || passed < 100 {
				t.Errorf("process %d: %v, %d tests passed:\n%s", p, err, passed, failures(string(out)))
			}
			t.Logf("process %d: %d tests passed", p, passed)
		})
	}
	all.Wait()
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
	if len(args) != 3 {
		t.Skip("TestConformanceByProcesses runs it in processes of its own")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", args[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var n atomic.Int64
	storetest.Run(t, func(tb testing.TB) fsm.Store {
		schema := fmt.Sprintf("%s_%d", args[2], n.Add(1))
		if _, err := db.ExecContext(tb.Context(), "CREATE SCHEMA "+schema); err != nil {
			tb.Fatal(err)
		}
		store, err := postgres.Open(tb.Context(), args[1]+"&synchronous_commit=off&search_path="+schema,
			postgres.WithMaxSessions(8), postgres.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}, storetest.WithSQL(map[string]string{"postgres": string(text)}))
}
