package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/runtime/storetest"
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
