package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// An audit compares every record with its log. The schema refuses an edit by manual SQL. Somebody who drops its
// trigger can edit a row, and the audit finds it.
func Example_audit() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "fsm-example-")
	agreed(err)
	defer func() { agreed(os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "jobs.db")

	store, err := sqlite.Open(path)
	agreed(err)
	defer func() { agreed(store.Close()) }()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store)
	agreed(err)
	_, err = jobs.Enqueue(ctx, "job-1", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "order-17"})
	agreed(err)

	db, err := sqlite.OpenDB(path)
	agreed(err)
	defer func() { agreed(db.Close()) }()
	const edit = `UPDATE lifecycle SET attempt = 9 WHERE id = 'job-1'`
	_, err = db.ExecContext(ctx, edit)
	fmt.Println("refused:", err != nil)
	_, err = db.ExecContext(ctx, `DROP TRIGGER lifecycle_update; DROP TRIGGER lifecycle_update_keeps; `+edit)
	agreed(err)

	for finding, err := range audit.Run(ctx, jobs) {
		agreed(err)
		fmt.Println(finding)
	}
	// Output:
	// refused: true
	// fold: "job-1" at revision 0: the record differs from the fold of its log: attempt is 9, not 0
}

// agreed ends an example that went wrong.
func agreed(err error) {
	if err != nil {
		panic(err)
	}
}
