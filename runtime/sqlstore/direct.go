package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// Where a file is written, database/sql takes a part of each transition that
// shows: its locks, its conversions, a goroutine for each transaction, and a
// driver that parses BEGIN and COMMIT anew. So a batch runs its statements
// straight on the driver's connection, all of them prepared.

// direct is a session's connection as its driver offers it. It is used within one
// call of sql.Conn.Raw at a time.
type direct struct {
	conn  driver.ConnPrepareContext
	texts map[string]statement
	forms map[form]statement
	args  []driver.NamedValue // of the statement of now
	links links
	// What a batch has written so far; next is of the write of now.
	written []link
	next    link
}

// statement is what is asked of a driver's statements.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

var errIndirect = errors.New("sqlstore: the driver's connections do not prepare statements with a context")

// straight calls f with the driver's connection. An error says that f was not called,
// and that the session has to be used by database/sql.
func (s *session) straight(ctx context.Context, f func(d *direct)) error {
	return s.conn.Raw(func(c any) (err error) {
		if s.direct == nil {
			conn, ok := c.(driver.ConnPrepareContext)
			if !ok {
				return errIndirect
			}
			s.direct = &direct{conn: conn, texts: map[string]statement{}, forms: map[form]statement{}}
		}
		d := s.direct
		if _, err := d.stmt(ctx, beginImmediate); err != nil {
			return err
		}
		ended := false
		defer func() {
			if !ended { // a panic, after which database/sql closes the connection
				d.close()
			}
			clear(d.args[:cap(d.args)]) // whose texts are not to be kept
		}()
		f(d)
		ended = true
		return nil
	})
}

// drop closes the statements.
func (s *session) drop() {
	if s.direct == nil {
		return
	}
	// Of a connection that is closed they are gone already.
	_ = s.conn.Raw(func(any) error { s.direct.close(); return nil })
	s.direct = nil
}

// close lets the statements go; what one of them says about it changes nothing.
func (d *direct) close() {
	for _, st := range d.texts {
		_ = st.Close()
	}
	for _, st := range d.forms {
		_ = st.Close()
	}
	clear(d.texts)
	clear(d.forms)
}

// prepared makes room among the statements of a kind and prepares one more.
func prepared[K comparable](ctx context.Context, d *direct, known map[K]statement, key K, text string) (statement, error) {
	made, err := d.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	st, ok := made.(statement)
	if !ok {
		return nil, errors.Join(errIndirect, made.Close())
	}
	if len(known) >= maxStatements {
		for old, st := range known {
			_ = st.Close()
			delete(known, old)
			break
		}
	}
	known[key] = st
	return st, nil
}

func (d *direct) stmt(ctx context.Context, text string) (statement, error) {
	if st := d.texts[text]; st != nil {
		return st, nil
	}
	return prepared(ctx, d, d.texts, text, text)
}

// bind begins the arguments of a statement.
func (d *direct) bind(args ...any) error {
	d.args = d.args[:0]
	for _, v := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(v)
		if err != nil {
			return err
		}
		d.add(v)
	}
	return nil
}

// add adds an argument, which is a driver.Value.
func (d *direct) add(v any) {
	d.args = append(d.args, driver.NamedValue{Ordinal: len(d.args) + 1, Value: v})
}

func (d *direct) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	st, err := d.stmt(ctx, text)
	if err == nil {
		err = d.bind(args...)
	}
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, d.args)
}

func (d *direct) query(ctx context.Context, text string, args ...any) (*rows, error) {
	st, err := d.stmt(ctx, text)
	if err == nil {
		err = d.bind(args...)
	}
	if err != nil {
		return nil, err
	}
	r, err := st.QueryContext(ctx, d.args)
	if err != nil {
		return nil, err
	}
	return &rows{&directRows{rows: r, values: make([]driver.Value, len(r.Columns()))}, func() {}}, nil
}

// directRows are rows of integers, which is all that is asked for where a batch is
// written.
type directRows struct {
	rows   driver.Rows
	values []driver.Value
	err    error
}

func (r *directRows) Next() bool {
	err := r.rows.Next(r.values)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
}

func (r *directRows) Scan(dest ...any) error {
	for i, to := range dest {
		n, ok := r.values[i].(int64)
		into, fits := to.(*int64)
		if !ok || !fits {
			return fmt.Errorf("sqlstore: a %T cannot be read into a %T", r.values[i], to)
		}
		*into = n
	}
	return nil
}

func (r *directRows) Err() error   { return r.err }
func (r *directRows) Close() error { return r.rows.Close() }

// The statements around a batch.
const (
	beginImmediate = "BEGIN IMMEDIATE" // takes the write lock
	commitText     = "COMMIT"
	rollbackText   = "ROLLBACK"
)

// work is the transaction of a batch.
type work interface {
	querier
	commit(ctx context.Context) error
	rollback(ctx context.Context) error
	// settled says whether the write of now is part of it.
	settled(written bool)
}

func (d *direct) commit(ctx context.Context) error {
	err := d.just(ctx, commitText)
	if err == nil {
		d.remember()
	}
	return err
}

func (d *direct) rollback(ctx context.Context) error { return d.just(ctx, rollbackText) }

func (d *direct) just(ctx context.Context, text string) error {
	_, err := d.exec(ctx, text)
	return err
}

// sqlWork is one of database/sql.
type sqlWork struct {
	*session
	tx *sql.Tx
}

func (w sqlWork) commit(context.Context) error   { return w.tx.Commit() }
func (w sqlWork) rollback(context.Context) error { return w.tx.Rollback() }
