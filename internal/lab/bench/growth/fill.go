// Package growth measures what does not have to depend on how much is stored: a
// transition, a replay, a sweep, a fold and an audit with a thousand records and
// with millions.
package growth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// template is a record that was made by the engine, with its log. Copies of it
// under other ids are records that an audit finds nothing wrong with.
type template struct {
	job    lifecycle.Job
	events []fsm.Event
}

// lease is when the leases of filled records end: long after any measurement.
var lease = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

const worker = "w"

var payload = fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))

// claimed makes the template of a record with a live lease.
func claimed(ctx context.Context) (template, error) {
	store := memstore.New()
	defer store.Close()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return template{}, err
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		return template{}, err
	}
	out, err := m.Enqueue(ctx, "t", lifecycle.EnqueueInput{Payload: payload}, fsm.Call{RequestID: "t"})
	if err != nil {
		return template{}, err
	}
	if out, err = m.ClaimNextOf(ctx, out, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "claim", Actor: worker}); err != nil {
		return template{}, err
	}
	t := template{job: out.Record}
	for e, err := range m.History(ctx, "t") {
		if err != nil {
			return template{}, err
		}
		t.events = append(t.events, e)
	}
	return t, nil
}

// id names the i-th record; ids are in the order of their making, as those are
// that the engine makes.
func id(i int) string { return fmt.Sprintf("job-%010d", i) }

// request is the request that made the i-th record.
func request(i int) string { return "enqueue " + id(i) }

// rows returns the record and its log under the i-th id, as values of jobColumns
// and eventColumns.
func (t template) rows(i int, instant func(time.Time) any) (record []any, events [][]any) {
	j := t.job
	owner, _ := j.Owner.Get()
	ends, _ := j.Lease.Get()
	record = []any{id(i), j.State.String(), j.Rev, instant(j.CreatedAt), instant(j.UpdatedAt),
		j.Payload.Or(fsm.JSON{}).String(), owner, instant(ends), j.Attempt}
	var chain uint32
	for _, e := range t.events {
		e.ID = id(i)
		if e.Rev == 1 {
			e.RequestID = request(i)
		}
		e.Sum = driver.Checksum(&e)
		chain = driver.Chained(chain, &e)
		events = append(events, []any{e.ID, e.Rev, e.N, e.Operation, e.Name, orNull(e.From), e.To, instant(e.At), e.Actor, e.Reason, e.RequestID,
			e.RequestN, e.Fingerprint, text(e.Inputs), text(e.Changes), text(e.Image), int64(e.Version), int64(e.Sum), int64(chain)})
	}
	return record, events
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func text(j fsm.JSON) any {
	if j.IsZero() {
		return nil
	}
	return j.String()
}

var (
	jobColumns   = []string{"id", "state", "rev", "created_at", "updated_at", "payload", "owner", "lease", "attempt"}
	eventColumns = []string{"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id",
		"request_n", "fingerprint", "inputs", "changes", "image", "version", "checksum", "chain"}
)

// fillSQLite adds the records from one number up to another to a file that our
// store has made and nobody uses. The triggers, which let no row in that an
// operation did not write, stand aside meanwhile.
func fillSQLite(ctx context.Context, path string, t template, from, to int) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=cache_size(-200000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	aside, err := triggers(ctx, db)
	if err != nil {
		return err
	}
	for name := range aside {
		if _, err := db.ExecContext(ctx, `DROP TRIGGER "`+name+`"`); err != nil {
			return err
		}
	}
	instant := func(t time.Time) any { return t.UnixMicro() }
	const together = 20 // rows of one statement
	for begin := from; begin < to; begin += 100_000 {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		jobs := filler{tx: tx, table: "lifecycle", columns: jobColumns, rows: together}
		events := filler{tx: tx, table: "lifecycle_events", columns: eventColumns, rows: together}
		for i := begin; i < min(to, begin+100_000) && err == nil; i++ {
			record, log := t.rows(i, instant)
			err = jobs.add(record)
			for _, e := range log {
				err = errors.Join(err, events.add(e))
			}
		}
		if err = errors.Join(err, jobs.flush(), events.flush()); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	for _, text := range aside {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// triggers returns the machine's triggers and how they are made.
func triggers(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT "name", "sql" FROM sqlite_master WHERE "type" = 'trigger'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		list[name] = text
	}
	return list, rows.Err()
}

// filler inserts many rows with one statement.
type filler struct {
	tx      *sql.Tx
	table   string
	columns []string
	rows    int
	full    *sql.Stmt
	args    []any
}

func (f *filler) add(row []any) error {
	f.args = append(f.args, row...)
	if len(f.args) < f.rows*len(f.columns) {
		return nil
	}
	if f.full == nil {
		var err error
		if f.full, err = f.tx.Prepare(f.text(f.rows)); err != nil {
			return err
		}
	}
	_, err := f.full.Exec(f.args...)
	f.args = f.args[:0]
	return err
}

// flush inserts what is left.
func (f *filler) flush() error {
	if len(f.args) == 0 {
		return nil
	}
	_, err := f.tx.Exec(f.text(len(f.args)/len(f.columns)), f.args...)
	f.args = f.args[:0]
	return err
}

func (f *filler) text(rows int) string {
	row := "(" + strings.Repeat("?, ", len(f.columns)-1) + "?)"
	return `INSERT INTO "` + f.table + `" ("` + strings.Join(f.columns, `", "`) + `") VALUES ` + strings.Repeat(row+", ", rows-1) + row
}

// fillPostgres is fillSQLite for a database that our store has made the tables in.
func fillPostgres(ctx context.Context, dsn string, t template, from, to int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	sides := func(what string) error {
		for _, table := range []string{"lifecycle", "lifecycle_events"} {
			if _, err := conn.Exec(ctx, `ALTER TABLE "`+table+`" `+what+` TRIGGER USER`); err != nil {
				return err
			}
		}
		return nil
	}
	if err := sides("DISABLE"); err != nil {
		return err
	}
	instant := func(t time.Time) any { return t }
	i, place, log := from, 0, [][]any(nil)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"lifecycle_events"}, eventColumns, pgx.CopyFromFunc(func() ([]any, error) {
		if place == len(log) {
			if i == to {
				return nil, nil
			}
			_, log = t.rows(i, instant)
			i, place = i+1, 0
		}
		place++
		return log[place-1], nil
	}))
	if err != nil {
		return err
	}
	if _, err = conn.CopyFrom(ctx, pgx.Identifier{"lifecycle"}, jobColumns, pgx.CopyFromSlice(to-from, func(i int) ([]any, error) {
		record, _ := t.rows(from+i, instant)
		return record, nil
	})); err != nil {
		return err
	}
	if err := sides("ENABLE"); err != nil {
		return err
	}
	for _, text := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} { // or the server does both while others are measured
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
