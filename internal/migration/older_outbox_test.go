package migration_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// posts takes every effect and notes it.
type posts struct {
	mu   sync.Mutex
	keys []string
}

func (p *posts) Post(_ context.Context, j notice.Notice, key string, _ fsm.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, j.ID+" "+key)
	return nil
}

// Effects that wait in a database of an older fsmgen (testdata/older/notice: seven
// notices by the generator of 226093e, two delivered, two tried once) are delivered
// once each after Migrate, under the keys they had, and the steps that follow are
// made. Rows that it wrote for the locks of guards are gone, numbers go on.
func TestOlderOutbox(t *testing.T) {
	t.Parallel()
	const groups = `SELECT "name", "key", "number" FROM "notice_groups" ORDER BY 1, 2`
	older := func(t *testing.T, q *sql.DB, open func() (fsm.Store, error)) {
		kept := rowsOf(t, q, groups)
		if len(kept) != 2 {
			t.Fatalf("the dump has %v", kept)
		}
		execute(t, q, `INSERT INTO "notice_groups" ("name", "key", "number") VALUES ('quiet', '["a"]', 0), ('quiet', '["b","c"]', 0), ('quiet', '9fc4', 0)`)
		store, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		if err := notice.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(kept, "quiet | 9fc4 | 0"), rowsOf(t, q, groups)); diff != "" {
			t.Errorf("the groups (-want +got):\n%s", diff)
		}
		now := time.Date(2026, 11, 20, 10, 10, 0, 0, time.UTC)
		var p posts
		m, err := notice.Open(t.Context(), store, &p, fsm.WithClock(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Core().Startup(t.Context()); err != nil {
			t.Fatal(err)
		}
		for want := range 2 {
			if n, err := m.Deliver(t.Context()); n != 5-5*want || err != nil {
				t.Errorf("round %d: %d delivered, %v", want, n, err)
			}
		}
		slices.Sort(p.keys)
		if diff := cmp.Diff([]string{`notice-1 "b"/1`, `notice-2 "a"/2`, `notice-4 "a"/3`, `notice-5 "b"/3`, `notice-6 "a"/4`}, p.keys); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if n, err := m.Count(t.Context(), notice.StateDelivered); err != nil || n[notice.StateDelivered] != 7 {
			t.Errorf("%v are delivered, want 7: %v", n, err)
		}
		out, err := m.Publish(t.Context(), "next", notice.PublishInput{Topic: "a", Body: fsm.MustJSON("1")}, fsm.Call{RequestID: "next"})
		if err != nil || out.Record.Number != 5 {
			t.Errorf("the next number is %d, want 5: %v", out.Record.Number, err)
		}
		for f, err := range m.Audit(t.Context()) {
			t.Errorf("the audit finds %v, %v", f, err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		db := openSQLite(t, path)
		execute(t, db, "PRAGMA journal_mode = WAL")
		execute(t, db, read(t, "testdata/older/notice.sqlite.sql"))
		older(t, db, func() (fsm.Store, error) { return sqlite.Open(path) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts PostgreSQL")
		}
		dsn := pgtest.DSN(t)
		db := opened(t, dsn)
		execute(t, db, read(t, "testdata/older/notice.postgres.sql"))
		older(t, db, func() (fsm.Store, error) { return postgres.Open(t.Context(), dsn) })
	})
}
