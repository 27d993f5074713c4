package fsmtest

import (
	"context"
	"database/sql"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// BeginSQL begins transactions in a database, which must be the store's.
func BeginSQL(store driver.Transactional[*sql.Tx], db *sql.DB) Begin {
	return func(ctx context.Context) (Tx, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return Tx{}, err
		}
		return Tx{Joined: fsm.Join(store, tx), Commit: tx.Commit, Rollback: tx.Rollback}, nil
	}
}
