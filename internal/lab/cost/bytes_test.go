package cost_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// A transition of lifecycle, nearly always a heartbeat of a record with a UUID, takes so many
// bytes on disk with its indexes. The records have room for versions of before on PostgreSQL:
// how much of it others hold up differs, so that the log alone counts there.
func TestBytesOnDisk(t *testing.T) {
	t.Parallel()
	const jobs, beats = 40, 100
	work := func(t *testing.T, store fsm.Store) {
		t.Helper()
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		m, err := lifecycle.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now().Add(time.Hour).Truncate(time.Second)
		var all sync.WaitGroup
		for range jobs {
			all.Go(func() {
				calls := 0
				by := func() fsm.Call {
					calls++
					return fsm.Call{RequestID: fmt.Sprint("call-", calls), Actor: "worker-1"}
				}
				out, err := m.Enqueue(t.Context(), "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: driver.NewID()})
				if err == nil {
					out, err = m.ClaimNextOf(t.Context(), out, lifecycle.ClaimNextInput{Lease: begin}, by())
				}
				for i := range beats {
					if err == nil {
						out, err = m.Heartbeat(t.Context(), out, lifecycle.HeartbeatInput{Lease: begin.Add(time.Duration(i+1) * time.Second)}, by())
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	judge := func(t *testing.T, db *sql.DB, most int, size string) {
		t.Helper()
		var events, bytes int
		if err := db.QueryRow(`SELECT (SELECT count(*) FROM "lifecycle_events"), `+size).Scan(&events, &bytes); err != nil {
			t.Fatal(err)
		}
		if events != jobs*(beats+2) {
			t.Fatalf("%d events, want %d", events, jobs*(beats+2))
		}
		t.Logf("%d bytes for each of %d events", bytes/events, events)
		if bytes/events > most {
			t.Errorf("%d bytes for each event, want at most %d", bytes/events, most)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		work(t, store)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		judge(t, db, 360, `(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		store, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		work(t, store)
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var parts string
		if err := db.QueryRow(`SELECT string_agg(relname || ' ' || pg_relation_size(oid), ', ' ORDER BY relname) FROM pg_class
			WHERE relname LIKE 'lifecycle%' AND pg_relation_size(oid) > 0`).Scan(&parts); err != nil {
			t.Fatal(err)
		}
		t.Log(parts)
		judge(t, db, 580, `pg_total_relation_size('lifecycle_events')`)
	})
}
