package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// driven runs statements of a session, which are counted.
type driven struct {
	ended bool
	ran   int
	limit time.Duration
}

func (d *driven) Ended() bool { return d.ended }

func (d *driven) Run(_ context.Context, limit time.Duration, trip Trip) (int64, error) {
	d.ran, d.limit = d.ran+1, limit
	if trip.Each == nil {
		return 3, nil
	}
	return 1, trip.Each(&scripted{n: 5})
}

func drivenSession(t *testing.T) (*session, *driven) {
	t.Helper()
	db := sql.OpenDB(&answering{})
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	d := &driven{}
	return &session{conn: conn, native: d, limit: limit(time.Minute)}, d
}

// Statements of a session go through the driver, and those of a transaction while it lives.
func TestStatementsByDriver(t *testing.T) {
	t.Parallel()
	s, d := drivenSession(t)
	alive, end := context.WithCancel(t.Context())
	for _, q := range []querier{s, s.within(alive, nil)} {
		res, err := q.exec(t.Context(), "UPDATE")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.RowsAffected(); n != 3 || err != nil {
			t.Errorf("%d rows, %v; want 3", n, err)
		}
		if n, err := integer(t.Context(), q, "SELECT"); n != 5 || err != nil {
			t.Errorf("read %d, %v; want 5", n, err)
		}
	}
	if d.ran != 4 || d.limit != time.Minute {
		t.Errorf("%d statements with the limit %s; want 4 with %s", d.ran, d.limit, time.Minute)
	}
	tx := s.within(alive, nil)
	d.ended = true
	if _, err := tx.exec(t.Context(), "UPDATE"); !errors.Is(err, sql.ErrTxDone) || d.ran != 4 {
		t.Errorf("the transaction has ended: %v after %d statements; want %v", err, d.ran, sql.ErrTxDone)
	}
	d.ended = false
	s.cuts(end)()
	if err := tx.query(t.Context(), func(Rows) error { return nil }, "SELECT"); !errors.Is(err, sql.ErrTxDone) || d.ran != 4 {
		t.Errorf("the transaction was cut off: %v after %d statements; want %v", err, d.ran, sql.ErrTxDone)
	}
	if _, err := s.exec(t.Context(), "UPDATE"); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
}

// A panic of who reads reaches the caller, and leaves the connection, in whose transaction it may be.
func TestPanicByDriver(t *testing.T) {
	t.Parallel()
	s, _ := drivenSession(t)
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("the panic was %v", p)
			}
		}()
		_ = s.within(t.Context(), nil).query(t.Context(), func(Rows) error { panic("mine") }, "SELECT")
	}()
	if _, err := s.exec(t.Context(), "UPDATE"); err != nil {
		t.Errorf("after the panic: %v", err)
	}
	s.conn.Close()
	for range 2 { // the first one must not keep the next out
		if _, err := s.within(t.Context(), nil).exec(t.Context(), "UPDATE"); !errors.Is(err, sql.ErrConnDone) {
			t.Errorf("the connection is closed: %v", err)
		}
	}
}
