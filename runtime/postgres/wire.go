package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// wire runs the statements that write by the protocol itself: database/sql, a
// plan for each parameter, a timer for each flush and a watch of each context cost a
// single caller as much as the rest of a transition.
type wire struct {
	pg     *pgconn.PgConn
	known  map[string]*prepared // by text
	made   int                  // names given
	values [][]byte
	forms  []int16
	buf    []byte // what values point into
}

// prepared is a statement that the server keeps.
type prepared struct {
	name  string
	types []uint32 // of its parameters
}

// maxPrepared bounds what one connection keeps prepared beside what pgx does. The
// store bounds its texts by a number of that size.
const maxPrepared = 512

// openWire makes it of a connection of package stdlib.
func openWire(driverConn any) sqlstore.Wire {
	c, ok := driverConn.(*stdlib.Conn)
	if !ok {
		return nil
	}
	return &wire{pg: c.Conn().PgConn(), known: map[string]*prepared{}}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// Interrupt ends the reading and writing of now.
func (d *wire) Interrupt() { _ = d.pg.Conn().SetDeadline(past) }

// Resume lets the connection be read and written again.
func (d *wire) Resume() { _ = d.pg.Conn().SetDeadline(time.Time{}) }

// Run sends a statement and reads its answer to the end: an error of the commit
// comes after that of the statement.
func (d *wire) Run(text string, args []any, row func(string)) (int64, error) {
	if d.pg.IsClosed() {
		return 0, net.ErrClosed
	}
	p, err := d.prepare(text)
	if err != nil {
		return 0, d.end(err)
	}
	if err := d.encode(p, args); err != nil {
		return 0, err
	}
	front := d.pg.Frontend()
	front.SendBind(&pgproto3.Bind{PreparedStatement: p.name, ParameterFormatCodes: d.forms, Parameters: d.values})
	front.SendExecute(&pgproto3.Execute{})
	front.SendSync(&pgproto3.Sync{})
	// The server answers nothing before it has read the whole statement, so the two
	// cannot wait for each other to read.
	if err := front.Flush(); err != nil {
		return 0, d.end(err)
	}
	var n int64
	var refused error
	for {
		m, err := d.pg.ReceiveMessage(context.Background())
		if err != nil {
			return 0, d.end(err)
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			if row != nil && len(m.Values) > 0 {
				row(string(m.Values[0]))
			}
		case *pgproto3.CommandComplete:
			n = affected(m.CommandTag)
		case *pgproto3.ErrorResponse:
			if refused == nil {
				refused = pgconn.ErrorResponseToPgError(m)
			}
		case *pgproto3.ReadyForQuery:
			if refused != nil {
				d.forget(text, refused)
				return 0, refused
			}
			return n, nil
		}
	}
}

// end gives the connection up: nobody knows what becomes of the statement, which
// is asked to stop. Whoever has the connection closes it.
func (d *wire) end(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return err // of the server: the connection is as it says
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		_ = d.pg.CancelRequest(ctx) // nobody would hear of it
	}()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// prepare makes the server keep a statement, once.
func (d *wire) prepare(text string) (*prepared, error) {
	if p := d.known[text]; p != nil {
		return p, nil
	}
	if len(d.known) >= maxPrepared {
		for old, p := range d.known {
			delete(d.known, old)
			if err := d.pg.Deallocate(context.Background(), p.name); err != nil {
				return nil, err
			}
			break
		}
	}
	d.made++
	said, err := d.pg.Prepare(context.Background(), "fsm_"+strconv.Itoa(d.made), text, nil)
	if err != nil {
		return nil, err
	}
	p := &prepared{said.Name, said.ParamOIDs}
	d.known[text] = p
	return p, nil
}

// forget makes a statement be prepared anew that the server no longer has, or has
// for a table that was another one.
func (d *wire) forget(text string, err error) {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == "26000" || refused.Code == "0A000") {
		delete(d.known, text)
	}
}

// sinceUnix is how much later than that of Unix the server's time begins, in microseconds.
const sinceUnix = 946684800 * 1_000_000

// encode writes the arguments as the protocol does: numbers and times in their
// binary form, all else as text.
func (d *wire) encode(p *prepared, args []any) error {
	if len(args) != len(p.types) {
		return fmt.Errorf("postgres: %d arguments for a statement with %d parameters", len(args), len(p.types))
	}
	d.values, d.forms, d.buf = d.values[:0], d.forms[:0], d.buf[:0]
	size := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			size += len(s)
		} else {
			size += 20
		}
	}
	if cap(d.buf) < size || cap(d.buf) > 1<<16 {
		d.buf = make([]byte, 0, size) // not moved while it is filled
	}
	for i, a := range args {
		begin, form := len(d.buf), int16(pgtype.TextFormatCode)
		switch a := a.(type) {
		case nil:
			d.values, d.forms = append(d.values, nil), append(d.forms, form)
			continue
		case string:
			d.buf = append(d.buf, a...)
		case bool:
			d.buf = strconv.AppendBool(d.buf, a)
		case int:
			form = d.number(p.types[i], int64(a))
		case int64:
			form = d.number(p.types[i], a)
		case time.Time:
			if p.types[i] != pgtype.TimestamptzOID {
				return fmt.Errorf("postgres: a time for parameter %d, whose type is %d", i+1, p.types[i])
			}
			form = pgtype.BinaryFormatCode
			d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(a.UnixMicro()-sinceUnix))
		default:
			return fmt.Errorf("postgres: a %T for parameter %d; expected a text, a number, a time, true or false", a, i+1)
		}
		d.values, d.forms = append(d.values, d.buf[begin:len(d.buf):len(d.buf)]), append(d.forms, form)
	}
	return nil
}

func (d *wire) number(as uint32, n int64) (form int16) {
	if as == pgtype.Int8OID {
		d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(n))
		return pgtype.BinaryFormatCode
	}
	d.buf = strconv.AppendInt(d.buf, n, 10)
	return pgtype.TextFormatCode
}

// affected reads the number at the end of a command's tag: INSERT 0 1.
func affected(tag []byte) (n int64) {
	for i, place := len(tag)-1, int64(1); i >= 0 && tag[i] >= '0' && tag[i] <= '9'; i, place = i-1, place*10 {
		n += int64(tag[i]-'0') * place
	}
	return n
}
