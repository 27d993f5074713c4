package cookbook

import (
	"context"

	"example.com/cookbook/task"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// attempt claims the task that is due first, and writes down how the work ended.
func attempt(ctx context.Context, tasks *task.Machine, actor string, do func(task.Task) error) (task.State, error) {
	working, err := tasks.As(actor).Claim(ctx, fsm.Call{})
	if err != nil {
		return 0, err // fsm.ErrNothingToDo: none is due
	}
	if do(working.Record()) == nil {
		done, err := working.Finish(ctx)
		return done.Record().State, err
	}
	next, err := working.Fail(ctx)
	return next.Record().State, err // waiting, or failed after the fifth time
}
