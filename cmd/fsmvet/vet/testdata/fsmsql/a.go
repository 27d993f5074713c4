// Package fsmsql writes tables of machines, and does what looks alike.
package fsmsql

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/fsmgen/fsmgen/examples/orders/order"
	_ "github.com/fsmgen/fsmgen/examples/queue/lifecycle"
)

// want+1 `UPDATE on lifecycle writes a table of the machine lifecycle past it: no rule is kept and no event tells it; make the step by an operation`
const fix = `
	UPDATE lifecycle SET state = 'queued' WHERE id = $1`

func writes(ctx context.Context, db *sql.DB, id string) {
	_, _ = db.ExecContext(ctx, fix, id)
	_, _ = db.Exec(`insert into "order" (id) values (?)`, id)                                    // want `INSERT on order writes a table of the machine order past it`
	_, _ = db.Exec("DELETE FROM lifecycle_events "+"WHERE id = ?", id)                           // want `DELETE on lifecycle_events`
	_, _ = db.Exec("DELETE FROM public.lifecycle WHERE id = '" + id + "'")                       // want `DELETE on lifecycle`
	_, _ = db.Exec("BEGIN; INSERT OR REPLACE INTO lifecycle_outbox SELECT * FROM kept; COMMIT")  // want `INSERT on lifecycle_outbox`
	_, _ = db.Exec(fmt.Sprintf("UPDATE lifecycle AS l SET lease = NULL WHERE id = %q", id))      // want `UPDATE on lifecycle`
	_, _ = db.Exec("WITH old AS (DELETE FROM lifecycle WHERE id = $1 RETURNING *) SELECT 1", id) // want `DELETE on lifecycle`
	_, _ = db.Exec("TRUNCATE lifecycle_groups")                                                  // want `TRUNCATE on lifecycle_groups`
}

func looksAlike(ctx context.Context, db *sql.DB, id string) {
	_, _ = db.QueryContext(ctx, "SELECT * FROM lifecycle WHERE id = ?", id)
	_, _ = db.Exec("INSERT INTO ledger (job) SELECT id FROM lifecycle")
	_, _ = db.Exec("UPDATE lifecycles SET state = 1")
	_, _ = db.Exec("UPDATE stock SET n = n - 1 WHERE id IN (SELECT id FROM lifecycle)")
	log.Printf("update order %s", id)
	log.Print("delete from order: not possible")
	log.Print("insert into order failed")
	fmt.Println("cannot UPDATE order SET of things")
	fmt.Println("Delete from lifecycle", "Update lifecycle set", "insert into lifecycle", "update lifecycle set")
}
