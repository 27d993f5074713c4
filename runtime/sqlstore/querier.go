package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Rows are what a query returns, at one of them, such as *sql.Rows. Scan must take whatever
// database/sql's takes: pointers to basic types and to any, and sql.Scanner.
type Rows interface {
	Scan(dest ...any) error
}

// Querier runs statements by another way than database/sql, on the store's database, in a transaction
// that its caller has begun.
type Querier interface {
	// Run runs a statement, gives its rows one after the other to each, and returns how many it changed.
	// A nil each has no rows; then, without arguments, the text may hold several statements. The answer is
	// waited for until ctx ends, and no longer than limit, if that is not 0.
	Run(ctx context.Context, limit time.Duration, each func(Rows) error, text string, args ...any) (int64, error)
	// Ended reports whether the transaction was committed or rolled back.
	Ended() bool
}

// AdoptQuerier is Adopt for a transaction of another driver; fsm.Joined takes it.
func (s *Store) AdoptQuerier(ctx context.Context, schema *driver.Schema, q Querier) (driver.Tx, error) {
	x, err := s.adoption(ctx, schema)
	if err != nil {
		return nil, err
	}
	x.foreign, x.q = q, foreignQuerier{q, limit(s.dialect.patience())}
	return s.adopt(x)
}

// adoption begins the adoption of a transaction.
func (s *Store) adoption(ctx context.Context, schema *driver.Schema) (*txn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := newTable(s, schema)
	if err != nil {
		return nil, err
	}
	if err := s.poisoned(schema.Machine); err != nil {
		return nil, err
	}
	lasting := context.WithoutCancel(ctx)
	if now, ok := ctx.(*call.Now); ok && s.dialect.server() { // each call in it ends with its own context
		lasting = now
	}
	return &txn{reader: reader{ctx: lasting, t: t}, mode: mode{strict: true, careful: true, places: true}}, nil
}

// adopt makes sure that a caller's transaction is one in which the store's
// promises hold.
func (s *Store) adopt(x *txn) (driver.Tx, error) {
	x.adopted = true
	if err := s.dialect.settings(x.ctx, x.q, forTransaction, x.t); err != nil {
		return nil, err
	}
	file, err := s.dialect.file(x.ctx, x.q)
	if err != nil {
		return nil, err
	}
	if file != s.file {
		return nil, fmt.Errorf("sqlstore: the transaction is of %s, the store of %s; expected a transaction of the store's database", file, s.file)
	}
	if text := s.dialect.claim(); text != "" {
		if _, err := x.q.exec(x.ctx, text); err != nil {
			return nil, x.t.fault("take the write lock", err)
		}
	}
	return x, nil
}

// foreignQuerier is a caller's Querier as the store uses it.
type foreignQuerier struct {
	q     Querier
	limit limit
}

func (f foreignQuerier) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	n, err := f.q.Run(ctx, time.Duration(f.limit), nil, text, args...)
	return sqldriver.RowsAffected(n), err
}

func (f foreignQuerier) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	_, err := f.q.Run(ctx, time.Duration(f.limit), each, text, args...)
	return err
}

// write runs a statement that writes, and returns how many rows it changed. row
// takes the first column of each row, a text; nil: it has none.
func write(ctx context.Context, q querier, text string, args []any, row func(text string)) (int64, error) {
	if row == nil {
		res, err := q.exec(ctx, text, args...)
		if err != nil {
			return 0, err
		}
		return res.RowsAffected()
	}
	var n int64
	var id string
	into := []any{&id}
	err := q.query(ctx, func(rows Rows) error { // the commit's own error comes from it, too
		err := rows.Scan(into...)
		if err == nil {
			row(id)
			n++
		}
		return err
	}, text, args...)
	return n, err
}
