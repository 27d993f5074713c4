package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// Dialect is what differs between databases. Its methods are not exported: a
// dialect and the statements that this package builds are one piece of work.
type Dialect interface {
	// Name is the key of the generated schema in fsm.Schema.SQL.
	Name() string

	// server reports whether many sessions write at the same time, of which each waits for what another one has locked. A
	// file has one writer at a time.
	server() bool
	// patience is how long an answer is waited for; 0: as long as it takes.
	patience() time.Duration
	// settings returns an error that names every setting of the session that
	// would break the store's promises, and how to fix it. What it sets itself
	// is for the session, or for the transaction only. A transaction of the caller's is
	// for one machine, t.
	settings(ctx context.Context, q querier, u use, t *table) error
	// pooled reports whether the store may keep nothing in a session.
	pooled() bool
	// file returns the database's file, for the lock beside it. Empty: a server.
	file(ctx context.Context, q querier) (string, error)
	// snapshot begins a transaction that reads one state of the database.
	snapshot() string
	// claim is the first statement of a writing transaction: it takes the write
	// lock before anything is read. Empty: not needed.
	claim() string
	// isolation is that of writing transactions. A strict one sees no other
	// writer at all; another one sees none in the rows and groups that it locks.
	isolation(strict bool) sql.IsolationLevel
	// claimSchema is like claim, for the transaction that makes tables, once
	// there is the meta table.
	claimSchema() string
	// makingAgain reports whether an error came from another program that makes
	// the same tables at the same time.
	makingAgain(err error) bool
	// hold ends a query of the row that a transaction decides on: it locks the
	// row. Empty: the write lock does it.
	hold() string
	// hidden reports whether an error is of a constraint of the machine's tables that
	// may be about a row which the transaction cannot see yet, so that a new one is to
	// decide again.
	hidden(err error, table string) bool
	// savepoint reports whether an error within a transaction makes it useless
	// unless it goes back to a savepoint.
	savepoint() bool
	// objects returns the names of the tables, indexes, triggers and views.
	objects(ctx context.Context, q querier) (map[string]bool, error)
	// work returns the stages that make the machine's objects in the database those
	// of the generated schema; none: they are. It changes nothing and takes no lock.
	// m is nil where the meta table does not know the machine. Objects that others
	// have made stay, or the work is refused with *UserObjectError.
	work(ctx context.Context, q querier, t *table, m *meta, next *evolve.Schema) ([]stage, error)
	// unlink stops a session from enforcing foreign keys, outside of a transaction,
	// or lets it go on. Nothing where no table is rebuilt.
	unlink(ctx context.Context, q querier, off bool) error

	// columns returns the query for the names of a table's columns.
	columns(table string) string
	// ruled returns the query for the conditions of the machine's unique indexes over columns,
	// which are in order and parted by commas.
	ruled(table, columns string) string
	// unguarded runs f, which changes the machine's tables in the transaction of q, while
	// the triggers of the generated schema let it pass. Those of users look on. It needs
	// the rights of the tables' owner.
	unguarded(ctx context.Context, q querier, t *table, f func() error) error

	// shred is a statement after which a session overwrites what it deletes. Empty:
	// the database has none.
	shred() string

	// backup returns the statements that copy the database into a new file; the
	// session is not used again after them. None: the server's own tools do it.
	backup(path string) []string

	// qualified returns the name of a table of the store, quoted, so that no setting of a
	// session and no temporary table leads elsewhere.
	qualified(table string) string
	// within ends a statement that begins the making of tables: what follows makes them in
	// the store's schema, although it names none.
	within() string
	// reached notes which tables these are, in the first session that is asked: settings
	// refuses a session that reaches others by the same names.
	reached(ctx context.Context, q querier, tables []string) error
	// usable refuses with *UserObjectError what others have put between the store and its
	// tables, and rights that its role lacks.
	usable(ctx context.Context, q querier, t *table) error
	// verified ends the statement of a write: it fails where the names of the machine's
	// tables lead to others than reached has noted.
	verified(t *table) string

	// placeholder returns the n-th parameter, from 1.
	placeholder(n int) string
	// limit ends a query with a parameter for the most rows that it returns.
	limit(placeholder string) string
	// cast says of which type a parameter is, where the database needs to know.
	cast(parameter string, kind driver.Kind) string
	// bind returns a value as the driver takes it. Of a place it is what stands there.
	bind(v any) any
	// operand returns a column as it can be compared.
	operand(column string, kind driver.Kind) string
	// later returns a time's column and a length's as one key that can be compared, and since
	// a time that is compared with it.
	later(column, length string) string
	since(parameter string) string
	// present returns the condition that a column of a set is not empty.
	present(column string) string
	// often and seldom tell a planner without statistics that a condition holds
	// for most rows, or for few.
	often(condition string) string
	seldom(condition string) string
	// walk returns a condition that always holds and makes a planner without
	// statistics walk along the index of an order that begins with a column.
	// Empty: not needed.
	walk(column string, kind driver.Kind, optional bool) string
	// order returns the sort keys of a column, absent values last.
	order(column string, optional, descending bool) []string
	// lock ends a query whose rows are to be locked, passing over locked ones.
	lock() string
	// ordered says how the log of all records is read in order.
	ordered() logOrder
	// lockGroup returns the query that locks a group until the transaction ends, and
	// gives 1, or 0 where it was only tried and another writer has it: parameters are
	// name and key. Empty: the write lock does it.
	lockGroup(t *table, try bool) string
	// lockPlaces returns the query that locks numbers, an array in their order, until the
	// transaction ends, and counts them: those alone that nobody has, where it is only tried.
	// Empty: the write lock does it.
	lockPlaces(t *table, try bool) string

	// plan asks for the plan of a query, for tests of indexes.
	plan(ctx context.Context, q querier, free bool, text string, args []any) (string, error)

	// blocked reports whether an error says that a statement has waited for a lock as long
	// as it may, and did nothing.
	blocked(err error) bool
	// failure says what an error of the database means.
	failure(err error) failure
	// aborted reports whether an error of a statement that is a transaction of
	// its own, or of a commit, says that surely nothing was written.
	aborted(err error) bool
	// rule returns the rule that a constraint's error is about, in the words of
	// the schema; empty when the error does not say.
	rule(err error, machine string) string
}

// stage is one part of a migration.
type stage func(ctx context.Context, q querier) error

// use is what a session is for.
type use uint8

const (
	forStore       use = iota // it is the store's own
	forTransaction            // it is in a transaction of the caller's
	forReading                // it must not write
	forBegun                  // it is in a transaction of the store's, and may be another one in the next
)
