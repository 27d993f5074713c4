package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"time"
)

// WithNative makes the sessions run their statements by the driver itself, which database/sql has no way
// around to do: of returns what runs them on a connection of the driver, or nil. Connections and transactions
// stay those of database/sql, so an effect or a caller has a *sql.Tx in which the store's statements run too.
func WithNative(of func(conn any) Querier) Option { return func(o *options) { o.native = of } }

// byDriver runs a statement by the driver itself, while database/sql leaves the connection alone. Inside
// a transaction it refuses to when that has ended.
func (s *session) byDriver(ctx context.Context, inside bool, each func(Rows) error, text string, args []any) (n int64, err error) {
	var panicked any
	gone := s.conn.Raw(func(any) error {
		defer func() { panicked = recover() }() // Raw would close the connection, and wait for its transaction
		if inside && s.native.Ended() {
			err = sql.ErrTxDone
		} else {
			n, err = s.native.Run(ctx, time.Duration(s.limit), each, text, args...)
		}
		return nil // an error would close it, too
	})
	if panicked != nil {
		panic(panicked)
	}
	if gone != nil {
		return 0, gone
	}
	return n, err
}

// nativeTx runs statements in the transaction that a session is in.
type nativeTx struct{ s *session }

func (q nativeTx) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	n, err := q.s.byDriver(ctx, true, nil, text, args)
	return sqldriver.RowsAffected(n), err
}

func (q nativeTx) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	_, err := q.s.byDriver(ctx, true, each, text, args)
	return err
}
