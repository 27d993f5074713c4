package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// The caller begins its transactions on the store's own database, since SQLite
// has one writer.
func TestJoined(t *testing.T) {
	t.Parallel()
	type opened struct {
		*sqlstore.Store
		db *sql.DB
	}
	storetest.RunJoined(t, func(tb testing.TB) fsm.Store {
		db, err := sql.Open("sqlite", callersDSN(filepath.Join(tb.TempDir(), "x.db")))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { db.Close() })
		store, err := sqlstore.New(db, sqlstore.SQLite())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return opened{store, db}
	}, func(ctx context.Context, store fsm.Store) (storetest.CallersTx, error) {
		s := store.(opened)
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return storetest.CallersTx{}, err
		}
		return storetest.CallersTx{Joined: fsm.Join[*sql.Tx](s, tx), Commit: tx.Commit, Rollback: tx.Rollback,
			Exec: func(text string) error { _, err := tx.Exec(text); return err }}, nil
	}, storetest.WithSQL(generated(t, "parcel")))
}

func callersDSN(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
		"&_pragma=recursive_triggers(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_txlock=immediate"
}

// A trigger of the user's refuses the row when its event is written already: nothing of
// the call stays, and the transaction goes on.
func TestJoinedCallIsTakenBack(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", callersDSN(filepath.Join(t.TempDir(), "x.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := m.Enqueue(t.Context(), id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`CREATE TRIGGER mine BEFORE UPDATE ON lifecycle WHEN NEW.id = 'a' BEGIN SELECT RAISE(ABORT, 'not today'); END`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.In(t.Context(), fsm.Join(store, tx))
	if err != nil {
		t.Fatal(err)
	}
	claim := func(id string) error {
		_, err := in.ClaimNextOf(t.Context(), fsm.Ref{ID: id, Rev: 1}, lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Hour)}, fsm.Call{RequestID: "claim", Actor: "w"})
		return err
	}
	if err := claim("a"); err == nil {
		t.Fatal("the trigger let it pass")
	}
	if err := claim("b"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int64{"a": 1, "b": 2} {
		if r, err := m.Record(t.Context(), id); err != nil || r.Rev != want {
			t.Errorf("%s is at revision %d, %v; want %d", id, r.Rev, err, want)
		}
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}
