package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// wireTo returns a connection and its shorter way, which is used within it only,
// and another connection to look at it.
func wireTo(t *testing.T) (d *wire, conn *sql.Conn, beside *sql.DB) {
	t.Helper()
	dsn := pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if beside, err = sql.Open("pgx", dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { beside.Close() })
	if conn, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.Raw(func(c any) error { d = openWire(c).(*wire); return nil }); err != nil {
		t.Fatal(err)
	}
	return d, conn, beside
}

// What is sent comes back as it was, in whatever form it goes over the line.
func TestWireValues(t *testing.T) {
	t.Parallel()
	if openWire("no connection of pgx") != nil {
		t.Error("there is a shorter way to what is no connection of pgx")
	}
	d, _, _ := wireTo(t)
	at := time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.FixedZone("elsewhere", -7200))
	long := strings.Repeat("long ", 1<<15)
	var rows []string
	for range 2 { // the second time the statement is known
		n, err := d.Run(`SELECT concat_ws('|', $1::text, $2::bigint, $3::int, $4::boolean, $5::boolean, $6::timestamptz AT TIME ZONE 'UTC', $7::json->>'a', ($8::text[])[2], $9::text IS NULL, $10::bigint, length($11::text))
			FROM generate_series(1, 2)`, []any{"ä\"'", int64(-1 << 62), 7, true, false, at, `{"a":"b"}`, `{"x","y z"}`, nil, 8, long}, func(text string) { rows = append(rows, text) })
		if n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	want := `ä"'|-4611686018427387904|7|t|f|1970-01-01 01:59:59.999999|b|y z|t|8|163840`
	if diff := cmp.Diff([]string{want, want, want, want}, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.made != 1 {
		t.Errorf("it was prepared %d times", d.made)
	}
	for name, args := range map[string][]any{"too few": nil, "too many": {"a", "b"}, "a strange one": {1.5}, "a time for a text": {at}} {
		if _, err := d.Run("SELECT $1::text", args, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if n, err := d.Run("SELECT $1::text", []any{"and on it goes"}, nil); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// An error of the server is that of the statement, whenever it comes; the
// connection is as good as before.
func TestWireErrors(t *testing.T) {
	t.Parallel()
	d, conn, beside := wireTo(t)
	if _, err := beside.Exec(`CREATE TABLE "a" ("n" bigint PRIMARY KEY, "of" bigint REFERENCES "a" DEFERRABLE INITIALLY DEFERRED)`); err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO "a" SELECT unnest($1::bigint[]), $2::bigint`
	run := func(text, want string, changed int64, args ...any) {
		t.Helper()
		n, err := d.Run(text, args, nil)
		code := ""
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
			code = refused.Code
		}
		if code != want || n != changed || err != nil && want == "" {
			t.Errorf("%s: %d, %v, want %d and the state %q", text, n, err, changed, want)
		}
	}
	run(insert, "", 12, "{1,2,3,4,5,6,7,8,9,10,11,12}", nil)
	run(insert, "23505", 0, "{1}", nil)
	run(insert, "23503", 0, "{13}", int64(99)) // at the commit
	run(insert, "", 1, "{13}", int64(1))
	if d.made != 1 {
		t.Errorf("it was prepared %d times: a refusal is none of the statement's", d.made)
	}
	run("no statement", "42601", 0)
	run(insert, "", 1, "{14}", nil)
	if _, err := conn.ExecContext(t.Context(), "DEALLOCATE ALL"); err != nil {
		t.Fatal(err)
	}
	run(insert, "26000", 0, "{15}", nil)
	run(insert, "", 1, "{15}", nil)
	const all = `SELECT * FROM "a" WHERE "n" = $1::bigint`
	run(all, "", 1, int64(15))
	if _, err := beside.Exec(`ALTER TABLE "a" ADD COLUMN "more" text`); err != nil {
		t.Fatal(err)
	}
	run(all, "0A000", 0, int64(15))
	run(all, "", 1, int64(15))
	var n int
	if err := beside.QueryRow(`SELECT count(*) FROM "a"`).Scan(&n); err != nil || n != 15 {
		t.Errorf("%d rows, %v; want 15", n, err)
	}
}

// What is kept prepared is bounded.
func TestWireForgets(t *testing.T) {
	t.Parallel()
	d, conn, _ := wireTo(t)
	for i := range maxPrepared + 3 {
		if _, err := d.Run(fmt.Sprintf("SELECT %d, $1::text", i), []any{""}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var kept int
	if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'fsm%'").Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if kept != maxPrepared || len(d.known) != maxPrepared {
		t.Errorf("the server keeps %d, %d are known; want %d", kept, len(d.known), maxPrepared)
	}
}

// A statement that is interrupted ends, here and in the server; what comes too late
// can be undone.
func TestWireInterrupted(t *testing.T) {
	t.Parallel()
	d, conn, beside := wireTo(t)
	const sleep = "SELECT pg_sleep($1::bigint)::text"
	if _, err := d.Run(sleep, []any{int64(0)}, nil); err != nil {
		t.Fatal(err)
	}
	d.Interrupt()
	d.Resume()
	if n, err := d.Run(sleep, []any{int64(0)}, nil); n != 1 || err != nil {
		t.Fatalf("after an interruption that was undone: %d, %v", n, err)
	}
	var pid int
	if err := conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	works := func(want bool) {
		t.Helper()
		for {
			var active bool
			if err := beside.QueryRow("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%pg_sleep%')", pid).Scan(&active); err != nil {
				t.Fatal(err)
			}
			if active == want {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	ended := make(chan error)
	go func() {
		_, err := d.Run(sleep, []any{int64(3600)}, nil)
		ended <- err
	}()
	works(true)
	d.Interrupt()
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
	works(false)
}

// A connection that the server or the network ends gives an error that is none of a statement.
func TestWireCut(t *testing.T) {
	t.Parallel()
	d, conn, beside := wireTo(t)
	var pid int
	if err := conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run("SELECT $1::text", []any{""}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := beside.Exec("SELECT pg_terminate_backend($1, 60000)", pid); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if n, err := d.Run("SELECT $1::text", []any{""}, nil); n != 0 || err == nil {
			t.Errorf("try %d: %d, %v; want an error", i, n, err)
		}
	}
}
