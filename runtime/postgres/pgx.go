package postgres

import (
	"bytes"
	"context"
	"time"

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

func (q querier) Run(ctx context.Context, limit time.Duration, each func(sqlstore.Rows) error, text string, args ...any) (int64, error) {
	if limit > 0 {
		bound, done := context.WithTimeout(ctx, limit)
		defer done()
		ctx = bound
	}
	if each == nil {
		tag, err := q.tx.Exec(ctx, text, args...)
		return tag.RowsAffected(), err
	}
	list, err := q.tx.Query(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	defer list.Close()
	for list.Next() {
		if err := each(rows{list}); err != nil {
			return 0, err
		}
	}
	return list.CommandTag().RowsAffected(), list.Err()
}

// Ended asks for the state of the connection: pgx does not tell of the
// transaction itself, and one that is open is never idle.
func (q querier) Ended() bool { return idleNow(q.tx.Conn()) }

func idleNow(c *pgx.Conn) bool { return c == nil || c.IsClosed() || c.PgConn().TxStatus() == 'I' }

// rows are pgx.Rows as the store reads them.
type rows struct{ pgx.Rows }

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
