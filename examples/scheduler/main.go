// Command scheduler is a single-node task scheduler (specs/task.yaml): it
// persists that a task runs before it runs it, and that the task is completed
// only after its effect. A task that was running when the process died is
// pending again at the next start, so a task runs at least once.
//
//	scheduler -db tasks.db -submit 5     submit five tasks and run all there are
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fsmgen/fsmgen/examples/scheduler/task"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func main() {
	db := flag.String("db", "tasks.db", "SQLite file that keeps the tasks")
	submit := flag.Int("submit", 0, "number of tasks to submit first")
	crash := flag.Int("crash", -1, "die in the middle of the n-th task, to show the recovery")
	flag.Parse()
	if err := run(context.Background(), *db, *submit, *crash, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

// executor is the effect: it runs the tasks. Tasks must be idempotent, since a
// crash between the effect and its record runs a task again; key is the same
// each time.
type executor struct {
	out   io.Writer
	crash int // dies in the middle of this one
}

// ExecuteTask runs one task.
//
// The key is what a real task hands to the outside world: the same one each time
// that the task runs, after a crash too.
func (x *executor) ExecuteTask(_ context.Context, _ task.Task, key string, _ fsm.Event) error {
	fmt.Fprintf(x.out, "running %s\n", key)
	if x.crash == 0 {
		fmt.Fprintln(x.out, "crash")
		os.Exit(2)
	}
	x.crash--
	return nil
}

// run recovers, submits, and runs every pending task.
func run(ctx context.Context, db string, submit, crash int, out io.Writer) error {
	store, err := sqlite.Open(db)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := task.Migrate(ctx, store); err != nil {
		return err
	}
	m, err := task.Open(ctx, store, &executor{out, crash})
	if err != nil {
		return err
	}
	recovered, err := m.Startup(ctx)
	if err != nil {
		return err
	}
	if recovered > 0 {
		fmt.Fprintf(out, "%d task(s) were running when the scheduler died: pending again\n", recovered)
	}
	for range submit {
		if _, err := m.Submit(ctx, "", fsm.Call{}); err != nil {
			return err
		}
	}
	for {
		_, err := m.Start(ctx, fsm.Call{})
		if errors.Is(err, fsm.ErrNothingToDo) {
			break
		}
		if err != nil {
			return err
		}
		if _, err := m.Deliver(ctx); err != nil {
			return err
		}
	}
	counts, err := m.Count(ctx, task.StateCompleted)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d task(s) completed\n", counts[task.StateCompleted])
	return nil
}
