package cookbook

import (
	"context"
	"log/slog"
	"time"

	"example.com/cookbook/job"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// twice is the program of the README.
func twice(ctx context.Context, jobs *job.Machine) (first, second job.Outcome, err error) {
	begin := func() error {
		_, err := jobs.Submit(ctx, "job-1", fsm.Call{RequestID: "order-17"})
		if err != nil {
			return err
		}
		running, err := jobs.As("worker-1").Claim(ctx, fsm.Call{})
		if err != nil {
			return err
		}
		done, err := running.Finish(ctx)  // a RunningJob has Finish, but no Claim: a wrong move does not compile
		again, err := running.Finish(ctx) // the answer was lost? the same result, and again.Outcome().Replayed is true
		first, second = done.Outcome(), again.Outcome()
		return err
	}
	return first, second, begin()
}

// sweep gives jobs back whose lease is over, until ctx ends. Any number of processes may do so.
func sweep(ctx context.Context, jobs *job.Machine) error {
	return jobs.Core().RunSweeper(ctx, time.Second, func(steps int, err error) {
		if err != nil {
			slog.Error("sweep", "err", err)
		}
	})
}
