package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Rows are what a query returns, such as Rows. Scan must take whatever
// database/sql's takes: pointers to basic types and to any, and sql.Scanner.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// Querier runs statements in a transaction that its caller has begun by another
// way than database/sql, on the store's database.
type Querier interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, text string, args ...any) (int64, error)
	Query(ctx context.Context, text string, args ...any) (Rows, error)
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
	if now, ok := ctx.(*call.Now); ok && s.dialect.writers() != 1 { // each call in it ends with its own context
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
	ctx, done := f.limit.bound(ctx)
	defer done()
	n, err := f.q.Exec(ctx, text, args...)
	return sqldriver.RowsAffected(n), err
}

func (f foreignQuerier) query(ctx context.Context, text string, args ...any) (*rows, error) {
	ctx, done := f.limit.bound(ctx)
	r, err := f.q.Query(ctx, text, args...)
	if err != nil {
		done()
		return nil, err
	}
	return &rows{r, done}, nil
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
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var n int64
	var id string
	into := []any{&id}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
		row(id)
		n++
	}
	if err := rows.Err(); err != nil { // the commit's own error comes here
		return n, err
	}
	return n, rows.Close()
}
