package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// native runs the statements of a session by pgx, without database/sql: a text is prepared once, its
// arguments are encoded into a piece of memory that the session keeps, and its rows are scanned where they are.
type native struct {
	conn  *pgx.Conn
	known map[string]*known

	values  [][]byte // of the arguments
	args    []byte   // where they stand
	formats []int16

	now    *known // whose rows are read
	row    [][]byte
	number int64
	truth  bool
	time   time.Time
}

// known is a statement that is prepared.
type known struct {
	*pgconn.StatementDescription
	formats []int16           // of its columns
	plans   []pgtype.ScanPlan // by which they were scanned last,
	into    []reflect.Type    // and into what
}

const (
	maxKnown = 512     // statements that a session keeps prepared
	maxArgs  = 1 << 18 // bytes that it keeps for arguments
)

// nativeOf returns what runs statements on a connection of database/sql.
func nativeOf(conn any) sqlstore.Native {
	if c, ok := conn.(*stdlib.Conn); ok {
		return &native{conn: c.Conn(), known: map[string]*known{}, args: []byte{}}
	}
	return nil
}

func (n *native) Ended() bool { return idleNow(n.conn) }

// Run makes a trip. A statement that the server has not as it was prepared has done nothing: it is prepared again.
func (n *native) Run(ctx context.Context, limit time.Duration, t sqlstore.Trip) (count int64, err error) {
	if pc := n.conn.PgConn(); pc.IsBusy() && pc.TxStatus() != 'I' { // its deadline is theirs, too
		return 0, errors.New("postgres: the rows of another query of this transaction are still open; close them before the next statement")
	}
	if limit > 0 { // cheaper than a context, which pgx makes the same of
		_ = n.conn.PgConn().Conn().SetDeadline(time.Now().Add(limit)) // a connection that is closed is told below
		defer func() {
			if !n.conn.IsClosed() { // else pgx has another one for the farewell
				_ = n.conn.PgConn().Conn().SetDeadline(time.Time{})
			}
		}()
	}
	again := n.conn.PgConn().TxStatus() == 'I'
	if all := t.Each; all != nil {
		t.Each = func(row sqlstore.Rows) error { again = false; return all(row) } // no row is given twice
	}
	for ; ; again = false {
		switch {
		case t.Begin || t.Commit:
			count, err = n.together(ctx, &t)
		case t.Each == nil && len(t.Args) == 0:
			var tag pgconn.CommandTag
			tag, err = n.conn.Exec(ctx, t.Text)
			count = tag.RowsAffected()
		default:
			count, err = n.prepared(ctx, &t)
		}
		if err == nil || !outdated(err) {
			break
		}
		failed := n.forget(ctx, t.Text)
		if t.Begin || t.Commit {
			failed = errors.Join(failed, n.forget(ctx, begin), n.forget(ctx, commit))
		}
		if failed != nil || !again || n.conn.PgConn().TxStatus() != 'I' {
			return 0, &outdatedError{err}
		}
	}
	if err != nil && pgconn.SafeToRetry(err) {
		err = fmt.Errorf("%w: %w", driver.ErrBadConn, err) // as database/sql has it: the server has heard nothing
	}
	return count, err
}

// ready prepares a statement and encodes its arguments.
func (n *native) ready(ctx context.Context, text string, args []any) (*known, error) {
	k, err := n.know(ctx, text)
	if err == nil {
		err = n.encode(k.ParamOIDs, args)
	}
	return k, err
}

func (n *native) prepared(ctx context.Context, t *sqlstore.Trip) (int64, error) {
	k, err := n.ready(ctx, t.Text, t.Args)
	if err != nil {
		return 0, err
	}
	return n.read(k, n.conn.PgConn().ExecStatement(ctx, k.StatementDescription, n.values, n.formats, k.formats), t.Each)
}

// read gives the rows of a statement to each.
func (n *native) read(k *known, result *pgconn.ResultReader, each func(sqlstore.Rows) error) (int64, error) {
	n.now = k
	var own error // of each
	for each != nil && own == nil && result.NextRow() {
		n.row = result.Values()
		own = each(n)
	}
	tag, err := result.Close()
	if err == nil {
		err = own
	}
	return tag.RowsAffected(), err
}

const begin, commit = "BEGIN ISOLATION LEVEL READ COMMITTED", "COMMIT"

// together sends a statement with BEGIN before it, or COMMIT behind it.
func (n *native) together(ctx context.Context, t *sqlstore.Trip) (count int64, err error) {
	var batch pgconn.Batch
	sent := make([]*known, 0, 3)
	for i, text := range [...]string{begin, t.Text, commit} {
		var args []any
		switch {
		case i == 0 && !t.Begin, i == 1 && text == "", i == 2 && !t.Commit:
			continue
		case i == 1:
			args = t.Args
		}
		k, err := n.ready(ctx, text, args)
		if err != nil {
			return 0, err
		}
		batch.ExecStatement(k.StatementDescription, n.values, n.formats, k.formats)
		sent = append(sent, k)
	}
	answers, heard := n.conn.PgConn().ExecBatch(ctx, &batch), 0
	var tag pgconn.CommandTag
	for heard < len(sent) && err == nil && answers.NextResult() {
		k, answer := sent[heard], answers.ResultReader()
		if k.SQL == t.Text {
			count, err = n.read(k, answer, t.Each)
		} else {
			tag, err = answer.Close()
		}
		if err == nil {
			heard++
		}
	}
	if failed := answers.Close(); failed != nil {
		err = failed
	}
	if err == nil && heard < len(sent) {
		err = errors.New("postgres: the server has not answered each statement")
	}
	if !t.Commit {
		return count, err
	}
	if err == nil && tag.String() != commit {
		err = pgx.ErrTxCommitRollback
	}
	var said *pgconn.PgError
	if err != nil && (heard >= len(sent)-1 || !errors.As(err, &said) || said.SeverityUnlocalized != "ERROR") {
		err = &sqlstore.CommitError{Err: err}
	}
	return count, err
}

// forget takes a statement off the server, under pgx's name for the text and under the name that it was prepared by: pgx
// knows none any more where taking all of them off failed in the middle.
func (n *native) forget(ctx context.Context, text string) error {
	k := n.known[text]
	delete(n.known, text)
	err := n.conn.Deallocate(ctx, text)
	if err == nil && k != nil {
		err = n.conn.PgConn().Deallocate(ctx, k.Name)
	}
	return err
}

// know returns a prepared statement.
func (n *native) know(ctx context.Context, text string) (*known, error) {
	if k := n.known[text]; k != nil {
		return k, nil
	}
	if len(n.known) >= maxKnown {
		if err := n.conn.DeallocateAll(ctx); err != nil {
			return nil, err
		}
		clear(n.known)
	}
	sd, err := n.conn.Prepare(ctx, text, text)
	if err != nil {
		return nil, err
	}
	k := &known{sd, make([]int16, len(sd.Fields)), make([]pgtype.ScanPlan, len(sd.Fields)), make([]reflect.Type, len(sd.Fields))}
	for i := range sd.Fields {
		switch sd.Fields[i].DataTypeOID {
		case pgtype.Int8OID, pgtype.BoolOID, pgtype.TimestamptzOID:
			k.formats[i] = pgtype.BinaryFormatCode
		}
	}
	n.known[text] = k
	return k, nil
}

// encode encodes arguments in the forms that pgx prefers for them.
func (n *native) encode(types []uint32, args []any) error {
	if len(types) != len(args) {
		return fmt.Errorf("postgres: the statement has %d parameters, got %d arguments", len(types), len(args))
	}
	if n.values, n.formats, n.args = n.values[:0], n.formats[:0], n.args[:0]; cap(n.args) > maxArgs {
		n.args = []byte{}
	}
	m := n.conn.TypeMap()
	for i, arg := range args {
		format := int16(pgtype.TextFormatCode)
		if _, text := arg.(string); !text {
			format = m.FormatCodeForOID(types[i])
		}
		b, err := m.Encode(types[i], format, arg, n.args)
		if err != nil {
			return fmt.Errorf("postgres: argument %d: %w", i+1, err)
		}
		n.formats = append(n.formats, format)
		if b == nil {
			n.values = append(n.values, nil)
			continue
		}
		n.values, n.args = append(n.values, b[len(n.args):]), b
	}
	return nil
}

// Scan scans the row as database/sql does.
func (n *native) Scan(dest ...any) error {
	if len(dest) != len(n.row) {
		return fmt.Errorf("postgres: the row has %d columns, expected %d", len(n.row), len(dest))
	}
	for i, d := range dest {
		var err error
		switch d := d.(type) {
		case *any:
			*d, err = n.value(i)
		case sql.Scanner:
			var v any
			if v, err = n.value(i); err == nil {
				err = d.Scan(v)
			}
		default:
			err = n.scan(i, d)
		}
		if err != nil {
			return fmt.Errorf("postgres: scan column %q: %w", n.now.Fields[i].Name, err)
		}
	}
	return nil
}

// value returns a value as a driver of database/sql hands it out.
func (n *native) value(i int) (v any, err error) {
	if n.row[i] == nil {
		return nil, nil
	}
	switch n.now.Fields[i].DataTypeOID {
	case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID: // an owner may have narrowed a column
		err = n.scan(i, &n.number)
		return n.number, err
	case pgtype.BoolOID:
		err = n.scan(i, &n.truth)
		return n.truth, err
	case pgtype.TimestamptzOID:
		err = n.scan(i, &n.time)
		return n.time, err
	}
	return string(n.row[i]), nil
}

func (n *native) scan(i int, dest any) error {
	k := n.now
	if t := reflect.TypeOf(dest); k.into[i] != t {
		k.plans[i], k.into[i] = n.conn.TypeMap().PlanScan(k.Fields[i].DataTypeOID, k.formats[i], dest), t
	}
	return k.plans[i].Scan(n.row[i], dest)
}

// outdated reports whether the server has a prepared statement no longer as it was: somebody has removed it, or
// changed the type of a column.
func outdated(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "26000" || said.Code == "0A000" && said.Routine == "RevalidateCachedQuery")
}

// outdatedError is the same of a statement within a transaction, which has to be run again.
type outdatedError struct{ err error }

func (o *outdatedError) Error() string    { return o.err.Error() }
func (o *outdatedError) Unwrap() error    { return o.err }
func (o *outdatedError) SQLState() string { return "26000" }
