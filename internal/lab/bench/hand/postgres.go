package hand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var errMoved = errors.New("the row has moved")

// postgres writes a batch as one statement for all records that are made and one for all
// that move; both go in one trip and are one transaction.
type postgres struct {
	pool                    *pgxpool.Pool
	columns                 []column
	makes, moves, one, made string
}

// what is a write's parameters, by the order in the texts.
var what = []column{{"id", "text"}, {"rev", "bigint"}, {"was", "text"}, {"becomes", "text"}, {"op", "text"},
	{"request", "text"}, {"inputs", "text"}}

func openPostgres(ctx context.Context, dsn string, m machine) (database, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	tables := `CREATE TABLE IF NOT EXISTS record (id text COLLATE "C" PRIMARY KEY, state text COLLATE "C" NOT NULL, rev
		bigint NOT NULL CHECK (rev >= 1),
		created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, ` + m.fields + `) WITH (fillfactor = 70);
		CREATE TABLE IF NOT EXISTS event (id text COLLATE "C" NOT NULL, rev bigint NOT NULL, op text NOT NULL, was text,
			becomes text NOT NULL,
		at timestamptz NOT NULL, actor text NOT NULL, request text COLLATE "C" NOT NULL, inputs json,
		CHECK ((rev = 1) = (was IS NULL) AND request <> ''));
		CREATE UNIQUE INDEX IF NOT EXISTS event_request ON event (id, request);`
	if _, err := pool.Exec(ctx, tables); err != nil {
		return nil, err
	}
	all := slices.Concat(what, m.columns)
	columns := names(m.columns, func(_ int, c column) string { return c.name })
	const event = "INSERT INTO event (id, rev, op, was, becomes, at, actor, request, inputs) "
	moved := `w AS (UPDATE record AS r SET state = i.becomes, rev = r.rev + 1, updated_at = $1::timestamptz` +
		names(m.columns, func(_ int, c column) string { return c.name + " = i." + c.name }) +
		` FROM i WHERE r.id = i.id AND r.rev = i.rev AND r.state = i.was RETURNING r.rev AS now, i.*) ` +
		event + `SELECT id, now, op, was, becomes, $1::timestamptz, 'w', request, inputs::json FROM w`
	made := `w AS (INSERT INTO record (id, state, rev, created_at, updated_at` + columns + `) SELECT id, becomes, 1,
		$1::timestamptz, $1::timestamptz` + columns + ` FROM i) ` +
		event + `SELECT id, 1, op, NULL, becomes, $1::timestamptz, 'w', request, inputs::json FROM i`
	many := `WITH i AS MATERIALIZED (SELECT * FROM unnest(` +
		names(all, func(i int, c column) string { return fmt.Sprintf("$%d::%s[]", i+2, c.kind) })[2:] + `) AS i(` +
		names(all, func(_ int, c column) string { return c.name })[2:] + fmt.Sprintf(`) LIMIT $%d::bigint), `, len(all)+2)
	alone := `WITH i AS (SELECT ` + names(all, func(i int, c column) string {
		return fmt.Sprintf("$%d::%s AS %s", i+2,
			c.kind, c.name)
	})[2:] + `), `
	return &postgres{pool, m.columns, many + made, many + moved, alone + moved, alone + made}, nil
}

func (p *postgres) close() error { p.pool.Close(); return nil }

func (p *postgres) write(ctx context.Context, list []move) error {
	now := time.Now()
	if len(list) == 1 {
		x := list[0]
		args := append([]any{now, x.row.id, x.row.rev, x.row.state, x.to, x.op, x.request, x.inputs}, x.values...)
		text := p.one
		if x.row.rev == 0 {
			text = p.made
		}
		tag, err := p.pool.Exec(ctx, text, args...)
		if err == nil && tag.RowsAffected() != 1 {
			err = errMoved
		}
		return err
	}
	slices.SortFunc(list, func(a, b move) int { return strings.Compare(a.row.id, b.row.id) })
	var made, moved []move
	for _, x := range list {
		if x.row.rev == 0 {
			made = append(made, x)
		} else {
			moved = append(moved, x)
		}
	}
	var b pgx.Batch
	if len(made) > 0 {
		b.Queue(p.makes, p.arrays(now, made)...)
	}
	if len(moved) > 0 {
		b.Queue(p.moves, p.arrays(now, moved)...)
	}
	results := p.pool.SendBatch(ctx, &b)
	n := int64(0)
	for range b.Len() {
		tag, err := results.Exec()
		if err != nil {
			return errors.Join(err, results.Close())
		}
		n += tag.RowsAffected()
	}
	if err := results.Close(); err != nil {
		return err
	}
	if n != int64(len(list)) {
		return errMoved
	}
	return nil
}

// arrays are the parameters of a statement for many.
func (p *postgres) arrays(now time.Time, list []move) []any {
	n := len(list)
	ids, was, becomes, ops := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	requests, inputs, revs := make([]string, n), make([]string, n), make([]int64, n)
	for i, x := range list {
		ids[i], revs[i], was[i], becomes[i] = x.row.id, x.row.rev, x.row.state, x.to
		ops[i], requests[i], inputs[i] = x.op, x.request, x.inputs
	}
	args := []any{now, ids, revs, was, becomes, ops, requests, inputs}
	for k, c := range p.columns {
		switch c.kind {
		case "bigint":
			args = append(args, values[int64](list, k))
		case "timestamptz":
			args = append(args, values[time.Time](list, k))
		default:
			args = append(args, values[string](list, k))
		}
	}
	return append(args, int64(n))
}

// values are one column's; nil is NULL.
func values[T any](list []move, k int) []*T {
	out := make([]*T, len(list))
	for i, x := range list {
		if v, ok := x.values[k].(T); ok {
			out[i] = &v
		}
	}
	return out
}
