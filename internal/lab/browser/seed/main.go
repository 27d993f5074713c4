// Command seed makes the database that the browser tests look at: jobs of the
// queue with an overdue lease, ids that are no HTML, and a row that breaks a rule.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/live/livetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: seed FILE")
		os.Exit(2)
	}
	if err := fill(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func fill(ctx context.Context, path string) (err error) {
	store, err := sqlite.Open(path, sqlite.WithEnforce("none"))
	if err != nil {
		return err
	}
	if err := errors.Join(livetest.Jobs(ctx, store), enqueue(ctx, store), store.Close()); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=ignore_check_constraints(1)")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `UPDATE lifecycle SET result = NULL WHERE id = 'job-1'`)
	return errors.Join(err, db.Close())
}

func enqueue(ctx context.Context, store fsm.Store) error {
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		return err
	}
	const id = `<img src=x onerror="window.hacked = 1">`
	_, err = m.Enqueue(ctx, id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: id})
	return err
}
