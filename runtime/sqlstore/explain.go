package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Explain calls f with the transaction tx, and seen with each query that f
// makes and with the database's plan for it, a line for each step. It is for
// tests of indexes. Returns the error of f, or one of its own when tx is not of
// this store or the database is not SQLite, whose plans do not depend on what
// the tables hold.
func (s *Store) Explain(tx fsm.Tx, f func(fsm.Tx) error, seen func(query, plan string)) error {
	x, ok := tx.(*txn)
	if !ok || x.t.store != s {
		return fmt.Errorf("sqlstore: explain a %T; expected a transaction of this store", tx)
	}
	if name := s.dialect.Name(); name != "sqlite" {
		return fmt.Errorf("sqlstore: explain on %s; expected sqlite", name)
	}
	y := *x
	y.q = explainer{x.q, seen}
	return f(&y)
}

// explainer asks for the plan of each query before it makes it.
type explainer struct {
	querier
	seen func(query, plan string)
}

func (e explainer) query(ctx context.Context, text string, args ...any) (*rows, error) {
	plan, err := e.plan(ctx, text, args)
	if err != nil {
		return nil, err
	}
	e.seen(text, plan)
	return e.querier.query(ctx, text, args...)
}

func (e explainer) plan(ctx context.Context, text string, args []any) (string, error) {
	answer, err := e.querier.query(ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return "", err
	}
	defer answer.Close()
	var steps []string
	for answer.Next() {
		var id, parent, unused int
		var step string
		if err := answer.Scan(&id, &parent, &unused, &step); err != nil {
			return "", err
		}
		steps = append(steps, step)
	}
	return strings.Join(steps, "\n"), errors.Join(answer.Err(), answer.Close())
}
