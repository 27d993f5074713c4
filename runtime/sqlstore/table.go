package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// table is the store's part for one machine.
type table struct {
	store   *Store
	dialect Dialect
	schema  *driver.Schema
	name    string // quoted
	reads   string // quoted: the columns of a whole row and the chain
	order   logOrder
	same    string // ends a condition: see checked; empty: not needed, or not known yet

	writes   *writeTexts
	mu       sync.RWMutex
	texts    map[string]string      // of queries that have one: see text
	worked   []*driver.WorkedColumn // those that the tables have: see keep
	computed map[string]string      // what is worked out of a row, for indexes -> the column, quoted: see settle
}

var _ driver.Table = (*table)(nil)

func newTable(s *Store, schema *driver.Schema) (*table, error) {
	if schema.Table == "" {
		return nil, fmt.Errorf("sqlstore: the schema of %s names no table", schema.Machine)
	}
	t := &table{store: s, dialect: s.dialect, schema: schema}
	for _, u := range schema.Uniques {
		for _, name := range u.Columns {
			if schema.Column(name) < 0 {
				return nil, fmt.Errorf("sqlstore: the unique rule %s of %s names the column %q, which there is not", u.Name, schema.Machine, name)
			}
		}
	}
	t.build()
	return t, nil
}

// bind returns a value as the driver takes it.
func (t *table) bind(v any) any { return t.dialect.bind(v) }

// sequence returns the stored name of a sequence field, or nothing.
func (t *table) sequence(name string) string {
	for i := range t.schema.Columns {
		if c := &t.schema.Columns[i]; c.Kind == driver.KindSequence && (c.Name == name || c.Stored == name) {
			return c.Stored
		}
	}
	return ""
}

// fault turns an error of the database into what the engine understands.
func (t *table) fault(doing string, err error) error {
	refusal := func(code fsm.Code) error {
		return &fsm.Refusal{Code: code, Machine: t.schema.Machine, Cause: err}
	}
	if err == nil {
		return &fsm.Refusal{Code: fsm.ErrDenied, Machine: t.schema.Machine, Message: doing + ": the database changed nothing, and does not say why; " +
			"look for a trigger that suppresses the change of a row, by RAISE(IGNORE) or by RETURN NULL"}
	}
	if strings.Contains(err.Error(), otherTables) {
		err = fmt.Errorf("sqlstore: %s: %w: %w", t.schema.Machine, ErrTables, err)
		return refusal(fsm.ErrSchemaMismatch)
	}
	switch t.dialect.failure(err) {
	case failConstraint:
		return &fsm.Refusal{Code: fsm.ErrInvariant, Machine: t.schema.Machine, Name: t.dialect.rule(err, t.schema.Machine), Cause: err}
	case failFull:
		return refusal(fsm.ErrFull)
	case failBusy, failSlow, failGone, failLost:
		return refusal(fsm.ErrBusy)
	case failDenied:
		return &fsm.Refusal{Code: fsm.ErrDenied, Machine: t.schema.Machine, Message: doing + ": " + err.Error(), Cause: said(err)}
	case failStop:
		err = damaged(err)
		t.store.poisonWith(err)
		return refusal(fsm.ErrPoisoned)
	case failTooLarge:
		return refusal(fsm.ErrTooLarge)
	case failSchema:
		return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine, Message: t.remedy() + " (" + err.Error() + ")", Cause: err}
	}
	return fmt.Errorf("sqlstore: %s: %s: %w", t.schema.Machine, doing, err)
}

// Commit makes one write durable, together with those of other callers that wait.
func (t *table) Commit(ctx context.Context, w *driver.Write) error {
	if err := driver.Inside(ctx, t.store); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	if err := t.store.poisoned(t.schema.Machine); err != nil {
		return err
	}
	if err := t.sound(w); err != nil {
		return err
	}
	if lacksChain(w) && t.dialect.server() {
		err := t.Look(ctx, func(r driver.Reader) error {
			known, err := r.(*reader).learn([]*driver.Write{w})
			if err == nil {
				w = known[0]
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if several := t.dialect.server() && (t.exchanges(w) || lacksChain(w)); several || w.Row == nil && t.dialect.server() {
		return t.Update(ctx, func(tx driver.Tx) error {
			if several { // its row comes before its places
				if _, err := tx.Row(w.Prev.ID); err != nil && !errors.Is(err, driver.ErrNotFound) {
					return err
				}
			}
			return tx.Write(w)
		})
	}
	ctx = call.Within(ctx, t.store.wait)
	if t.dialect.server() && t.store.lines.any() {
		if at := (&spot{lines: t.store.lines}); at.behind(t.thingsOf(w)) {
			return t.commitInLine(ctx, w)
		}
	}
	return t.store.commits.commit(ctx, t, w)
}

// commitInLine commits one write in its turn in the lines of what it may wait for.
func (t *table) commitInLine(ctx context.Context, w *driver.Write) error {
	at := &spot{lines: t.store.lines}
	defer at.leave()
	if err := at.join(ctx, t.thingsOf(w)); err != nil {
		return t.unopened(ctx, err)
	}
	return t.transactAt(ctx, at, mode{seated: true}, "", func(x *txn) error { return x.Write(w) })
}

// toRead takes a session for reading.
func (t *table) toRead(ctx context.Context) (*session, error) {
	if t.store.readers == t.store.writers {
		if err := driver.Inside(ctx, t.store); err != nil {
			return nil, fmt.Errorf("sqlstore: %w", err)
		}
	}
	s, err := t.store.readers.take(ctx)
	if err != nil {
		return nil, t.unopened(ctx, err)
	}
	return s, nil
}

// Look runs f without a transaction, for its only statement. Behind a pooler a session may
// have any isolation level, so there it is View.
func (t *table) Look(ctx context.Context, f func(driver.Reader) error) error {
	if t.dialect.pooled() {
		return t.View(ctx, f)
	}
	ctx = call.Within(ctx, t.store.wait)
	for again := false; ; again = true {
		lost, err := t.look(ctx, f)
		if t.dialect.blocked(err) { // by whoever has locked the table: it waits there
			return t.View(ctx, f)
		}
		if again || !lost || call.Err(ctx) != nil {
			return err
		}
	}
}

// look is one try of Look, which may find that the connection is lost.
func (t *table) look(ctx context.Context, f func(driver.Reader) error) (lost bool, err error) {
	s, err := t.toRead(ctx)
	if err != nil {
		return false, err
	}
	r := &reader{ctx: ctx, t: t, q: s}
	broken := true // a panic
	defer func() {
		s.cut = broken && s.limit > 0 && ctx.Err() != nil
		t.store.readers.give(s, broken)
	}()
	err = f(r)
	lost = r.err != nil && t.dialect.failure(r.cause) == failLost
	broken = lost || err != nil && ctx.Err() != nil && t.dialect.server() // a driver of a server hangs up then
	return lost, err
}

// View runs f over one consistent snapshot.
func (t *table) View(ctx context.Context, f func(driver.Reader) error) error {
	ctx = call.Within(ctx, t.store.wait)
	s, err := t.toRead(ctx)
	if err != nil {
		return err
	}
	broken := true // unless the transaction ends well, panics included
	defer func() {
		if s != nil {
			s.cut = broken && s.limit > 0 && ctx.Err() != nil
			t.store.readers.give(s, broken)
		}
	}()
	_, err = s.exec(ctx, t.dialect.snapshot())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && t.dialect.failure(err) == failLost {
		// The server was restarted since; nothing has been read yet.
		t.store.readers.give(s, true)
		if s, err = t.store.readers.take(ctx); err != nil {
			s = nil // its place went back with the old session
			return t.unopened(ctx, err)
		}
		_, err = s.exec(ctx, t.dialect.snapshot())
	}
	if err != nil {
		return t.fault("begin to read", err)
	}
	defer func() {
		_, err := s.exec(context.WithoutCancel(ctx), "ROLLBACK")
		broken = err != nil
	}()
	return f(&reader{ctx: ctx, t: t, q: s})
}

// Update runs f in one transaction.
func (t *table) Update(ctx context.Context, f func(driver.Tx) error) error {
	return t.transact(ctx, t.dialect.claim(), func(x *txn) error { return f(x) })
}

// attempts bounds how often a transaction that met another writer begins anew.
const attempts = 20

// mode is how a transaction runs. It begins in the cheapest one, and begins anew
// in another when that turns out not to do.
type mode struct {
	strict  bool // sees no other writer at all: for who counts other records
	careful bool // a savepoint before each write: for who must hear why one was refused
	places  bool // it locks the places of unique rules before it takes them
	tables  bool // it changes tables
	seated  bool // it waits for locks: see lines
	piped   bool // it looks and then writes, with no effect: see pipe
}

// anew says that the transaction is to be run again in a mode that does more.
type anew struct{ mode mode }

func (a *anew) Error() string {
	return "sqlstore: the transaction has to be run again from its beginning; return this error"
}

// metOther says that a statement which is not the store's, an effect's, met
// another writer: the transaction is to be run again as if it were the store's.
type metOther struct{ err error }

func (m *metOther) Error() string { return m.err.Error() }
func (m *metOther) Unwrap() error { return m.err }

// met ends a transaction that needs what another one has. It is run again in its turn in the
// lines of what it has met. What it needs beside what it holds, it waits for before that, with
// empty hands.
type met struct {
	what   string
	things []string
	wait   func(x *txn) error // nil: the transaction itself waits
	err    error              // of the statement that has waited
}

func (m *met) Error() string {
	return "sqlstore: another transaction has " + m.what + "; the transaction has to be run again from its beginning; return this error"
}
func (m *met) Unwrap() error { return m.err }

// transact runs f in one transaction. Where several may write, one that met
// another is run again.
func (t *table) transact(ctx context.Context, claim string, f func(*txn) error) error {
	return t.transactAs(ctx, mode{}, claim, f)
}

func (t *table) transactAs(ctx context.Context, how mode, claim string, f func(*txn) error) error {
	at := &spot{lines: t.store.lines}
	defer at.leave()
	return t.transactAt(call.Within(ctx, t.store.wait), at, how, claim, f)
}

func (t *table) transactAt(ctx context.Context, at *spot, how mode, claim string, f func(*txn) error) error {
	for i := 1; ; i++ {
		err := t.once(ctx, at, claim, how, f)
		if !t.dialect.server() {
			return err
		}
		var more *anew
		if errors.As(err, &more) && more.mode != how {
			more.mode.tables, more.mode.seated, more.mode.piped = how.tables, how.seated, how.piped
			how = more.mode
			continue
		}
		var other *metOther
		again := errors.Is(err, fsm.ErrBusy)
		var held *met
		if errors.As(err, &held) {
			if err := at.join(ctx, held.things); err != nil {
				return t.unopened(ctx, err)
			}
			if err, how.seated = nil, true; held.wait != nil {
				err = t.once(ctx, at, "", mode{seated: true}, held.wait)
			}
			if again = err == nil || errors.Is(err, fsm.ErrBusy); err == nil {
				err = &fsm.Refusal{Code: fsm.ErrBusy, Machine: t.schema.Machine, Cause: held}
			}
		}
		how.seated = how.seated || t.dialect.blocked(err)
		if errors.As(err, &other) {
			again, err = true, other.err
		}
		if !again || i >= attempts && held == nil { // who waits in line is bounded by the time of the call
			return err
		}
		if !linger(ctx, i) { // nothing was written, and the caller no longer waits
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// once runs f in one transaction.
func (t *table) once(ctx context.Context, at *spot, claim string, how mode, f func(*txn) error) (err error) {
	if err := driver.Inside(ctx, t.store); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	if err := t.store.poisoned(t.schema.Machine); err != nil {
		return err
	}
	if how.seated {
		if err := at.lines.sit(ctx); err != nil {
			return t.unopened(ctx, err)
		}
		defer at.lines.rise()
	}
	s, err := t.store.writers.take(ctx)
	if err != nil {
		return t.unopened(ctx, err)
	}
	broken := false
	defer func() {
		s.cut = broken && s.limit > 0 && ctx.Err() != nil
		t.store.writers.give(s, broken)
	}()
	if err := t.store.poisoned(t.schema.Machine); err != nil {
		return err
	}
	if err := s.turn(ctx, t.store.writers.turns); err != nil {
		return t.unopened(ctx, err)
	}
	if how.piped && !how.strict && s.native != nil && !t.dialect.pooled() {
		broken = true // a panic
		broken, err = t.oncePiped(ctx, s, at, how, f)
		return err
	}
	// From here a file's context is only asked, never handed down: a statement that
	// is cut off would leave open how much of it happened. With a server the end of the
	// connection is that of the transaction, so all statements end with the context, and the
	// commit a grace later. BEGIN and COMMIT run under the context of the transaction.
	steady, cut := context.WithoutCancel(ctx), func() {}
	inside, stop := steady, func() bool { return true }
	if s.limit > 0 {
		steady, cut = context.WithCancel(steady)
		defer cut()
		inside, stop = ctx, context.AfterFunc(ctx, s.cuts(cut))
		defer func() { stop() }()
	}
	loosen := s.limit.leash(cut)
	if how.tables {
		if err := t.dialect.unlink(steady, s, true); err != nil {
			broken = true
			return t.fault("begin to migrate", err)
		}
		defer func() { broken = broken || t.dialect.unlink(steady, s, false) != nil }()
	}
	var tx *sql.Tx
	err = s.patiently(ctx, func() (err error) {
		tx, err = s.conn.BeginTx(steady, &sql.TxOptions{Isolation: t.dialect.isolation(how.strict)})
		return err
	})
	loosen()
	if err != nil {
		meaning := t.dialect.failure(err)
		broken = meaning == failOpen || meaning == failLost || meaning == failStop
		if ctx.Err() != nil && (meaning == failBusy || s.limit > 0) {
			return ctx.Err()
		}
		return t.fault("begin a transaction", err)
	}
	x := &txn{reader: reader{ctx: inside, t: t, q: s.within(steady, tx)}, tx: tx, mode: how}
	if t.dialect.server() {
		x.spot = at
	}
	t.store.track(tx, x)
	done := false
	defer func() { // an error of f, a panic
		t.store.track(tx, nil)
		if !done {
			defer s.limit.leash(cut)()
			if rollback := tx.Rollback(); rollback != nil && t.dialect.failure(rollback) != failGone {
				broken = true
			}
		}
	}()
	if err := x.begin(); err != nil {
		return t.unopened(ctx, err)
	}
	if claim != "" {
		if err := s.patiently(ctx, func() error { _, err := s.tryExec(x.ctx, claim); return err }); err != nil {
			if ctx.Err() != nil && t.dialect.failure(err) == failBusy {
				return ctx.Err()
			}
			return t.fault("take the write lock", err)
		}
		if err := s.catchUp(x.ctx, t); err != nil {
			return err
		}
	}
	if err := x.run(f); err != nil {
		return err
	}
	if !stop() || ctx.Err() != nil {
		return ctx.Err()
	}
	done = true
	if s.limit > 0 {
		stop = after(ctx, cut)
	}
	loosen = s.limit.leash(cut)
	err = tx.Commit()
	loosen()
	if err != nil {
		broken = true
		return t.lost(x.last, err)
	}
	return nil
}

// run runs f, and says what its error means for the transaction.
func (x *txn) run(f func(*txn) error) error {
	err := f(x)
	if err == nil {
		return x.err
	}
	var more *anew
	if errors.As(x.err, &more) {
		return more
	}
	var held *met
	if errors.As(x.err, &held) {
		return held
	}
	if x.t.dialect.blocked(err) {
		return &met{what: "a lock", things: x.things, err: err}
	}
	if x.t.dialect.failure(err) == failBusy { // failSlow may be the effect's own time limit
		return &metOther{err}
	}
	return err
}

// unopened says what it means that no session was to be had: surely nothing was
// written.
func (t *table) unopened(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, driver.ErrClosed):
		return err
	}
	code := fsm.ErrBusy
	if errors.Is(err, ErrTables) {
		code = fsm.ErrSchemaMismatch
	}
	return &fsm.Refusal{Code: code, Machine: t.schema.Machine, Cause: err}
}

// lost says what an error of the commit means. It is ambiguous unless the
// database surely took the transaction back.
func (t *table) lost(w *driver.Write, err error) error {
	if t.dialect.aborted(err) {
		return t.fault("commit", err)
	}
	switch meaning := t.dialect.failure(err); {
	case meaning == failStop:
		err = damaged(err)
		t.store.poisonWith(err)
	case meaning == failFull: // the next commit writes over what is left of this one
	case t.store.file != "": // a server knows its files by itself; only the connection is in doubt
		t.store.poisonWith(err)
	}
	lost := &fsm.AmbiguousError{Machine: t.schema.Machine, Err: err}
	if w != nil {
		lost.ID, lost.Operation, lost.RequestID = w.Event.ID, w.Event.Operation, w.Event.RequestID
	}
	return lost
}

// track notes the transaction of an Update, so that Adopt knows our own.
func (s *Store) track(tx *sql.Tx, x *txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x == nil {
		delete(s.running, tx)
		return
	}
	s.running[tx] = x
}
