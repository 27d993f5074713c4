package postgres

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// Join names a transaction that the caller has begun with pgx in the store's
// database, on whatever connection, for the generated In:
//
//	tx, err := pool.Begin(ctx)
//	in, err := jobs.In(ctx, postgres.Join(store, tx))
//	out, err := in.Finish(ctx, job, req)
//	if !out.Replayed { ... }
//	err = tx.Commit(ctx)
//
// The caller owns the commit: read fsm.Machine.In first. For a *sql.Tx there is
// fsm.Join. A machine with atomic effects takes a *sql.Tx only.
func Join(store *sqlstore.Store, tx pgx.Tx) fsm.Joined {
	return fsm.Joined{Store: store, Foreign: true, Adopt: func(ctx context.Context, s *driver.Schema) (fsm.Tx, error) {
		return store.AdoptQuerier(ctx, s, querier{tx})
	}}
}

// querier is a pgx.Tx as the store uses it.
type querier struct{ tx pgx.Tx }

func (q querier) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := q.tx.Exec(ctx, text, args...)
	return tag.RowsAffected(), err
}

func (q querier) Query(ctx context.Context, text string, args ...any) (sqlstore.Rows, error) {
	list, err := q.tx.Query(ctx, text, args...)
	return rows{list}, err
}

// Ended asks for the state of the connection: pgx does not tell of the
// transaction itself, and one that is open is never idle.
func (q querier) Ended() bool {
	c := q.tx.Conn()
	return c == nil || c.IsClosed() || c.PgConn().TxStatus() == 'I'
}

// rows are pgx.Rows as the store reads them.
type rows struct{ pgx.Rows }

func (r rows) Close() error {
	r.Rows.Close()
	return r.Rows.Err()
}

// Scan scans as database/sql does: into any, pgx would put types of its own.
func (r rows) Scan(dest ...any) error {
	targets := make([]any, len(dest))
	for i, d := range dest {
		if p, ok := d.(*any); ok {
			d = value{p}
		}
		targets[i] = d
	}
	return r.Rows.Scan(targets...)
}

// value takes a value as a driver of database/sql hands it out.
type value struct{ into *any }

// Scan keeps it; bytes are the connection's own until the next row.
func (v value) Scan(src any) error {
	if b, ok := src.([]byte); ok {
		src = bytes.Clone(b)
	}
	*v.into = src
	return nil
}
