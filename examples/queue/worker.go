package main

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// consume claims jobs and works on them. The generated worker keeps their leases
// alive, and finishes what it has begun when ctx ends.
func (q *queue) consume(ctx context.Context, name string) error {
	worker, err := lifecycle.NewWorker(q.machine, name, lifecycle.WorkerConfig{
		Options: worker.Options{Lease: q.lease, Beat: q.lease / 4, Poll: 10 * time.Millisecond},
		Work:    q.work,
		Failed:  failed,
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}

// work runs one claimed job: start, apply the effect, complete.
func (q *queue) work(ctx context.Context, claimed lifecycle.ClaimedJob) error {
	q.ack(claimed.Outcome())
	running, err := claimed.Start(ctx)
	if err != nil {
		return err
	}
	q.ack(running.Outcome())
	if err := sleep(ctx, q.config.work); err != nil { // the work itself
		return err
	}
	// The effect is outside the store, so it can happen at least once only; the
	// job's id is the key under which the ledger takes it once.
	if err := q.ledger.apply(ctx, running.Record().ID, running.Owner()); err != nil {
		return err
	}
	done, err := running.Complete(ctx, lifecycle.CompleteInput{Result: fsm.MustJSON(`{"ok":true}`)})
	if err != nil {
		return err
	}
	q.ack(done.Outcome())
	return nil
}

// failed writes down why a job that had started failed; one that had not goes
// back into the queue when its lease ends.
func failed(ctx context.Context, j lifecycle.AnyJob, cause error) error {
	running, ok := j.(lifecycle.RunningJob)
	if !ok {
		return nil
	}
	why, err := fsm.MarshalValue(cause.Error())
	if err == nil {
		_, err = running.Fail(ctx, lifecycle.FailInput{Error: why})
	}
	return err
}
