package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// session is a connection of database/sql, and what runs statements on it.
type session struct {
	*testing.T
	q runner
}

// runner makes trips of one statement each.
type runner struct{ sqlstore.Native }

func (r runner) Run(ctx context.Context, limit time.Duration, each func(sqlstore.Rows) error, text string, args ...any) (int64, error) {
	return r.Native.Run(ctx, limit, sqlstore.Trip{Each: each, Text: text, Args: args})
}

func newSession(t *testing.T, dsn string) *session {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &session{T: t}
	if err := conn.Raw(func(c any) error { s.q.Native = nativeOf(c); return nil }); err != nil || s.q.Native == nil {
		t.Fatal(err, s.q.Native)
	}
	return s
}

func (s *session) exec(text string, args ...any) int64 {
	s.Helper()
	n, err := s.q.Run(s.Context(), time.Minute, nil, text, args...)
	if err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	return n
}

// texts returns the first columns of the rows of a query.
func (s *session) texts(text string, args ...any) (list []string, err error) {
	_, err = s.q.Run(s.Context(), time.Minute, func(row sqlstore.Rows) error {
		var v any
		err := row.Scan(&v)
		list = append(list, fmt.Sprint(v))
		return err
	}, text, args...)
	return list, err
}

// Arguments and columns mean what they mean to database/sql.
func TestNativeValues(t *testing.T) {
	t.Parallel()
	s := newSession(t, pgtest.DSN(t))
	at := time.Date(2026, 11, 30, 10, 0, 0, 123456000, time.UTC)
	long := strings.Repeat("x", maxArgs+1)
	for range 2 { // the second time it is prepared
		var text, empty, object string
		var number int64
		var truth bool
		var when time.Time
		var any1, any2, any3, any4, any5 any
		var absent sql.NullString
		n, err := s.q.Run(t.Context(), 0, func(row sqlstore.Rows) error {
			return row.Scan(&text, &empty, &number, &truth, &when, &object, &absent, &any1, &any2, &any3, &any4, &any5)
		}, `SELECT $1::text, $2::text, $3::bigint, $4::boolean, $5::timestamptz, $6::json, $7::text,
			$3::bigint, $4::boolean, $5::timestamptz, $6::json, $7::text`,
			long, "", int64(-7), true, at, `{"a": 1}`, nil)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if text != long || empty != "" || number != -7 || !truth || !when.Equal(at) || object != `{"a": 1}` || absent.Valid {
			t.Errorf("read %d bytes, %q, %d, %t, %s, %s, %v", len(text), empty, number, truth, when, object, absent)
		}
		if any1 != int64(-7) || any2 != true || !any3.(time.Time).Equal(at) || any4 != `{"a": 1}` || any5 != nil {
			t.Errorf("read %v, %v, %v, %v, %v", any1, any2, any3, any4, any5)
		}
	}
	if list, err := s.texts(`SELECT $1::integer UNION ALL SELECT $2::smallint`, int64(-7), int64(8)); err != nil || strings.Join(list, " ") != "-7 8" {
		t.Errorf("narrower numbers: %v, %v", list, err)
	}
	if list, err := s.texts(`SELECT ($1::text IS NULL)::text`, ""); err != nil || list[0] != "false" {
		t.Errorf("an empty text is absent: %v, %v", list, err)
	}
	var text string
	_, err := s.q.Run(t.Context(), 0, func(row sqlstore.Rows) error { return row.Scan(&text) }, `SELECT $1::text`, nil)
	if err == nil || !strings.Contains(err.Error(), "column") {
		t.Errorf("NULL was read as a text: %v", err)
	}
	if _, err := s.texts(`SELECT $1::text`, "a", "b"); err == nil || !strings.Contains(err.Error(), "1 parameters, got 2") {
		t.Errorf("an argument too many: %v", err)
	}
}

// What stops in the middle leaves the session of use.
func TestNativeStops(t *testing.T) {
	t.Parallel()
	s := newSession(t, pgtest.DSN(t))
	mine := errors.New("mine")
	stop := func(sqlstore.Rows) error { return mine }
	if _, err := s.q.Run(t.Context(), 0, stop, `SELECT g::text FROM generate_series(1, $1::bigint) AS g`, int64(1000)); !errors.Is(err, mine) {
		t.Errorf("got %v, want the caller's error", err)
	}
	if _, err := s.texts(`SELECT (1 / ($1::bigint - g))::text FROM generate_series(1, 5) AS g`, int64(3)); err == nil {
		t.Error("a division by zero succeeded")
	}
	for i := range maxKnown + 2 { // more than it keeps
		if list, err := s.texts(fmt.Sprintf("SELECT 'text %d'", i)); err != nil || list[0] != fmt.Sprint("text ", i) {
			t.Fatal(list, err)
		}
	}
	list, err := s.texts(`SELECT count(*)::text FROM pg_prepared_statements`)
	if err != nil || len(list[0]) > 3 {
		t.Errorf("%v statements are prepared, %v; want at most %d", list, err, maxKnown)
	}
}

// A statement whose answer does not come in time loses its connection, as by a context.
func TestNativeLimit(t *testing.T) {
	t.Parallel()
	server := pgtest.DSN(t)
	gone, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	for name, c := range map[string]struct {
		ctx   context.Context
		limit time.Duration
	}{"the limit": {t.Context(), 50 * time.Millisecond}, "the context": {gone, time.Minute}} {
		s := newSession(t, server)
		began := time.Now()
		_, err := s.q.Run(c.ctx, c.limit, func(sqlstore.Rows) error { return nil }, `SELECT pg_sleep($1)::text`, 20.0)
		if took := time.Since(began); err == nil || took > 10*time.Second || !s.q.Ended() {
			t.Errorf("%s: %v after %s; want an error soon, and a closed connection", name, err, took)
		}
	}
	s := newSession(t, server)
	for range 3 { // the limit is of each statement
		if _, err := s.q.Run(t.Context(), 2*time.Second, func(sqlstore.Rows) error { return nil }, `SELECT pg_sleep($1)::text`, 0.9); err != nil {
			t.Error(err)
		}
	}
}

// Another session changes what a prepared statement returns, or its statements are removed: one by itself is
// prepared again, and one in a transaction says so as a server that does not know it.
func TestOutdatedStatement(t *testing.T) {
	t.Parallel()
	server := pgtest.DSN(t)
	s, other := newSession(t, server), newSession(t, server)
	s.exec(`CREATE TABLE made ("a" text, "b" bigint)`)
	if n := s.exec(`INSERT INTO made VALUES ($1, $2)`, "one", int64(1)); n != 1 {
		t.Errorf("%d rows were written, want 1", n)
	}
	const query = `SELECT "a" FROM made WHERE "b" = $1`
	for _, change := range []struct {
		by   *session
		text string
	}{
		{other, `ALTER TABLE made ALTER "a" TYPE varchar`},
		{s, `DEALLOCATE ALL`},
		{other, `ALTER TABLE made ALTER "a" TYPE text`},
	} {
		for _, inside := range []bool{false, true} {
			if list, err := s.texts(query, int64(1)); err != nil || len(list) != 1 {
				t.Fatalf("before %s: %v, %v", change.text, list, err)
			}
			change.by.exec(change.text)
			if inside {
				s.exec(`BEGIN`)
			}
			list, err := s.texts(query, int64(1))
			if inside {
				var said interface{ SQLState() string }
				if !errors.As(err, &said) || said.SQLState() != "26000" {
					t.Errorf("%s, in a transaction: %v, %v; want the state 26000", change.text, list, err)
				}
				s.exec(`ROLLBACK`)
				list, err = s.texts(query, int64(1))
			}
			if err != nil || len(list) != 1 || list[0] != "one" {
				t.Errorf("%s, in a transaction %t: %v, %v", change.text, inside, list, err)
			}
			if change.by == other {
				other.exec(`ALTER TABLE made ALTER "a" TYPE name USING "a"::name`) // so that the next change is one, too
				if _, err := s.texts(query, int64(1)); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A statement beside rows that are still open is refused as what it is, and not as a lost connection, after which the
// engine would begin again.
func TestOpenRowsAreNoLostConnection(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("pgx", pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &session{T: t}
	if err := conn.Raw(func(c any) error { s.q.Native = nativeOf(c); return nil }); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tx.QueryContext(t.Context(), `SELECT generate_series(1, 100000)`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.texts(`SELECT $1::text`, "x"); err == nil || errors.Is(err, driver.ErrBadConn) || !strings.Contains(err.Error(), "still open") {
		t.Errorf("got %v, want that rows are open", err)
	}
	if err := errors.Join(rows.Close(), rows.Err()); err != nil {
		t.Error(err)
	}
	if list, err := s.texts(`SELECT $1::text`, "x"); err != nil || list[0] != "x" {
		t.Errorf("afterwards: %v, %v", list, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// Where taking all statements off failed in the middle, one that is outdated is still prepared again.
func TestStatementsThatPgxForgot(t *testing.T) {
	t.Parallel()
	server := pgtest.DSN(t)
	s, other := newSession(t, server), newSession(t, server)
	s.exec(`CREATE TABLE made ("a" text)`)
	s.exec(`INSERT INTO made VALUES ($1)`, "one")
	const query = `SELECT "a" FROM made WHERE "a" = $1`
	if _, err := s.texts(query, "one"); err != nil {
		t.Fatal(err)
	}
	for i := range maxKnown - 2 {
		if _, err := s.texts(fmt.Sprintf("SELECT 'text %d'", i)); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.q.Run(gone, time.Minute, func(sqlstore.Rows) error { return nil }, `SELECT 'one more'`); err == nil {
		t.Fatal("a statement of a context that has ended succeeded")
	}
	other.exec(`ALTER TABLE made ALTER "a" TYPE varchar`)
	if list, err := s.texts(query, "one"); err != nil || len(list) != 1 {
		t.Errorf("got %v, %v", list, err)
	}
}

// BEGIN and COMMIT go with statements. What the server says of a statement before COMMIT is that statement's error, and
// nobody is told of a commit that was a rollback.
func TestBeginAndCommitInATrip(t *testing.T) {
	t.Parallel()
	server := pgtest.DSN(t)
	s, other := newSession(t, server), newSession(t, server)
	s.exec(`CREATE TABLE made ("a" text, "b" bigint, UNIQUE ("a") DEFERRABLE INITIALLY DEFERRED)`)
	trip := func(trip sqlstore.Trip) (list []string, err error) {
		if !trip.Commit {
			trip.Each = func(row sqlstore.Rows) error {
				var v any
				err := row.Scan(&v)
				list = append(list, fmt.Sprint(v))
				return err
			}
		}
		_, err = s.q.Native.Run(t.Context(), time.Minute, trip)
		return list, err
	}
	begin := sqlstore.Trip{Begin: true, Text: `SELECT "b" FROM made WHERE "a" = $1 FOR UPDATE`, Args: []any{"x"}}
	insert := func(a string, b any) sqlstore.Trip {
		return sqlstore.Trip{Text: `INSERT INTO made VALUES ($1, 6 / $2::bigint)`, Args: []any{a, b}, Commit: true}
	}
	count := func(want string) {
		t.Helper()
		if list, err := other.texts(`SELECT count(*) FROM made`); err != nil || list[0] != want {
			t.Errorf("%v rows, %v; want %s", list, err, want)
		}
		if !s.q.Ended() {
			t.Error("the transaction is open")
			s.exec(`ROLLBACK`)
		}
	}
	open := func(what string, err error, want bool) {
		t.Helper()
		if c := (*sqlstore.CommitError)(nil); err == nil || errors.As(err, &c) != want {
			t.Errorf("%s: %v; want an error of COMMIT: %t", what, err, want)
		}
	}
	if list, err := trip(begin); err != nil || len(list) != 0 || s.q.Ended() {
		t.Fatalf("got %v, %v, ended %t", list, err, s.q.Ended())
	}
	if _, err := trip(insert("x", int64(2))); err != nil {
		t.Fatal(err)
	}
	count("1")
	if list, err := trip(begin); err != nil || len(list) != 1 || list[0] != "3" {
		t.Errorf("read %v, %v", list, err)
	}
	_, err := trip(insert("y", int64(0)))
	open("a division by zero", err, false)
	_, err = trip(sqlstore.Trip{Commit: true})
	if open("the commit of what has failed", err, true); !strings.Contains(err.Error(), "resulted in rollback") {
		t.Errorf("got %v, want that it was a rollback", err)
	}
	count("1")
	if _, err = trip(begin); err != nil {
		t.Fatal(err)
	}
	_, err = trip(insert("x", int64(1)))
	open("what is deferred to the commit", err, true)
	count("1")
	removed := func(what string, err error) {
		t.Helper()
		if said := (interface{ SQLState() string })(nil); !errors.As(err, &said) || said.SQLState() != "26000" {
			t.Errorf("%s was removed: %v; want the state 26000", what, err)
		}
	}
	s.exec(`DEALLOCATE ALL`)
	if _, err = trip(begin); err != nil {
		removed("a statement behind BEGIN", err)
		s.exec(`ROLLBACK`)
		_, err = trip(begin)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = trip(insert("z", int64(1)))
	removed("a statement before COMMIT", err)
	open("a statement before COMMIT was removed", err, false)
	s.exec(`ROLLBACK`)
	count("1")
	if _, err = trip(begin); err != nil {
		t.Fatal(err)
	}
	if _, err = trip(insert("z", int64(1))); err != nil {
		t.Fatal(err)
	}
	count("2")
	if _, err = trip(begin); err != nil {
		t.Fatal(err)
	}
	names, err := s.texts(`SELECT name FROM pg_prepared_statements WHERE statement = 'COMMIT'`)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	s.exec(`DEALLOCATE "` + names[0] + `"`)
	_, err = trip(insert("v", int64(1)))
	removed("COMMIT", err)
	open("COMMIT was removed", err, true)
	s.exec(`ROLLBACK`)
	count("2")
	if _, err = trip(begin); err != nil {
		t.Fatal(err)
	}
	if _, err = trip(insert("v", int64(1))); err != nil {
		t.Fatal(err)
	}
	count("3")
	if _, err = trip(begin); err != nil {
		t.Fatal(err)
	}
	if list, err := other.texts(`SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
		WHERE state = 'idle in transaction' AND datname = current_database()`); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	_, err = trip(insert("w", int64(1)))
	open("the server has ended the session", err, true)
	if list, err := other.texts(`SELECT count(*) FROM made`); err != nil || list[0] != "3" {
		t.Errorf("%v rows, %v; want 3", list, err)
	}
}
