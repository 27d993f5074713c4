package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// consume claims jobs one after another and works on them.
func (q *queue) consume(ctx context.Context, worker string) error {
	for ctx.Err() == nil {
		claimed, err := q.machine.ClaimNext(ctx, lifecycle.ClaimNextRequest{
			RequestID: fsm.NewID(),
			Actor:     worker,
			Lease:     time.Now().Add(q.lease),
		})
		if errors.Is(err, fsm.ErrNothingToDo) {
			_ = sleep(ctx, 10*time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		q.ack(claimed)
		err = q.work(ctx, worker, claimed)
		// A refusal means that the job is no longer ours: the lease ended and
		// somebody else has it. The queue has lost nothing; take the next one.
		if refusal := (*fsm.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
			return err
		}
	}
	return nil
}

// work runs one claimed job: start, keep the lease alive, apply the effect,
// complete.
func (q *queue) work(ctx context.Context, worker string, claimed lifecycle.Outcome) error {
	// A request id is remembered as long as the record, so each attempt has its own.
	attempt := claimed.Record.Attempt
	running, err := q.machine.Start(ctx, claimed, lifecycle.StartRequest{
		RequestID: fmt.Sprintf("start-%d", attempt),
		Actor:     worker,
	})
	if err != nil {
		return err
	}
	q.ack(running)

	job := &held{outcome: running}
	beat, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { q.heartbeat(beat, worker, job) })
	err = sleep(ctx, q.config.work) // the work itself
	stop()
	wg.Wait()
	if err != nil {
		return err
	}

	// The effect is outside the store, so it can happen at least once only; the
	// job's id is the key under which the ledger takes it once.
	if err := q.ledger.apply(ctx, running.Record.ID, worker); err != nil {
		return err
	}
	done, err := q.machine.Complete(ctx, job.outcome, lifecycle.CompleteRequest{
		RequestID: fmt.Sprintf("complete-%d", attempt),
		Actor:     worker,
		Result:    fsm.MustJSON(`{"ok":true}`),
	})
	if err != nil {
		return err
	}
	q.ack(done)
	return nil
}

// held is the job that a worker holds, at its newest revision.
type held struct{ outcome lifecycle.Outcome }

// heartbeat renews the lease until ctx ends or the job is lost.
func (q *queue) heartbeat(ctx context.Context, worker string, job *held) {
	for sleep(ctx, q.lease/4) == nil {
		out, err := q.machine.Heartbeat(context.WithoutCancel(ctx), job.outcome, lifecycle.HeartbeatRequest{
			RequestID: fsm.NewID(),
			Actor:     worker,
			Lease:     time.Now().Add(q.lease),
		})
		if err != nil {
			return // Complete will be told why
		}
		job.outcome = out
		q.ack(out)
	}
}
