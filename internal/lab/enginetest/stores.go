package enginetest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// shared opens the stores in databases as generated tests do, and once more for the
// transactions of a caller.
var shared = map[string]func(t *testing.T) (fsm.Store, world.Begin){
	"sqlite": func(t *testing.T) (fsm.Store, world.Begin) {
		at := filepath.Join(t.TempDir(), "test.db")
		store, err := sqlite.Open(at, sqlite.WithEnforce("checks"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		db, err := sqlite.OpenDB(at)
		return store, begins(t, store, db, err)
	},
	"postgres": func(t *testing.T) (fsm.Store, world.Begin) {
		at := fsmcases.PostgresSchema(t)
		store, err := postgres.Open(t.Context(), at, postgres.WithEnforce("checks"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		db, err := sql.Open("pgx", at)
		return store, begins(t, store, db, err)
	},
}

// strict are the stores in databases, at the level of enforcement that the specification names.
var strict = []world.Store{
	{Name: "sqlite", Open: func(t *testing.T) fsm.Store {
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "test.db"))
		return closed(t, store, err)
	}},
	{Name: "postgres", Open: func(t *testing.T) fsm.Store {
		store, err := postgres.Open(t.Context(), fsmcases.PostgresSchema(t))
		return closed(t, store, err)
	}},
}

// closed is a store that is closed with the test.
func closed(t *testing.T, store fsm.Store, err error) fsm.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// begins says how a caller begins transactions in the store's database.
func begins(t *testing.T, store driver.Transactional[*sql.Tx], db *sql.DB, err error) world.Begin {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return func(ctx context.Context) (world.Tx, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return world.Tx{}, err
		}
		return world.Tx{Joined: fsm.Join(store, tx), Commit: tx.Commit, Rollback: tx.Rollback}, nil
	}
}
