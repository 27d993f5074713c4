package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// querier runs statements in a session or in a caller's transaction.
type querier interface {
	exec(ctx context.Context, text string, args ...any) (sql.Result, error)
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// session is one connection that the store keeps, with its prepared statements.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// maxStatements bounds what one session keeps prepared; the number of texts
// that a machine gives rise to is far below it.
const maxStatements = 512

func (s *session) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := s.stmts[text]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.WithoutCancel(ctx), text)
	if err != nil {
		return nil, err
	}
	if len(s.stmts) >= maxStatements {
		for key, old := range s.stmts {
			old.Close()
			delete(s.stmts, key)
			break
		}
	}
	s.stmts[text] = st
	return st, nil
}

func (s *session) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	st, err := s.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

func (s *session) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := s.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// forget closes the prepared statements: after a change of the schema their
// plans may be old.
func (s *session) forget() {
	for _, st := range s.stmts {
		st.Close()
	}
	clear(s.stmts)
}

// close gives the connection back. A broken one is closed instead, so that
// nobody inherits what it was doing.
func (s *session) close(broken bool) {
	s.forget()
	if broken {
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // this error is the purpose
	}
	s.conn.Close()
}

// within returns what runs statements in a transaction of this session. With a
// server it is the transaction itself: when a connection is lost, database/sql
// closes a Conn whose statement failed, and would wait forever for the open
// transaction to end. The drivers of servers keep statements prepared themselves.
func (s *session) within(tx *sql.Tx, d Dialect) querier {
	if d.writers() == 0 {
		return txQuerier{tx}
	}
	return s
}

// txQuerier runs statements in a transaction that its caller owns.
type txQuerier struct{ tx *sql.Tx }

func (q txQuerier) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	return q.tx.ExecContext(ctx, text, args...)
}

func (q txQuerier) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return q.tx.QueryContext(ctx, text, args...)
}

// pool hands out sessions, each to one caller at a time. It opens at most as
// many as it has slots and keeps them, so each is asked for its settings once.
type pool struct {
	db      *sql.DB
	dialect Dialect
	slots   chan struct{}
	mu      sync.Mutex
	free    []*session
	closed  bool
}

func newPool(db *sql.DB, d Dialect, size int) *pool {
	return &pool{db: db, dialect: d, slots: make(chan struct{}, size)}
}

var errClosed = fmt.Errorf("sqlstore: %w", fsm.ErrClosed)

// take waits for a session.
func (p *pool) take(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := p.next(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return s, nil
}

func (p *pool) next(ctx context.Context) (*session, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open a connection: %w", err)
	}
	s := &session{conn: conn, stmts: map[string]*sql.Stmt{}}
	if err := p.dialect.settings(ctx, s); err != nil {
		s.close(false)
		return nil, err
	}
	return s, nil
}

// give puts a session back.
func (p *pool) give(s *session, broken bool) {
	if broken {
		s.close(true)
		if p.dialect.writers() == 0 { // a server that ended one session mostly ended the others too
			p.mu.Lock()
			old := p.free
			p.free = nil
			p.mu.Unlock()
			for _, s := range old {
				s.close(false)
			}
		}
	} else {
		p.mu.Lock()
		p.free = append(p.free, s)
		p.mu.Unlock()
	}
	<-p.slots
}

// close waits until no session is in use and closes them all.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for _, s := range p.free {
		s.close(false)
	}
	p.free = nil
	for range cap(p.slots) {
		<-p.slots
	}
}
