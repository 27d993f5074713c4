package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// failure is the meaning of a database's error. Each code of a server or of SQLite has one,
// and each meaning is of one class.
type failure uint8

const (
	failOpen       failure = iota // who knows: nothing was written, unless it was the commit
	failLost                      // the connection is gone: the same
	failConstraint                // a rule of the schema: this statement did nothing
	failTooLarge                  // a value is larger than the database takes
	failSchema                    // a table or column is missing
	failDenied                    // the database refuses the statement, and will again
	failBusy                      // a lock, room or a free connection was not to be had
	failFull                      // there was no room: nothing was written, but see sqlite.aborted
	failSlow                      // it took too long and was ended
	failGone                      // there is no transaction any more: the database took it back
	failStop                      // the database is damaged
)

// class is what a caller does about an error.
type class uint8

const (
	ambiguous class = iota // find out whether the call was applied
	definite               // nothing was written; the same call is refused again
	busy                   // nothing was written; the same call may succeed
	stop                   // the store takes no more writes
)

func (f failure) class() class {
	switch f {
	case failConstraint, failTooLarge, failSchema, failDenied:
		return definite
	case failBusy, failFull, failSlow, failGone:
		return busy
	case failStop:
		return stop
	}
	return ambiguous
}

// sqlStates says what PostgreSQL's codes mean: by the code, else by its first two letters, else
// failDenied, since an error of the server says that it took the transaction back. Those that
// are ambiguous here are said of the server, not of the statement.
var sqlStates = map[string]failure{
	"08": failLost, "57": failOpen, "58": failOpen, "F0": failOpen, "XX": failOpen,
	"25006": failBusy, "25P03": failLost, "25P04": failLost, "57P01": failLost, "57P02": failLost, "57P03": failLost, "57P04": failLost, "57P05": failLost, "40003": failLost,
	"23": failConstraint, "FS": failConstraint, "40002": failConstraint, "44": failConstraint,
	"54": failTooLarge, "42P01": failSchema, "42703": failSchema, "3F000": failSchema,
	"40": failBusy, "53": failBusy, "53100": failFull, "55P03": failBusy, "55006": failBusy, "72": failBusy, "57014": failSlow,
	// A statement that the driver keeps prepared is not there, or another one is: the driver
	// prepares it again.
	"26000": failBusy, "42P05": failBusy,
	"XX001": failStop, "XX002": failStop,
}

// sqliteCodes says what SQLite's result codes mean: by the extended code, else by the primary
// one in its last byte, else failOpen.
var sqliteCodes = map[int]failure{
	1: failDenied, 3: failDenied, 8: failDenied, 12: failDenied, 20: failDenied, 22: failDenied, 23: failDenied, 25: failDenied,
	4: failBusy, 5: failBusy, 6: failBusy, 15: failBusy, 17: failBusy, 9: failSlow,
	13: failFull,
	18: failTooLarge, 19: failConstraint,
	11: failStop, 26: failStop,
	8 | 4<<8:   failStop,   // READONLY_DBMOVED: the file is no longer where it was
	19 | 7<<8:  failDenied, // CONSTRAINT_TRIGGER: RAISE in a trigger of the user's, or see sqliteWords
	shmSize:    failFull,
	10 | 32<<8: failStop, // IOERR_DATA: a checksum
	10 | 33<<8: failStop, // IOERR_CORRUPTFS
}

// shmSize is IOERR_SHMSIZE: there was no room for the index of the write-ahead log.
const shmSize = 10 | 19<<8

// sqliteWords says what SQLite's words mean: where a code stands for many things, and for
// drivers that tell no code.
var sqliteWords = []struct {
	code  int // besides 0: the driver tells none
	words []string
	means failure
}{
	{1, []string{"no transaction is active", "no such savepoint"}, failGone},
	{1, []string{"no such table", "no such column", "has no column"}, failSchema},
	{19, []string{"fsm: ", "FOREIGN KEY constraint failed"}, failConstraint},
	{0, []string{"constraint failed", "fsm: "}, failConstraint},
	{0, []string{"database is locked", "database table is locked"}, failBusy},
	{0, []string{"database or disk is full"}, failFull},
	{0, []string{"string or blob too big"}, failTooLarge},
	{0, []string{"database disk image is malformed", "file is not a database"}, failStop},
}

// DatabaseError is what the database said when it refused a statement: the cause of a
// *fsm.Refusal with fsm.ErrDenied or fsm.ErrPoisoned.
type DatabaseError struct {
	Code string // SQLSTATE, or SQLite's result code; empty where the driver does not tell
	Err  error  // of the driver
}

func (e *DatabaseError) Error() string { return e.Err.Error() }
func (e *DatabaseError) Unwrap() error { return e.Err }

// ErrCorrupt says that the database has found itself damaged. The store takes no more writes.
var ErrCorrupt = errors.New("the database is damaged: stop the programs that write it, then restore a backup or have it repaired, and open the store again")

// said makes a DatabaseError of an error.
func said(err error) *DatabaseError {
	code := sqlState(err)
	if n := resultCode(err); code == "" && n != 0 {
		code = strconv.Itoa(n)
	}
	return &DatabaseError{Code: code, Err: err}
}

// damaged is why a store takes no more writes.
func damaged(err error) error { return fmt.Errorf("%w: %w", ErrCorrupt, said(err)) }

// sqlState returns the server's code of an error; empty when it is not the
// server that speaks.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) && len(coded.SQLState()) == 5 {
		return coded.SQLState()
	}
	return ""
}

// resultCode returns SQLite's extended code of an error, or 0.
func resultCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return 0
}

func (*postgres) failure(err error) failure {
	state := sqlState(err)
	if state == "" {
		return lostConnection(err)
	}
	for _, key := range []string{state, state[:2]} {
		if f, known := sqlStates[key]; known {
			return f
		}
	}
	return failDenied
}

func (*postgres) blocked(err error) bool { return err != nil && sqlState(err) == "55P03" }

func (sqlite) blocked(error) bool { return false } // see session.met

// aborted: what the server says of a statement it says of the whole transaction.
func (p *postgres) aborted(err error) bool { return p.failure(err).class() != ambiguous }

// lostConnection knows the errors of a connection that broke. What the driver
// thinks of the statement's fate is not asked: pgx calls a lost COMMIT safe to
// retry.
func lostConnection(err error) failure {
	if err == nil {
		return failOpen
	}
	if strings.Contains(err.Error(), "commit unexpectedly resulted in rollback") {
		return failGone
	}
	var network net.Error
	for _, gone := range []error{driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		context.DeadlineExceeded, context.Canceled} { // the store's own deadline: callers' contexts are asked before
		if errors.Is(err, gone) {
			return failLost
		}
	}
	if errors.As(err, &network) || strings.Contains(err.Error(), "conn closed") {
		return failLost
	}
	return failOpen
}

func (sqlite) failure(err error) failure {
	if err == nil {
		return failOpen
	}
	code := resultCode(err)
	for _, s := range sqliteWords {
		if code != 0 && code&0xff != s.code {
			continue
		}
		for _, words := range s.words {
			if strings.Contains(err.Error(), words) {
				return s.means
			}
		}
	}
	if f, known := sqliteCodes[code]; known {
		return f
	}
	return sqliteCodes[code&0xff]
}

// aborted: a file that is found damaged at the commit may hold it nevertheless. A commit that
// found no room for its pages is none, since its mark is written last. One whose pages the
// index had no room for is in the log, and the next to open the file finds it.
func (d sqlite) aborted(err error) bool {
	c := d.failure(err).class()
	return (c == definite || c == busy) && resultCode(err) != shmSize
}
