package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Explain calls f with the transaction tx, and seen with each query that f
// makes and with the database's plan for it, a line for each step. It is for
// tests of indexes. SQLite's plans do not depend on what the tables hold;
// PostgreSQL's do. Where free is not set, it is asked for the plan that it has when it
// may not read a table as a whole, where there is another way. Returns the error of
// f, or one of its own when tx is not of this store.
func (s *Store) Explain(tx driver.Tx, free bool, f func(driver.Tx) error, seen func(query, plan string)) error {
	x, ok := tx.(*txn)
	if !ok || x.t.store != s {
		return fmt.Errorf("sqlstore: explain a %T; expected a transaction of this store", tx)
	}
	y := *x
	y.q = explainer{x.q, s.dialect, free, seen}
	return f(&y)
}

// explainer asks for the plan of each query before it makes it.
type explainer struct {
	querier
	d    Dialect
	free bool
	seen func(query, plan string)
}

func (e explainer) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	plan, err := e.d.plan(ctx, e.querier, e.free, text, args)
	if err != nil {
		return fmt.Errorf("sqlstore: explain %s: %w", text, err)
	}
	e.seen(text, plan)
	return e.querier.query(ctx, each, text, args...)
}

func (sqlite) plan(ctx context.Context, q querier, _ bool, text string, args []any) (string, error) {
	var steps []string
	err := q.query(ctx, func(rows Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	}, "EXPLAIN QUERY PLAN "+text, args...)
	return strings.Join(steps, "\n"), err
}

// unliked are the steps of a plan that get slower with the tables.
var unliked = []string{"enable_seqscan", "enable_bitmapscan"}

func (*postgres) plan(ctx context.Context, q querier, free bool, text string, args []any) (string, error) {
	if free {
		steps, err := column(ctx, q, "EXPLAIN (COSTS OFF) "+text, args...)
		return strings.Join(steps, "\n"), err
	}
	for _, name := range unliked {
		if _, err := q.exec(ctx, "SET LOCAL "+name+" = off"); err != nil {
			return "", err
		}
	}
	steps, err := column(ctx, q, "EXPLAIN (COSTS OFF) "+text, args...)
	for _, name := range unliked {
		if err == nil {
			_, err = q.exec(ctx, "SET LOCAL "+name+" TO DEFAULT")
		}
	}
	return strings.Join(steps, "\n"), err
}
