package migration_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// Databases that an older fsmgen made (testdata/older: a dump of each after 12 jobs
// with 100 events, by the generator of 226093e) become those of this one by Migrate,
// without a new version of the specification: all rows and logs are kept, the audit
// finds nothing, a request that was answered then gets its answer, a second Migrate
// has nothing to do, and each job that is not at its end moves on.
func TestOlderDatabases(t *testing.T) {
	t.Parallel()
	const jobs = `SELECT "id", "state", "rev", "dedupe_key", "payload", "owner", "lease", "result", "error", "attempt" FROM "lifecycle" ORDER BY "id"`
	const events = `SELECT "id", "rev", "n", "operation", "from_state", "to_state", "occurred_at", "actor", "request_id", "request_n", "fingerprint", "labels", "inputs", "changes", "image", "checksum", "chain"
		FROM "lifecycle_events" ORDER BY "id", "rev", "n"`
	before := strings.NewReplacer("from_state", "from", "to_state", "to", "occurred_at", "at", "checksum", "sum").Replace(events)
	older := func(t *testing.T, dialect string, q querier, open func() fsm.Store, objects string) {
		rows, log := rowsOf(t, q, jobs), rowsOf(t, q, before)
		if len(rows) != 12 || len(log) < 90 {
			t.Fatalf("the dump holds %d jobs and %d events", len(rows), len(log))
		}
		store := open()
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, rowsOf(t, q, jobs)); diff != "" {
			t.Errorf("%s: the jobs (-before +after):\n%s", dialect, diff)
		}
		if diff := cmp.Diff(log, rowsOf(t, q, events)); diff != "" {
			t.Errorf("%s: the log (-before +after):\n%s", dialect, diff)
		}
		made := rowsOf(t, q, objects)
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, rowsOf(t, q, objects)); diff != "" {
			t.Errorf("%s: a second Migrate changed (-before +after):\n%s", dialect, diff)
		}
		m, err := lifecycle.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		for f, err := range audit.Run(t.Context(), m.Core()) {
			t.Errorf("%s: the audit finds %v, %v", dialect, f, err)
		}
		for i := range 12 {
			out, err := m.Enqueue(t.Context(), fmt.Sprint("job-", i), lifecycle.EnqueueInput{DedupeKey: fsm.Some(fmt.Sprint("key-", i)), Payload: fsm.Some(fsm.MustJSON(fmt.Sprintf(`{"n":%d}`, i)))}, fsm.Call{RequestID: fmt.Sprint("enqueue-", i), Actor: "ann", Labels: map[string]string{"trace": "t"}})
			if err != nil || !out.Replayed || out.Record.Rev != 1 {
				t.Errorf("%s: the request of job %d again: revision %d, replayed %v, %v", dialect, i, out.Record.Rev, out.Replayed, err)
			}
		}
		if n := len(rowsOf(t, q, events)); n != len(log) {
			t.Errorf("%s: %d events, want %d", dialect, n, len(log))
		}
		moved := 0
		unfinished := []lifecycle.State{lifecycle.StateQueued, lifecycle.StateStalled, lifecycle.StateClaimed, lifecycle.StateRunning}
		for job, err := range m.List(t.Context(), unfinished...) {
			if err != nil {
				t.Fatal(err)
			}
			until, next := time.Now().Add(time.Hour), fsm.Call{RequestID: "moves on", Actor: job.Owner.Or("w9")}
			if lease, held := job.Lease.Get(); held && lease.After(until) {
				until = lease
			}
			if _, held := job.Owner.Get(); held {
				_, err = m.Heartbeat(t.Context(), job, lifecycle.HeartbeatInput{Lease: until}, next)
			} else {
				_, err = m.ClaimNextOf(t.Context(), job, lifecycle.ClaimNextInput{Lease: until}, next)
			}
			if moved++; err != nil {
				t.Errorf("%s: %s moves on: %v", dialect, job.ID, err)
			}
		}
		if moved < 3 {
			t.Errorf("%s: %d jobs moved on, want some", dialect, moved)
		}
		for f, err := range audit.Run(t.Context(), m.Core()) {
			t.Errorf("%s: once the jobs moved on the audit finds %v, %v", dialect, f, err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		db := openSQLite(t, path)
		execute(t, db, "PRAGMA journal_mode = WAL")
		execute(t, db, olderDump(t, "sqlite"))
		older(t, "sqlite", db, func() fsm.Store {
			store, err := sqlite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			return store
		}, `SELECT "name", "sql", (SELECT "schema_version" FROM pragma_schema_version) FROM sqlite_master ORDER BY 1`)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		db := opened(t, dsn)
		execute(t, db, olderDump(t, "postgres"))
		older(t, "postgres", db, func() fsm.Store {
			store, err := postgres.Open(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			return store
		}, catalog)
	})
}

// olderDump is a dump with the hash of today's specification: what it is about is an
// older generator, not older guards.
func olderDump(t *testing.T, dialect string) string {
	t.Helper()
	const made = "9aec8726e6e244a86a7a1300d6dff8de9be72ee8c0c41187978cf04c872e3316"
	text := read(t, "testdata/older/lifecycle."+dialect+".sql")
	if strings.Count(text, made) != 1 {
		t.Fatalf("the dump names the hash of its specification %d times, want once", strings.Count(text, made))
	}
	today := parse(t, "lifecycle.yaml", read(t, filepath.Join("..", "..", "specs", "lifecycle.yaml"))).Hash
	return strings.Replace(text, made, today, 1)
}
