package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// PostgresOption changes how Postgres makes a dialect.
type PostgresOption func(*postgres)

// WithLogger sets where the warnings about the server's settings go. The
// default is slog.Default.
func WithLogger(l *slog.Logger) PostgresOption { return func(p *postgres) { p.log = l } }

// WithDeadline sets how long the store waits for the server's answer to one
// statement, a commit included, and for a connection. The default is 30 s. A
// call whose commit was not answered by then is resolved by its request id, or
// returns *fsm.AmbiguousError; one that had not come to its commit returns a
// refusal with fsm.ErrBusy. Where statement_timeout is not set, the store's sessions
// set it to a part of it, so that a server that works speaks first, and
// idle_in_transaction_session_timeout to twice of it. The store sets lock_timeout for its
// writes by itself.
func WithDeadline(d time.Duration) PostgresOption {
	return func(p *postgres) { p.deadline = max(d, 10*time.Millisecond) }
}

// Postgres is the dialect of PostgreSQL from 15 on, by any driver whose errors
// have a method SQLState, as pgx's have. A write is one statement, conditional
// on the record's revision and state; a transaction locks the record and the
// groups it decides on (read committed), and one that met another is run again
// as a whole. It warns once about a server that may lose acknowledged
// transitions in a power cut, raises synchronous_commit where it is off or
// local, never lowers it, and refuses a standby.
func Postgres(opts ...PostgresOption) Dialect {
	p := &postgres{log: slog.Default(), deadline: 30 * time.Second, moment: moment}
	for _, opt := range opts {
		opt(p)
	}
	return p
}

type postgres struct {
	log             *slog.Logger
	deadline        time.Duration
	moment          time.Duration // of a write: see lines
	warned          sync.Once
	met             atomic.Bool // the server has said that it is PostgreSQL
	place           place
	pool            bool // WithPooler, and its limits
	statement, idle time.Duration
}

func (p *postgres) patience() time.Duration { return p.deadline }

func (*postgres) Name() string { return "postgres" }

func (*postgres) server() bool { return true }

const oldestPostgres = 150000

// postgresSettings asks for everything in one round trip.
const postgresSettings = `SELECT concat_ws(' ', current_setting('server_version_num'), pg_is_in_recovery(), current_setting('transaction_read_only'),
	current_setting('session_replication_role'), current_setting('standard_conforming_strings'), current_setting('server_encoding'),
	current_setting('client_encoding'), current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),
	current_setting('statement_timeout'), current_setting('row_security'), current_setting('idle_in_transaction_session_timeout'),
	replace(current_setting('default_transaction_isolation'), ' ', '-'),
	current_setting('random_page_cost')::float8 > current_setting('seq_page_cost')::float8`

// walking makes the planner take an index that has the order of a query, however few rows it
// believes to fit: see docs/decisions/0043.
const walking = `set_config('random_page_cost', current_setting('seq_page_cost'), `

func (p *postgres) settings(ctx context.Context, q querier, u use, t *table) error {
	if !p.met.Load() {
		says, err := one(ctx, q, "SELECT version()")
		if err != nil {
			return fmt.Errorf("sqlstore: ask the server what it is: %w", err)
		}
		if err := p.place.choose(ctx, q, p.pool); err != nil {
			return err
		}
		if err := p.known(says); err != nil {
			return err
		}
	}
	ids, want := p.place.oids(), 15
	known := ids != ""
	if known {
		ids, want = ", "+ids, 16
	}
	if u == forBegun {
		ids, want = ids+p.first(), want+5
	}
	if known && u == forTransaction {
		ids, want = ids+", "+p.filtered(t), want+1
	}
	text, err := one(ctx, q, postgresSettings+ids+")")
	if err != nil {
		return fmt.Errorf("sqlstore: read the server's settings: %w", err)
	}
	v := strings.Fields(text)
	if len(v) != want {
		return fmt.Errorf("sqlstore: read the server's settings: got %q, expected %d values", text, want)
	}
	if known {
		if err := p.place.same(v[15]); err != nil {
			return err
		}
	}
	if known && u == forTransaction && v[16] == "t" {
		return &UserObjectError{"row security", "of the role of this transaction", "hides rows of the machine's tables, so rules across records would count " +
			"too few; begin the transaction as a role that sees all rows, such as the owner of the tables"}
	}
	if version, err := strconv.Atoi(v[0]); err != nil || version < oldestPostgres {
		return fmt.Errorf("sqlstore: the server's version is %s, expected PostgreSQL 15 or later", v[0])
	}
	var wrong []string
	recovery, readOnly, why := "f", "off", "the session may write (look at default_transaction_read_only of role and database)"
	if u == forReading { // a standby does as well
		recovery, readOnly, why = v[1], "on", "nothing can be written"
		if p.pool { // the store itself refuses to
			readOnly = v[2]
		}
	}
	for _, s := range []struct{ name, have, want, why string }{
		{"pg_is_in_recovery", v[1], recovery, "the server is the primary and takes writes"},
		{"transaction_read_only", v[2], readOnly, why},
		{"session_replication_role", v[3], "origin", "the schema's triggers hold"},
		{"standard_conforming_strings", v[4], "on", "texts mean what they say"},
		{"server_encoding", v[5], "UTF8", "every id can be stored"},
		{"client_encoding", v[6], "UTF8", "every id can be sent"},
	} {
		if s.have != s.want {
			wrong = append(wrong, fmt.Sprintf("%s is %q, expected %q so that %s", s.name, s.have, s.want, s.why))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("sqlstore: the connection's settings do not do: %s", strings.Join(wrong, "; "))
	}
	// For the session, so that it costs nothing at each transaction.
	var set []string
	change := func(name, value string) {
		set = append(set, fmt.Sprintf("set_config('%s', '%s', %t)", name, value, u != forStore))
	}
	kept := u == forStore && p.pool // what would be set now does not hold in a transaction
	if u != forReading && !kept && (v[7] == "off" || v[7] == "local") {
		change("synchronous_commit", "on")
	}
	if !p.pool && u != forTransaction {
		if v[11] != "off" { // a policy that comes later is an error instead of fewer rows
			change("row_security", "off")
		}
		if v[10] == "0" {
			change("statement_timeout", milliseconds(p.deadline*5/6))
		}
		if u == forStore { // for writes: what reads has its transaction set the one of the address again
			change("lock_timeout", milliseconds(p.unseated()))
		}
		if v[12] == "0" {
			change("idle_in_transaction_session_timeout", milliseconds(2*p.deadline))
		}
		if want := strings.ToLower(p.isolation(false).String()); strings.ReplaceAll(v[13], "-", " ") != want { // of the statements that are transactions of their own
			change("default_transaction_isolation", want)
		}
		if v[14] == "t" {
			set = append(set, fmt.Sprint(walking, u != forStore, ")"))
		}
	}
	if len(set) > 0 {
		if _, err := one(ctx, q, "SELECT concat("+strings.Join(set, ", ")+")"); err != nil {
			return fmt.Errorf("sqlstore: change the session's settings: %w", err)
		}
	}
	if u != forReading && (v[8] != "on" || v[9] != "on") {
		p.warned.Do(func() {
			p.log.WarnContext(ctx, "the PostgreSQL server may lose acknowledged transitions when the power is cut; switch both settings on",
				"fsync", v[8], "full_page_writes", v[9])
		})
	}
	return nil
}

// unseated is how long a statement of a write waits for a lock at first: see lines.
func (p *postgres) unseated() time.Duration { return min(p.moment, p.deadline/3) }

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// file: a server has none that this process could lock.
func (*postgres) file(context.Context, querier) (string, error) { return "", nil }

func (p *postgres) snapshot() string {
	text := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if !p.pool { // where nothing is set
		text += "; SET LOCAL lock_timeout TO DEFAULT" // it waits for a table as long as its other limits say
	}
	return text
}

func (*postgres) claim() string { return "" }

// isolation: a decision stands on rows that are locked, on groups that are
// locked, and on unique indexes. Only who counts other records needs more: two
// rules that count over different groups share no lock.
func (*postgres) isolation(strict bool) sql.IsolationLevel {
	if strict {
		return sql.LevelSerializable
	}
	return sql.LevelReadCommitted
}

// claimSchema lets one program after the other make tables.
func (p *postgres) claimSchema() string {
	return "LOCK TABLE " + p.qualified("fsm_meta") + " IN SHARE ROW EXCLUSIVE MODE"
}

// makingAgain: IF NOT EXISTS does not see what another transaction is making.
func (*postgres) makingAgain(err error) bool {
	switch sqlState(err) {
	case "42P07", "42710", "42723": // there is such a table, trigger, function
		return true
	case "23505":
		return strings.HasPrefix(constraintOf(err), "pg_") // an index of the catalog
	}
	return err != nil && strings.Contains(err.Error(), "tuple concurrently updated")
}

// hold: a foreign key of the user's that refers to the row waits for nobody.
func (*postgres) hold() string { return " FOR NO KEY UPDATE" }

// hidden: a unique index knows rows that came after the transaction's snapshot. One
// that is not of the generated schema is a rule of the user's, which nobody else tells of.
func (p *postgres) hidden(err error, table string) bool {
	if sqlState(err) != "23505" {
		return false
	}
	name := p.rule(err, "")
	if name == "" || len(name) >= maxIdentifier { // it is not told, or was cut off
		return true
	}
	for _, ours := range []string{"_pkey", "_events_", "_outbox_", "_groups_", "_unique_"} {
		if strings.HasPrefix(name, table+ours) {
			return true
		}
	}
	return false
}

// maxIdentifier is the length in bytes that the server cuts names off at.
const maxIdentifier = 63

// savepoint: any error makes the whole transaction useless.
func (*postgres) savepoint() bool { return true }

func (p *postgres) objects(ctx context.Context, q querier) (map[string]bool, error) {
	names, err := column(ctx, q, `SELECT relname::text FROM pg_class WHERE relnamespace = `+p.namespace()+`
		UNION SELECT tgname::text FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid WHERE relnamespace = `+p.namespace())
	objects := make(map[string]bool, len(names))
	for _, n := range names {
		objects[n] = true
	}
	return objects, err
}

var errByScript = errors.New("tables on a PostgreSQL server are not changed by a program; " +
	"print the migration with `fsmgen diff --sql postgres OLD NEW` and run it on the server")

func (p *postgres) columns(table string) string {
	return `SELECT attname::text FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
		WHERE relnamespace = ` + p.namespace() + ` AND relname = ` + literal(table) + ` AND attnum > 0 AND NOT attisdropped`
}

func (p *postgres) ruled(table, columns string) string {
	prefix := table + "_unique_"
	prefix = prefix[:min(len(prefix), maxIdentifier-9)] // a longer name ends in a hash
	return `SELECT coalesce(pg_get_expr(indpred, indrelid), 'true') FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid
		WHERE indrelid = ` + literal(p.qualified(table)) + `::regclass AND indisunique
		AND starts_with(i.relname, ` + literal(prefix) + `)
		AND coalesce((SELECT string_agg(attname::text, ',' ORDER BY attname::text COLLATE "C") FROM pg_attribute
			WHERE attrelid = indrelid AND attnum = ANY(indkey)), '') = ` + literal(columns)
}

// unguarded puts the transaction's number into a setting that ends with it, which the
// trigger functions ask for. So no table is locked, and what is set fits no other
// transaction of the session. The triggers at the end of the transaction ask as well.
func (p *postgres) unguarded(ctx context.Context, q querier, t *table, f func() error) error {
	owned, err := one(ctx, q, `SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class
		WHERE oid = `+literal(t.part("_events"))+`::regclass
		AND set_config('fsm.unguarded', pg_current_xact_id()::text || `+literal(" "+t.schema.Machine)+`, true) IS NOT NULL`)
	switch {
	case err != nil:
		return err
	case owned != "true" && t.enforce() != "none":
		return &fsm.Refusal{Code: fsm.ErrDenied, Machine: t.schema.Machine,
			Message: "only the owner of the tables repairs and redacts; connect as a role that has the owner's rights"}
	}
	err = f()
	if err != nil && strings.HasPrefix(sqlState(err), "FS") {
		err = t.mismatch("the triggers are not those of the generated schema and let no repair or redaction pass (%v)", err)
	}
	return err
}

func (*postgres) shred() string { return "" }

func (*postgres) backup(string) []string { return nil }

func (*postgres) limit(placeholder string) string { return " LIMIT " + placeholder }

func (*postgres) placeholder(n int) string { return "$" + strconv.Itoa(n) }

func (*postgres) cast(parameter string, kind driver.Kind) string {
	return parameter + "::" + columnType(kind)
}

func (*postgres) bind(v any) any { return held(v) }

// operand: values of json cannot be compared, their texts can.
func (*postgres) operand(column string, kind driver.Kind) string {
	if kind == driver.KindJSON || kind == driver.KindSet {
		return column + "::text"
	}
	return column
}

// later: a time plus an interval depends on the session's time zone, for the server, so no
// index can have it. The interval since a fixed time does not, and orders rows the same way.
func (p *postgres) later(column, length string) string {
	return "(" + p.since(column) + " + " + length + " * interval '1 microsecond')"
}

func (*postgres) since(t string) string { return t + " - '1970-01-01 00:00:00+00'::timestamptz" }

func (*postgres) present(column string) string { return "(json_array_length(" + column + ") > 0)" }

// The planner has statistics of its own.
func (*postgres) often(condition string) string         { return condition }
func (*postgres) seldom(condition string) string        { return condition }
func (*postgres) walk(string, driver.Kind, bool) string { return "" }

func (*postgres) order(column string, optional, descending bool) []string {
	if descending {
		column += " DESC"
	}
	if optional { // an index is found only by the very order that it was made with
		column += " NULLS LAST"
	}
	return []string{column}
}

func (p *postgres) lock() string { return p.hold() + " SKIP LOCKED" }

func (*postgres) lockGroup(t *table, try bool) string {
	if try {
		return t.text("try_group")
	}
	return t.text("lock_group")
}

func (*postgres) lockPlaces(t *table, try bool) string {
	if try {
		return t.text("try_to_lock_places")
	}
	return t.text("lock_places")
}

// stateSuffix is what pgx puts after the message.
var stateSuffix = regexp.MustCompile(` \(SQLSTATE \w{5}\)$`)

func (*postgres) rule(err error, machine string) string {
	message := stateSuffix.ReplaceAllString(err.Error(), "")
	if _, rule, ok := strings.Cut(message, "fsm: "+machine+": "); ok {
		return rule
	}
	return constraintOf(err)
}

// constraintOf returns the constraint that an error of the server names. The server's text may be
// of any language (lc_messages), and its drivers keep the name in a field: pgx in ConstraintName,
// lib/pq in Constraint.
func constraintOf(err error) string {
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return ""
	}
	said := reflect.Indirect(reflect.ValueOf(coded))
	if said.Kind() != reflect.Struct {
		return ""
	}
	for _, field := range []string{"ConstraintName", "Constraint"} {
		if name := said.FieldByName(field); name.Kind() == reflect.String {
			return name.String()
		}
	}
	return ""
}
