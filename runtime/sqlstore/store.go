package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Store is a fsm.Store in a relational database.
type Store struct {
	dialect  Dialect
	writers  *pool
	readers  *pool // may be the same as writers
	commits  *committer
	lines    *lines // of those who wait for locks of a server
	enforce  string
	reading  bool          // see WithReadOnly
	file     string        // of the database; empty with a server
	wait     time.Duration // how long a call may wait
	bell     *driver.Bell
	release  []func() error // what Close undoes at the end, last first
	poison   atomic.Pointer[error]
	closing  sync.Once
	closeErr error

	mu      sync.Mutex
	running map[*sql.Tx]*txn // the transactions of Update
}

var (
	_ driver.Transactional[*sql.Tx] = (*Store)(nil)
)

// leaders is how many batches are on their way to a server at the same time.
const leaders = 2

// Readers is how many reads of a store that writes by one connection run at the same time.
const Readers = 4

// Option changes how New makes a store.
type Option func(*options)

type options struct {
	readers  *sql.DB
	enforce  string
	readOnly bool
	wait     time.Duration
	bell     *driver.Bell
	release  []func() error
	native   func(conn any) Native
}

// WithReaders gives reads a database of their own, opened on the same data.
// Without it, reads and writes share the connections of the one given to New.
func WithReaders(db *sql.DB) Option { return func(o *options) { o.readers = db } }

// WithEnforce lowers the level of enforcement that Migrate installs and Check
// expects, for tests that make up rows: "checks" leaves out what ties rows and
// events together. A schema that was generated at a lower level stays there.
func WithEnforce(level string) Option { return func(o *options) { o.enforce = level } }

// WithRelease makes Close call f at its end, for what the opener owns: the
// databases, a file. The functions run last first.
func WithRelease(f func() error) Option {
	return func(o *options) { o.release = append(o.release, f) }
}

// WithBell gives the store a Bell that is connected with other processes. Without it,
// only workers of this process are woken.
func WithBell(b *driver.Bell) Option { return func(o *options) { o.bell = b } }

// WithWait sets how long a call waits, in all, before it is refused with
// fsm.ErrBusy: for a connection, for a place in a batch, for the locks of other
// programs and between its tries. The time counts from the call on. The default is
// 5 s, with a server what it is given for an answer.
func WithWait(d time.Duration) Option { return func(o *options) { o.wait = d } }

// New returns a store over db. It refuses a database whose settings would
// break the store's promises. The caller keeps owning db, but must not close it before the store; the store keeps one
// connection of it for writing and a few for reading. A db that has but one
// connection serves both, one after the other.
func New(db *sql.DB, d Dialect, opts ...Option) (*Store, error) {
	o := options{enforce: "full", wait: d.patience(), bell: &driver.Bell{}}
	if o.wait == 0 {
		o.wait = 5 * time.Second
	}
	for _, opt := range opts {
		opt(&o)
	}
	switch o.enforce {
	case "none", "checks", "full":
	default:
		return nil, fmt.Errorf("sqlstore: unknown enforcement level %q; expected none, checks or full", o.enforce)
	}
	s := &Store{dialect: d, enforce: o.enforce, wait: o.wait, bell: o.bell, running: map[*sql.Tx]*txn{}}
	writers, readers := 1, Readers
	switch most := db.Stats().MaxOpenConnections; {
	case o.readOnly:
		writers, o.readers = readers, nil
		if most > 0 {
			writers = min(writers, most)
		}
	case d.server():
		writers = 8
		if most > 0 {
			writers = min(writers, most)
		}
	case o.readers == nil && most > 0:
		readers = min(readers, most-writers)
	}
	s.reading = o.readOnly
	s.writers = newPool(db, d, writers)
	s.writers.reading = o.readOnly
	s.lines = newLines(writers)
	if !d.server() {
		s.commits = newCommitter(s.writers, 1, func(_, _ *job) bool { return true }, s.commitTogether)
		s.commits.win = s.win
	} else {
		s.commits = newCommitter(s.writers, min(leaders, writers), togetherInStatement, s.commitStatement)
	}
	switch {
	case o.readers != nil:
		s.readers = newPool(o.readers, d, readers)
	case o.readOnly || d.server() || readers < 1:
		s.readers = s.writers
	default:
		s.readers = newPool(db, d, readers)
	}
	s.writers.limit, s.readers.limit = s.wait, s.wait
	s.writers.native, s.readers.native = o.native, o.native
	if err := s.open(); err != nil {
		s.writers.close()
		return nil, err
	}
	s.release = append(s.release, o.release...) // the lock goes last, when nothing is open any more
	return s, nil
}

// open asks the first session for its settings, and opens the lock that the file's
// writers take turns by.
func (s *Store) open() error {
	ctx := context.Background()
	conn, err := s.writers.take(ctx)
	if err != nil {
		return err
	}
	defer s.writers.give(conn, false)
	s.file, err = s.dialect.file(ctx, conn)
	if err != nil || s.file == "" || s.reading {
		return err
	}
	s.writers.turns, err = newTurns(s.file)
	if err != nil || s.writers.turns == nil {
		return err
	}
	s.release = append(s.release, s.writers.turns.close)
	return nil
}

// Close ends the store; calls in flight end first.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.readers.close()
		if s.writers != s.readers {
			s.writers.close()
		}
		var errs []error
		for i := len(s.release) - 1; i >= 0; i-- {
			errs = append(errs, s.release[i]())
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// Patience is how long a call waits: see WithWait.
func (s *Store) Patience() time.Duration { return s.wait }

// Bell wakes idle workers: see WithBell.
func (s *Store) Bell() *driver.Bell { return s.bell }

// Table returns the store's part for one machine.
func (s *Store) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := newTable(s, schema)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Transaction returns the database transaction behind tx, or nil when tx is
// not of this kind of store.
func (s *Store) Transaction(tx driver.Tx) *sql.Tx {
	if x, ok := tx.(*txn); ok {
		return x.tx
	}
	return nil
}

// Beside returns the reader and writer of the table within a transaction of another machine of
// the store.
func (t *table) Beside(_ context.Context, tx driver.Tx) (driver.Tx, error) {
	own, ok := tx.(*txn)
	if !ok || own.t.store != t.store {
		return nil, fmt.Errorf("sqlstore: a %T is no transaction of this store", tx)
	}
	if err := t.store.poisoned(t.schema.Machine); err != nil {
		return nil, err
	}
	first := cmp.Or(own.beside, own)
	return &txn{
		reader: reader{ctx: own.ctx, t: t, q: own.q, ran: true}, tx: own.tx, foreign: own.foreign, adopted: own.adopted,
		mode: own.mode, nested: own.nested, grouped: first.grouped, placed: first.placed, spot: own.spot, beside: first,
	}, nil
}

// Adopt returns the reader and writer of one machine's tables within a
// transaction that its caller owns and commits: that of an atomic effect, or
// one of the caller's own database. In the second case the transaction's
// connection must have the store's settings, and the caller finds out about a
// lost commit alone: the same calls again, with the same request ids.
func (s *Store) Adopt(ctx context.Context, schema *driver.Schema, tx *sql.Tx) (driver.Tx, error) {
	x, err := s.adoption(ctx, schema)
	if err != nil {
		return nil, err
	}
	x.tx = tx
	s.mu.Lock()
	own := s.running[tx]
	s.mu.Unlock()
	if own != nil {
		x.q, x.mode, x.ran, x.grouped, x.placed = own.q, own.mode, true, own.grouped, own.placed
		return x, nil
	}
	x.q = txQuerier{tx, limit(s.dialect.patience())}
	return s.adopt(x)
}

// Backup copies the database into a new file at path, as it is at one instant,
// while others read and write. The copy is whole when Backup returns nil. Do not
// copy the database's files by other means while a store is open: in one process
// that would drop SQLite's locks.
func (s *Store) Backup(ctx context.Context, path string) error {
	statements := s.dialect.backup(path)
	if len(statements) == 0 {
		return fmt.Errorf("sqlstore: %s has no backup of its own; use the server's tools", s.dialect.Name())
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("sqlstore: %s exists; expected the path of a new file", path)
	}
	session, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.give(session, true)
	for _, statement := range statements {
		if _, err := session.conn.ExecContext(ctx, statement); err != nil {
			_ = os.Remove(path) // what there is of the copy
			return fmt.Errorf("sqlstore: back up into %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sqlstore: back up: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// poisoned returns the refusal of a store that must be opened again, and of one
// that is for reading only.
func (s *Store) poisoned(machine string) error {
	if s.reading {
		return &fsm.Refusal{Code: fsm.ErrDenied, Machine: machine, Cause: ErrReadOnly}
	}
	if cause := s.poison.Load(); cause != nil {
		return &fsm.Refusal{Code: fsm.ErrPoisoned, Machine: machine, Cause: *cause}
	}
	return nil
}

// Failed returns why the store takes no more writes, and nil while it does.
func (s *Store) Failed() error {
	if cause := s.poison.Load(); cause != nil {
		return *cause
	}
	return nil
}

// poisonWith makes the store refuse writes from now on.
func (s *Store) poisonWith(err error) { s.poison.CompareAndSwap(nil, &err) }
