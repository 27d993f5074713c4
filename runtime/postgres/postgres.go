// Package postgres opens a store on a PostgreSQL server, 15 or later, with the
// driver pgx.
//
//	store, err := postgres.Open(ctx, "postgres://user@host/database")
//
// Any number of processes may use one database at the same time. A write is one
// statement, conditional on the record's revision and state; writes that wait are
// committed together. What needs a transaction locks the record it decides on
// and is run again as a whole when it meets another; only those that count other
// records by rules that share no lock are serializable. An acknowledged
// transition is durable as far as the server's settings make it so: a session
// whose synchronous_commit is off or local has it raised to on, a standby is
// refused, and fsync or full_page_writes switched off are warned about.
//
// A connection lost during a commit leaves the outcome open: the engine looks
// the request id up, and when it cannot, the call returns *fsm.AmbiguousError.
// The same call again, with the same request id, tells.
//
// Calls that wait for a lock of somebody else hold up no others: those that wait for one
// record, group or place use one session, and all of them at most half of the sessions. An
// atomic effect that waits for a lock may therefore run again.
//
// A server that does not answer is not waited for longer than the deadline: a
// call that had not come to its commit is refused with fsm.ErrBusy, and so is
// one for which no connection was to be had.
//
// Workers that found nothing are woken by what other processes announce with NOTIFY:
// after the commit, at most every 5 ms, never in a transaction that writes.
//
// Errors never hold the password of the address.
//
// A server that is not PostgreSQL by its own word is refused with sqlstore.ErrServer.
// A pooler between the store and the server is refused with *PoolerError, since settings
// and prepared statements belong to a session; WithPooler does without them.
//
// What it does not do: it copies no data; the server's own tools do. A transaction of the caller that
// Store.Adopt joins and in which other records are counted should be serializable,
// as the store's own are then: at a lower level such rules hold only by their
// locks. The deadline is not over statements of an effect's own.
//
// # Many steps of one record in one transaction
//
// PostgreSQL keeps every version of a row that a transaction made until it ends,
// and walks past them to the newest one: finding the row takes longer with each
// step. Measured at level full, in one transaction of the caller's: 250 steps of
// one record took 0.2 s and 0.04 s at the commit, 500 took 0.3 and 0.2 s, 1000
// took 1.0 and 0.7 s; to find the row took 0.1, 0.25 and 0.5 ms by then. It is so
// at every level, and other records do not notice. Commit after some hundred steps.
//
// # Restoring a log
//
// Log and Watch read the events by the number of the transaction that wrote
// them, below the oldest one that is open anywhere on the server: a long or a
// prepared transaction that writes, of another database too, holds back what was
// committed after it began. Readers, replication slots and standbys do not.
// docs/queries.md has a query that names it, and fsm.Observation has its Lag.
//
// A dump that is restored on another server brings numbers which that server has
// not reached; events written there would stand before them. Log refuses such a
// log. Put the restored events at its beginning, as the owner of the tables, and
// let readers begin again with an empty cursor; each record keeps its order:
//
//	ALTER TABLE "job_events" DISABLE TRIGGER USER;
//	UPDATE "job_events" SET "xid" = '1';
//	ALTER TABLE "job_events" ENABLE TRIGGER USER;
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// Option changes how Open opens a store.
type Option func(*options)

type options struct {
	sessions  int
	deadline  time.Duration
	statement time.Duration
	readOnly  bool
	pooler    bool
	schema    string
	log       *slog.Logger
	dialect   []sqlstore.PostgresOption
	store     []sqlstore.Option
}

// WithMaxSessions bounds how many connections the store opens, for reading and
// writing together. The default is 8. Beside them, a process that leaves work for
// workers of others announces it over one connection, and one with workers hears of it
// over another.
func WithMaxSessions(n int) Option { return func(o *options) { o.sessions = max(n, 1) } }

// WithDeadline sets how long the store waits for an answer of the server: see
// sqlstore.WithDeadline. The default is 30 s.
func WithDeadline(d time.Duration) Option {
	return func(o *options) { o.deadline, o.dialect = d, append(o.dialect, sqlstore.WithDeadline(d)) }
}

// WithStatementTimeout sets how long the server works on one statement, waiting
// for locks included. The default is five sixths of the deadline; the address may
// set its own.
func WithStatementTimeout(d time.Duration) Option { return func(o *options) { o.statement = d } }

// WithReadOnly makes a store that only reads, of sessions in which the server
// refuses every write; a standby does as well. See sqlstore.WithReadOnly.
func WithReadOnly() Option {
	return func(o *options) { o.readOnly, o.store = true, append(o.store, sqlstore.WithReadOnly()) }
}

// WithLogger sets where warnings about the server's settings go.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.log, o.dialect = l, append(o.dialect, sqlstore.WithLogger(l)) }
}

// WithSchema names the schema of the tables: see sqlstore.WithSchema.
func WithSchema(name string) Option {
	return func(o *options) { o.schema, o.dialect = name, append(o.dialect, sqlstore.WithSchema(name)) }
}

// WithEnforce lowers the level of enforcement, for tests that make up rows. See
// sqlstore.WithEnforce.
func WithEnforce(level string) Option {
	return func(o *options) { o.store = append(o.store, sqlstore.WithEnforce(level)) }
}

// misread reports whether an address was perhaps read as something else than was
// meant: a password with / ? or # in it ends the host too early, and its rest would
// be shown as the name of a host or a database.
func misread(dsn string) bool {
	_, rest, isURL := strings.Cut(dsn, "://")
	end := strings.IndexAny(rest, "/?#")
	return isURL && end >= 0 && strings.Contains(rest[end:], "@")
}

// idle is how long a transaction may wait for its program, such as an atomic effect, until the
// server ends it. The address may set another idle_in_transaction_session_timeout.
const idle = time.Minute

// Open opens the store in the database that dsn names, as a URL or as
// "key=value" pairs. It makes no tables: the generated Migrate does. The
// context bounds the first connection only.
func Open(ctx context.Context, dsn string, opts ...Option) (*sqlstore.Store, error) {
	o := options{sessions: 8, deadline: 30 * time.Second, log: slog.Default()}
	for _, opt := range opts {
		opt(&o)
	}
	if o.statement == 0 {
		o.statement = o.deadline * 5 / 6
	}
	if o.statement < time.Millisecond {
		return nil, fmt.Errorf("postgres: a statement timeout of %s; expected at least 1ms", o.statement)
	}
	if o.pooler { // the address of a pooler sets no limits: each transaction does
		o.dialect = append(o.dialect, sqlstore.WithPooler(o.statement, idle))
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil || misread(dsn) { // its words may hold a part of the address, and so of the password
		return nil, errors.New("postgres: the address cannot be read; expected one like postgres://user:password@host:5432/database?sslmode=verify-full " +
			"(the characters / ? # @ of a password are written %2F %3F %23 %40)")
	}
	if o.pooler {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		o.limit(config)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = min(10*time.Second, o.deadline)
	}
	var each []stdlib.OptionOpenDB // of the connections, those that come later too
	if !o.pooler {
		each = append(each, stdlib.OptionAfterConnect(direct))
	}
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement { // else statements are not to be kept prepared
		o.store = append(o.store, sqlstore.WithNative(nativeOf))
	}
	db := stdlib.OpenDB(*config, each...)
	db.SetMaxOpenConns(o.sessions)
	db.SetMaxIdleConns(o.sessions)
	db.SetConnMaxLifetime(0)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: connect: %w", o.refused(err)), db.Close())
	}
	h := newHerald(config, o.schema, !o.pooler, o.log)
	store, err := sqlstore.New(db, sqlstore.Postgres(o.dialect...),
		append(o.store, sqlstore.WithRelease(db.Close), sqlstore.WithRelease(h.close), sqlstore.WithBell(&h.bell))...)
	if err != nil {
		return nil, errors.Join(o.refused(err), h.close(), db.Close())
	}
	return store, nil
}

// limit makes the sessions begin with settings.
func (o *options) limit(config *pgx.ConnConfig) {
	for name, d := range map[string]time.Duration{"statement_timeout": o.statement, "idle_in_transaction_session_timeout": idle} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = strconv.FormatInt(d.Milliseconds(), 10)
		}
	}
	if o.readOnly {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
}
