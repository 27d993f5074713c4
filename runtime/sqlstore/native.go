package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"time"
)

// WithNative makes sessions run their statements by the driver itself, past database/sql, which takes less memory.
// of returns what runs them on a connection of the driver, or nil. Connections stay those of database/sql, and so do
// transactions in which an effect may run: that has a *sql.Tx, in which the store's statements run too. See pipe for the others.
func WithNative(of func(conn any) Native) Option { return func(o *options) { o.native = of } }

// Native runs statements in a session of the store.
type Native interface {
	// Run makes a trip to the server and returns how many rows its statement changed. The answer is waited for until
	// ctx ends, and no longer than limit, if that is not 0.
	Run(ctx context.Context, limit time.Duration, t Trip) (int64, error)
	// Ended reports whether the session is in no transaction.
	Ended() bool
}

// Trip is what is sent to the server at once.
type Trip struct {
	Begin  bool             // BEGIN of a transaction that is read committed goes before the statement
	Each   func(Rows) error // takes the rows, one after the other; nil: there are none
	Text   string           // of the statement; without Each, Args, Begin and Commit it may hold several
	Args   []any
	Commit bool // COMMIT goes behind the statement, or alone where Text is empty
}

// CommitError is the error of a trip from COMMIT on: of COMMIT, or of an answer that is missing. Any other error of
// a trip says that COMMIT was not run.
type CommitError struct{ Err error }

func (e *CommitError) Error() string { return e.Err.Error() }
func (e *CommitError) Unwrap() error { return e.Err }

// byDriver makes a trip by the driver itself, while database/sql leaves the connection alone. In a
// transaction of database/sql, which lives as long as tx, it refuses to when that has ended.
func (s *session) byDriver(ctx, tx context.Context, trip Trip) (n int64, err error) {
	if tx != nil {
		s.entry.Lock()
		if tx.Err() != nil {
			s.entry.Unlock()
			return 0, sql.ErrTxDone
		}
	}
	entered, panicked := false, any(nil)
	gone := s.conn.Raw(func(any) error {
		defer func() { panicked = recover() }() // Raw would close the connection, and wait for its transaction
		if entered = true; tx != nil {
			s.entry.Unlock()
		}
		if tx != nil && s.native.Ended() {
			err = sql.ErrTxDone
		} else {
			n, err = s.native.Run(ctx, time.Duration(s.limit), trip)
		}
		return nil // an error would close it, too
	})
	if tx != nil && !entered {
		s.entry.Unlock()
	}
	if panicked != nil {
		panic(panicked)
	}
	if gone != nil {
		return 0, gone
	}
	return n, err
}

// cuts returns cut for a transaction whose statements go through the driver: database/sql then ends it, and may
// close the connection, which a statement that is about to enter must not meet.
func (s *session) cuts(cut context.CancelFunc) func() {
	return func() {
		s.entry.Lock()
		defer s.entry.Unlock()
		cut()
	}
}

// nativeTx runs statements in the transaction that a session is in.
type nativeTx struct {
	s  *session
	tx context.Context
}

// ended reports whether a session that answers is in no transaction any more.
func (q nativeTx) ended() (ended bool) {
	q.s.entry.Lock()
	defer q.s.entry.Unlock()
	if q.tx.Err() == nil { // else database/sql ends it
		_ = q.s.conn.Raw(func(any) error { ended = q.s.native.Ended(); return nil }) // a connection that is gone fails the commit
	}
	return ended
}

func (q nativeTx) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	n, err := q.s.byDriver(ctx, q.tx, Trip{Text: text, Args: args})
	return sqldriver.RowsAffected(n), err
}

func (q nativeTx) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	_, err := q.s.byDriver(ctx, q.tx, Trip{Each: each, Text: text, Args: args})
	return err
}
