// Package memstore is the store in memory: what tests run on, and the plainest
// reading of what a Store promises.
//
// It serialises everything by one lock, so that a transaction sees no other
// writer. A transaction that fails, panics or whose context ends before its
// commit leaves nothing. Nothing survives the process. The rules of a single
// record (presence, invariants, moves) are not checked here: the engine does.
package memstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Store holds the tables of any number of machines. The zero Store is not
// usable; call New.
type Store struct {
	lock   chan struct{} // holds one token while the store is in use
	tables map[string]*table
	values map[string]any
	closed bool
	faults atomic.Pointer[func(Point) error]
	bell   driver.Bell
}

var _ driver.Transactional[*Tx] = (*Store)(nil)

// Point is a place where a test can make a commit fail.
type Point uint8

// The points.
const (
	// BeforeCommit: an error here takes the transaction back and is what the caller gets.
	BeforeCommit Point = iota + 1
	// AfterCommit: the transaction stands, but an error here is what the caller
	// gets, inside an *fsm.AmbiguousError: a lost answer.
	AfterCommit
)

// New returns an empty store.
func New() *Store {
	return &Store{
		lock:   make(chan struct{}, 1),
		tables: map[string]*table{},
		values: map[string]any{},
	}
}

// Inject lets f decide at each commit that writes whether it fails; nil ends it. For tests.
func (s *Store) Inject(f func(Point) error) {
	if f == nil {
		s.faults.Store(nil)
		return
	}
	s.faults.Store(&f)
}

func (s *Store) fault(p Point) error {
	if f := s.faults.Load(); f != nil {
		return (*f)(p)
	}
	return nil
}

// Table returns the part of the store for one machine.
func (s *Store) Table(schema *driver.Schema) (driver.Table, error) {
	if schema.Table == "" {
		return nil, fmt.Errorf("memstore: the schema of %s names no table", schema.Machine)
	}
	return &handle{store: s, schema: schema}, nil
}

// patience is how long a call waits.
const patience = 10 * time.Second

// Now returns the zero time: all callers have the clock of the process.
func (s *Store) Now(context.Context) (at time.Time, took time.Duration, err error) { return at, 0, nil }

// Patience is how long a call waits.
func (s *Store) Patience() time.Duration { return patience }

// Failed returns nil: memory takes writes as long as the program runs.
func (s *Store) Failed() error { return nil }

// Bell wakes the workers of this process.
func (s *Store) Bell() *driver.Bell { return &s.bell }

// Close waits for the call in flight; calls after it fail.
func (s *Store) Close() error {
	s.lock <- struct{}{}
	defer s.release()
	s.closed = true
	return nil
}

// Value returns what Tx.Put has put under key, for tests of atomic effects.
func (s *Store) Value(key string) any {
	s.lock <- struct{}{}
	defer s.release()
	return s.values[key]
}

// Transaction returns the transaction behind tx.
func (s *Store) Transaction(tx driver.Tx) *Tx {
	if t, ok := tx.(*view); ok {
		return t.tx
	}
	return nil
}

// Adopt returns the reader and writer of one machine within tx.
func (s *Store) Adopt(ctx context.Context, schema *driver.Schema, tx *Tx) (driver.Tx, error) {
	if tx.done {
		return nil, errEnded
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := s.open(schema)
	if err != nil {
		return nil, err
	}
	return &view{tx: tx, table: t, schema: schema}, nil
}

// Begin starts a transaction of the caller. Everything else waits until it ends.
func (s *Store) Begin(ctx context.Context) (*Tx, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	return &Tx{store: s}, nil
}

func (s *Store) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := driver.Inside(ctx, s); err != nil {
		return fmt.Errorf("memstore: %w", err)
	}
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.closed {
		s.release()
		return fmt.Errorf("memstore: %w", driver.ErrClosed)
	}
	return nil
}

func (s *Store) release() { <-s.lock }

// open returns the table, or a refusal when Migrate has not made it for this
// specification. The caller holds the lock.
func (s *Store) open(schema *driver.Schema) (*table, error) {
	t := s.tables[schema.Table]
	if t == nil {
		return nil, mismatch(schema, "the store has no table %q; call Migrate", schema.Table)
	}
	if err := t.besides(schema); err != nil {
		return nil, err
	}
	if t.machine != schema.Machine || t.hash != schema.Hash && !t.open(schema) {
		return nil, mismatch(schema, "table %q was made for %s %q, this is %s %q; call Migrate",
			schema.Table, t.machine, t.hash, schema.Machine, schema.Hash)
	}
	return t, nil
}

func mismatch(schema *driver.Schema, format string, args ...any) error {
	return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: schema.Machine, Message: fmt.Sprintf(format, args...)}
}

// handle is the fsm.Table of one machine.
type handle struct {
	store  *Store
	schema *driver.Schema
}

// Migrate makes the table, or notes the hash of a new specification.
func (h *handle) Migrate(ctx context.Context) error {
	if err := h.store.acquire(ctx); err != nil {
		return err
	}
	defer h.store.release()
	t := h.store.tables[h.schema.Table]
	if t == nil {
		t = newTable(h.schema.Machine)
		h.store.tables[h.schema.Table] = t
	}
	if t.machine != h.schema.Machine {
		return mismatch(h.schema, "table %q belongs to machine %s", h.schema.Table, t.machine)
	}
	if err := t.besides(h.schema); err != nil || t.hash == h.schema.Hash || t.open(h.schema) {
		return err
	}
	if err := t.reshape(h.schema); err != nil {
		return err
	}
	t.succeed(h.schema)
	return nil
}

// Check refuses unless Migrate has run for this specification.
func (h *handle) Check(ctx context.Context) error {
	if err := h.store.acquire(ctx); err != nil {
		return err
	}
	defer h.store.release()
	_, err := h.store.open(h.schema)
	return err
}

// Commit makes one write durable.
func (h *handle) Commit(ctx context.Context, w *driver.Write) error {
	return h.Update(ctx, func(tx driver.Tx) error { return tx.Write(w) })
}

// View runs f while nothing is written.
func (h *handle) View(ctx context.Context, f func(driver.Reader) error) error {
	if err := h.store.acquire(ctx); err != nil {
		return err
	}
	tx := &Tx{store: h.store}
	defer tx.Rollback()
	t, err := h.store.open(h.schema)
	if err != nil {
		return err
	}
	return f(&view{tx: tx, table: t, schema: h.schema})
}

// Beside returns the reader and writer of the table within a transaction of another machine.
func (h *handle) Beside(_ context.Context, tx driver.Tx) (driver.Tx, error) {
	own, ok := tx.(*view)
	if !ok || own.tx.store != h.store {
		return nil, fmt.Errorf("memstore: a %T is no transaction of this store", tx)
	}
	if own.tx.done {
		return nil, errEnded
	}
	t, err := h.store.open(h.schema)
	if err != nil {
		return nil, err
	}
	return &view{tx: own.tx, table: t, schema: h.schema}, nil
}

// Look is View.
func (h *handle) Look(ctx context.Context, f func(driver.Reader) error) error { return h.View(ctx, f) }

// Update runs f in one transaction.
func (h *handle) Update(ctx context.Context, f func(driver.Tx) error) error {
	return h.UpdateMany(ctx, func(tx driver.ManyTx) error { return f(tx) })
}

// UpdateMany runs f in one transaction.
func (h *handle) UpdateMany(ctx context.Context, f func(driver.ManyTx) error) error {
	tx, err := h.store.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	t, err := h.store.open(h.schema)
	if err != nil {
		return err
	}
	if err := f(&view{tx: tx, table: t, schema: h.schema}); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
