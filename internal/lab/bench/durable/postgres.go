package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// The names of loads over PostgreSQL.
const (
	SelectOne   = "by hand: SELECT 1"
	OneInsert   = "by hand: one INSERT"
	CTE         = "by hand: one statement (CTE)"
	Unnest      = "by hand: one unnest statement a batch"
	NaiveServer = "by hand, naive: six round trips"
)

// sessions is how many connections each load has.
const sessions = 8

// OpenPostgres opens our machine in the database, at level full.
func OpenPostgres(ctx context.Context, dsn string, opts ...fsm.Option) (*lifecycle.Machine, fsm.Store, error) {
	return openPostgres(ctx, dsn, Full, opts...)
}

func openPostgres(ctx context.Context, dsn, level string, opts ...fsm.Option) (*lifecycle.Machine, fsm.Store, error) {
	store, err := postgres.Open(ctx, dsn, postgres.WithEnforce(level), postgres.WithMaxSessions(sessions), postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return nil, nil, err
	}
	err = lifecycle.Migrate(ctx, store)
	var m *lifecycle.Machine
	if err == nil {
		m, err = lifecycle.Open(ctx, store, opts...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return m, store, nil
}

// Postgres compares transitions on a PostgreSQL server and calls f with the rates
// for each number of callers. All loads use the same tables, at the level, each
// jobs of its own; what has none of them is left out below level full. A database
// has tables of one level.
func Postgres(ctx context.Context, dsn, level string, t measure.Turns, callers []int, f func(callers int, rates []measure.Rate)) error {
	m, store, err := openPostgres(ctx, dsn, level)
	if err != nil {
		return err
	}
	defer store.Close()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	config.MaxConns = sessions
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS "bench_notes" ("id" text NOT NULL PRIMARY KEY, "at" timestamptz NOT NULL, "note" text NOT NULL)`); err != nil {
		return err
	}
	most := slices.Max(callers)
	jobs := func() []*Job {
		if err != nil {
			return nil
		}
		var list []*Job
		list, err = Running(ctx, m, most)
		return list
	}
	ours, cte, batched, naive := jobs(), jobs(), jobs(), jobs()
	if err != nil {
		return err
	}
	h := &handPostgres{pool}
	group := newGatherer(func(jobs []*Job) error { return h.unnest(ctx, jobs) })
	defer group.stop()
	loads := []measure.Load{
		{Name: Ours, Step: func(ctx context.Context, c int) error { return ours[c].Beat(ctx, m) }},
		{Name: CTE, Step: func(ctx context.Context, c int) error { return h.cte(ctx, cte[c]) }},
		{Name: Unnest, Step: func(_ context.Context, c int) error { return group.do(batched[c]) }},
		{Name: NaiveServer, Step: func(ctx context.Context, c int) error { return h.naive(ctx, naive[c]) }},
		{Name: OneInsert, Step: func(ctx context.Context, _ int) error {
			_, err := pool.Exec(ctx, `INSERT INTO "bench_notes" VALUES ($1, $2, $3)`, driver.NewID(), time.Now(), "https://example.com/")
			return err
		}},
		{Name: SelectOne, Step: func(ctx context.Context, _ int) error {
			_, err := pool.Exec(ctx, "SELECT 1")
			return err
		}},
	}
	if level != Full {
		loads = loads[:4]
	}
	for _, n := range callers {
		t.Callers = n
		rates, err := measure.Rates(ctx, t, loads...)
		if err != nil {
			return fmt.Errorf("%d callers: %w", n, err)
		}
		f(n, rates)
	}
	return nil
}

// handPostgres is the same work written by hand with pgx.
type handPostgres struct{ pool *pgxpool.Pool }

const handEvent = `"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
	"fingerprint", "inputs", "changes", "version", "checksum"`

const handCTE = `WITH w AS (UPDATE "lifecycle" SET "rev" = "rev" + 1, "updated_at" = $1::timestamptz, "lease" = $2::timestamptz
	WHERE "id" = $3 AND "rev" = $4 AND "state" = 'running' AND "owner" = 'w' RETURNING "id", "rev")
	INSERT INTO "lifecycle_events" (` + handEvent + `)
	SELECT "id", "rev", 0, 'heartbeat', 'heartbeat', 'running', 'running', $1::timestamptz, 'w', '', $5, -1, $6, $7::text::json, $8::text::json, 1, 0 FROM w`

// cte is the transition in one statement.
func (h *handPostgres) cte(ctx context.Context, j *Job) error {
	request := j.next()
	fingerprint, inputs, changes := j.documents()
	tag, err := h.pool.Exec(ctx, handCTE, time.Now(), j.lease, j.id, j.rev, request, fingerprint, inputs, changes)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return errMoved
	}
	j.rev++
	return nil
}

// naive is the transition as it is mostly written: six round trips.
func (h *handPostgres) naive(ctx context.Context, j *Job) error {
	request := j.next()
	fingerprint, inputs, changes := j.documents()
	tx, err := h.pool.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	var known int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM "lifecycle_events" WHERE "id" = $1 AND "request_id" = $2`, j.id, request).Scan(&known); err != nil || known > 0 {
		return errors.Join(err, errMoved)
	}
	var rev int64
	var state, owner string
	err = tx.QueryRow(ctx, `SELECT "rev", "state", "owner" FROM "lifecycle" WHERE "id" = $1 FOR UPDATE`, j.id).Scan(&rev, &state, &owner)
	if err != nil || rev != j.rev || state != "running" || owner != worker {
		return errors.Join(err, errMoved)
	}
	now := time.Now()
	if _, err := tx.Exec(ctx, `UPDATE "lifecycle" SET "rev" = $2, "updated_at" = $3, "lease" = $4 WHERE "id" = $1`, j.id, rev+1, now, j.lease); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO "lifecycle_events" (`+handEvent+`) VALUES ($1, $2, 0, 'heartbeat', 'heartbeat', 'running', 'running', $3, 'w', '', $4, -1, $5, $6::text::json, $7::text::json, 1, 0)`,
		j.id, rev+1, now, request, fingerprint, inputs, changes); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	j.rev++
	return nil
}

const handUnnest = `WITH w AS (UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = $1::timestamptz, "lease" = i.lease
	FROM unnest($2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[]) AS i(id, was, lease, request, print, inputs, changes)
	WHERE r."id" = i.id AND r."rev" = i.was AND r."state" = 'running' AND r."owner" = 'w' RETURNING r."rev", i.*)
	INSERT INTO "lifecycle_events" (` + handEvent + `)
	SELECT id, "rev", 0, 'heartbeat', 'heartbeat', 'running', 'running', $1::timestamptz, 'w', '', request, -1, print, inputs::json, changes::json, 1, 0 FROM w`

// unnest is the transition of all who wait, in one statement over arrays.
func (h *handPostgres) unnest(ctx context.Context, jobs []*Job) error {
	slices.SortFunc(jobs, func(a, b *Job) int { return strings.Compare(a.id, b.id) })
	n := len(jobs)
	ids, requests, prints, inputs, changes := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	revs, leases := make([]int64, n), make([]time.Time, n)
	for i, j := range jobs {
		requests[i] = j.next()
		ids[i], revs[i], leases[i] = j.id, j.rev, j.lease
		prints[i], inputs[i], changes[i] = j.documents()
	}
	tag, err := h.pool.Exec(ctx, handUnnest, time.Now(), ids, revs, leases, requests, prints, inputs, changes)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != int64(n) {
		return errMoved
	}
	for _, j := range jobs {
		j.rev++
	}
	return nil
}
