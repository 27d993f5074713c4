package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// querier runs statements in a session or in a caller's transaction.
type querier interface {
	exec(ctx context.Context, text string, args ...any) (sql.Result, error)
	// query gives the rows of a statement, one after the other, to each, until that returns an error.
	query(ctx context.Context, each func(Rows) error, text string, args ...any) error
}

// read gives rows to each.
func read(r *sql.Rows, each func(Rows) error) error {
	defer r.Close()
	for r.Next() {
		if err := each(r); err != nil {
			return err
		}
	}
	return errors.Join(r.Err(), r.Close())
}

// session is one connection that the store keeps, with its prepared statements.
type session struct {
	conn *sql.Conn
	// stmts is nil with a server: its driver keeps statements prepared itself,
	// and closing ours would be a round trip to a server that may be gone.
	stmts  map[string]*sql.Stmt
	native Native     // of the connection; nil: all statements go through database/sql
	entry  sync.Mutex // see byDriver
	limit  limit      // of its statements
	others others     // what is known of other writers
	waited string     // how long the connection was opened to wait by itself
	turns  *turns     // nil: it is not its turn
	lost   bool       // it is in a transaction that could not be taken back
	cut    bool       // its caller has ended it, and the server did not
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
	for n := 0; ; n++ {
		res, err := s.tryExec(ctx, text, args...)
		if !s.met(ctx, err, n) {
			return res, err
		}
	}
}

func (s *session) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	for n := 0; ; n++ {
		began, err := s.tryQuery(ctx, each, text, args...)
		if began || !s.met(ctx, err, n) {
			return err
		}
	}
}

func (s *session) tryExec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if s.native != nil {
		n, err := s.byDriver(ctx, nil, Trip{Text: text, Args: args})
		return sqldriver.RowsAffected(n), err
	}
	ctx, done := s.limit.bound(ctx)
	defer done()
	if s.stmts == nil {
		return s.conn.ExecContext(ctx, text, args...)
	}
	st, err := s.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// tryQuery is one try at a query. began says that there are rows, or were.
func (s *session) tryQuery(ctx context.Context, each func(Rows) error, text string, args ...any) (began bool, err error) {
	if s.native != nil {
		_, err = s.byDriver(ctx, nil, Trip{Each: each, Text: text, Args: args})
		return true, err
	}
	ctx, done := s.limit.bound(ctx)
	defer done()
	var r *sql.Rows
	if s.stmts == nil {
		r, err = s.conn.QueryContext(ctx, text, args...)
	} else {
		var st *sql.Stmt
		if st, err = s.stmt(ctx, text); err == nil {
			r, err = st.QueryContext(ctx, args...)
		}
	}
	if err != nil {
		return false, err
	}
	return true, read(r, each)
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
	if !broken {
		s.impatient()
	} else {
		_ = s.conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // this error is the purpose
	}
	s.conn.Close()
}

// within returns what runs statements in a transaction of this session. With a
// server it is the transaction itself: when a connection is lost, database/sql
// closes a Conn whose statement failed, and would wait forever for the open
// transaction to end. The transaction lives as long as alive.
func (s *session) within(alive context.Context, tx *sql.Tx) querier {
	switch {
	case s.native != nil:
		return nativeTx{s, alive}
	case s.stmts == nil:
		return txQuerier{tx, s.limit}
	}
	return s
}

// txQuerier runs statements in a transaction that its caller owns.
type txQuerier struct {
	tx    *sql.Tx
	limit limit
}

func (q txQuerier) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	ctx, done := q.limit.bound(ctx)
	defer done()
	return q.tx.ExecContext(ctx, text, args...)
}

func (q txQuerier) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	ctx, done := q.limit.bound(ctx)
	defer done()
	r, err := q.tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return read(r, each)
}

// pool hands out sessions, each to one caller at a time. It opens at most as
// many as it has slots and keeps them, so each is asked for its settings once.
type pool struct {
	db      *sql.DB
	dialect Dialect
	slots   chan struct{}
	native  func(conn any) Native
	reading bool          // its sessions cannot write, and need no setting that is for writers
	limit   time.Duration // of the waits of a call that has none of its own; 0: none
	turns   *turns        // among the processes that write the file
	mu      sync.Mutex
	free    []*session
	closed  bool
	gone    sync.WaitGroup // sessions that are being closed
}

func newPool(db *sql.DB, d Dialect, size int) *pool {
	return &pool{db: db, dialect: d, slots: make(chan struct{}, size)}
}

var errClosed = fmt.Errorf("sqlstore: %w", driver.ErrClosed)

// take waits for a session.
func (p *pool) take(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = call.Within(ctx, p.limit)
	select {
	case p.slots <- struct{}{}:
	default:
		waiting, done := call.Waiting(ctx)
		defer done()
		select {
		case p.slots <- struct{}{}:
		case <-waiting.Done():
			return nil, call.Ended(ctx)
		}
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
	s := &session{limit: limit(p.dialect.patience())}
	for n := 0; ; n++ {
		err := p.open(ctx, s)
		if err == nil {
			return s, nil
		}
		if !s.met(ctx, err, n) {
			return nil, err
		}
	}
}

// open opens the connection of a session.
func (p *pool) open(ctx context.Context, s *session) error {
	if !p.dialect.server() {
		s.stmts = map[string]*sql.Stmt{}
	}
	opening, done := call.Waiting(ctx)
	defer done()
	var err error
	if s.conn, err = p.db.Conn(opening); err != nil {
		return fmt.Errorf("sqlstore: open a connection: %w", err)
	}
	if p.native != nil {
		if err := s.conn.Raw(func(conn any) error { s.native = p.native(conn); return nil }); err != nil {
			s.close(true)
			return fmt.Errorf("sqlstore: open a connection: %w", err)
		}
	}
	use := forStore
	if p.reading {
		use = forReading
	}
	err = p.dialect.settings(ctx, s, use, nil)
	if err == nil && s.stmts != nil {
		err = s.gentle(ctx)
	}
	if err != nil {
		s.close(true)
	}
	return err
}

// give puts a session back.
func (p *pool) give(s *session, broken bool) {
	broken = broken || s.lost
	p.mu.Lock()
	bad := []*session{s}
	switch {
	case !broken:
		p.free, bad = append(p.free, s), nil
	case p.dialect.server() && !s.cut: // a server that ended one session mostly ended the others too
		bad = append(bad, p.free...)
		p.free = nil
	}
	p.mu.Unlock()
	if p.dialect.server() {
		for _, s := range bad {
			p.gone.Go(func() { s.close(true) }) // a server that does not answer is not waited for
		}
	} else if broken {
		s.close(true)
	}
	if s.turns != nil {
		_ = s.turns.leave() // one that fails is met by the next who takes it
		s.turns = nil
	}
	<-p.slots
}

// giveAfter puts a session back after something that ended with err, or with nil.
func (p *pool) giveAfter(s *session, err error) {
	p.give(s, err != nil && p.dialect.failure(err) == failLost)
}

// close waits until no session is in use and closes them all. What was set in a
// server's session ends with it.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for _, s := range p.free {
		s.close(p.dialect.server())
	}
	p.free = nil
	p.gone.Wait()
	for range cap(p.slots) {
		<-p.slots
	}
}
