package faults_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/faults/histories"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// quiet keeps the warnings about the throw-away server's settings out of the output.
var quiet = postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

// Every answer that callers get while commits are lost is one that a store
// without faults and with one caller at a time could have given. The test over
// etcd is in internal/lab/e2e.
func TestLinearizable(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("makes thousands of calls; run without -short")
	}
	t.Parallel()
	memory := func(t *testing.T) fsm.Store { return closed(t, memstore.New(), nil) }
	for _, s := range []histories.Subject{
		{Name: "memory", Short: 2000, Long: 100_000, Open: memory},
		{Name: "SQLite (modernc)", Short: 1200, Long: 100_000, Wrong: memory, Open: func(t *testing.T) fsm.Store {
			store, err := sqlite.Open(filepath.Join(t.TempDir(), "x.db"))
			return closed(t, store, err)
		}},
		{Name: "PostgreSQL", Short: 1200, Long: 100_000, Wrong: memory, Open: func(t *testing.T) fsm.Store {
			store, err := postgres.Open(t.Context(), pgtest.DSN(t), quiet)
			return closed(t, store, err)
		}},
	} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Check(t, nil)
		})
	}
}

// So it is where the callers are in three processes.
func TestLinearizableAmongThree(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("makes thousands of calls; run without -short")
	}
	t.Parallel()
	memory := func(t *testing.T) fsm.Store { return closed(t, memstore.New(), nil) }
	for name, place := range map[string]func(*testing.T) string{
		"SQLite (modernc)": func(t *testing.T) string { return filepath.Join(t.TempDir(), "x.db") },
		"PostgreSQL":       func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := place(t)
			s := histories.Subject{Name: name, Short: 1200, Long: 50_000, Wrong: memory, Processes: []string{at, at, at}, Open: func(t *testing.T) fsm.Store {
				store, err := openHistory(t.Context(), name, at)
				return closed(t, store, err)
			}}
			s.Check(t, nil)
		})
	}
}

// openHistory opens the store that callers in several processes share.
func openHistory(ctx context.Context, name, place string) (fsm.Store, error) {
	if name == "PostgreSQL" {
		return postgres.Open(ctx, place, quiet)
	}
	return sqlite.Open(place)
}

// closed closes a store with the test.
func closed(t *testing.T, store fsm.Store, err error) fsm.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}
