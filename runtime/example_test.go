package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// A durable operation is safe to repeat: the same request id returns the first outcome.
func Example() {
	ctx, store := context.Background(), memstore.New() // sqlite.Open and postgres.Open return stores that last
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store)
	agreed(err)

	order, call := lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{"item":4711}`))}, fsm.Call{RequestID: "order-17"}
	first, err := jobs.Enqueue(ctx, "", order, call)
	agreed(err)
	again, err := jobs.Enqueue(ctx, "", order, call) // the answer was lost, so the caller repeats the call
	agreed(err)
	fmt.Println(first.Record.State, first.Replayed)
	fmt.Println(again.Record.State, again.Replayed, again.Record.ID == first.Record.ID)

	order.Payload = fsm.Some(fsm.MustJSON(`{"item":12}`))
	_, err = jobs.Enqueue(ctx, "", order, call) // another request under the same id
	fmt.Println(errors.Is(err, fsm.ErrRequestReused))
	// Output:
	// queued false
	// queued true true
	// true
}

// The pure form of an operation has no store and no clock: it changes a record, or refuses and leaves it alone.
func Example_pure() {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	job, _, err := lifecycle.Enqueue("job-1", lifecycle.EnqueueInput{}, now)
	agreed(err)

	event, err := job.ClaimNext(lifecycle.ClaimNextInput{Lease: now.Add(time.Minute)}, "w1", now)
	agreed(err)
	fmt.Println(event.From, "->", event.To, job.Owner, job.Attempt)

	before := job
	_, err = job.Start("w2", now)
	fmt.Println(err)
	fmt.Println(job == before)
	// Output:
	// queued -> claimed w1 1
	// lifecycle "job-1": start in state claimed: guard owner_only refuses: not owner (owner w1, actor w2)
	// true
}

// A refusal says what to do with it.
func ExampleRefusal_Retry() {
	ctx, store := context.Background(), memstore.New()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store)
	agreed(err)
	made, err := jobs.Enqueue(ctx, "job-1", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "order-17"})
	agreed(err)
	lease := time.Now().Add(time.Minute)
	_, err = jobs.As("w1").ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{})
	agreed(err)

	// This caller has the record from before the claim.
	_, err = jobs.Start(ctx, made, fsm.Call{RequestID: "start-1", Actor: "w2"})
	var refusal *fsm.Refusal
	if errors.As(err, &refusal) {
		switch refusal.Retry() {
		case fsm.NoRetry:
			fmt.Println("give up:", string(refusal.Code))
		case fsm.ReadAgain:
			fmt.Println("read the record again:", string(refusal.Code))
		case fsm.SameCall:
			fmt.Println("repeat the call with its request id:", string(refusal.Code))
		}
	}

	current, err := jobs.Core().Record(ctx, "job-1")
	agreed(err)
	fmt.Println("the job belongs to", current.Owner)
	// Output:
	// read the record again: stale
	// the job belongs to w1
}

// A worker claims jobs, renews their leases while it works, and records failures.
func ExampleNewWorker() {
	ctx, store := context.Background(), memstore.New()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store)
	agreed(err)
	_, err = jobs.Enqueue(ctx, "job-1", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "order-17"})
	agreed(err)

	ctx, stop := context.WithCancel(ctx)
	worker, err := lifecycle.NewWorker(jobs, "w1", lifecycle.WorkerConfig{
		Options: worker.Options{Lease: time.Minute},
		Work: func(ctx context.Context, claimed lifecycle.ClaimedJob) error {
			running, err := claimed.Start(ctx)
			if err != nil {
				return err
			}
			_, err = running.Complete(ctx, lifecycle.CompleteInput{Result: fsm.MustJSON(`{"sum":42}`)})
			stop() // one job is enough here
			return err
		},
		Failed: func(ctx context.Context, job lifecycle.AnyJob, cause error) error {
			fmt.Println("failed:", cause)
			return nil
		},
	})
	agreed(err)
	if err := worker.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		panic(err)
	}

	for e, err := range jobs.History(context.Background(), "job-1") {
		agreed(err)
		fmt.Printf("%d %s by %q: %s\n", e.Rev, e.Operation, e.Actor, e.To)
	}
	// Output:
	// 1 enqueue by "": queued
	// 2 claim_next by "w1": claimed
	// 3 start by "w1": running
	// 4 complete by "w1": succeeded
}

// Somebody asks for their data to be erased: it goes from the record and from every
// event of its log, which says who did it and why, and stays sound.
func Example_redact() {
	ctx, store := context.Background(), memstore.New()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store)
	agreed(err)
	made, err := jobs.Enqueue(ctx, "", lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{"mail":"ann@example.com"}`))}, fsm.Call{RequestID: "order-17"})
	agreed(err)

	job, redacted, err := audit.Redact(ctx, jobs, made.Record.ID, audit.RedactOptions{Fields: []string{"payload"}, Actor: "desk", Reason: "ticket 4711"})
	agreed(err)
	fmt.Println(job.Payload.Present(), redacted)
	for e, err := range jobs.History(ctx, made.Record.ID) {
		agreed(err)
		fmt.Printf("%s %q %q\n", e.Operation, e.Actor, e.Reason)
	}
	for finding, err := range audit.Run(ctx, jobs) {
		fmt.Println(finding, err)
	}
	// Output:
	// false true
	// enqueue "" ""
	// __redact "desk" "ticket 4711"
}

// Purge removes finished records and keeps their ids; Forget removes what it kept, and
// gives up that a late retry is known.
func Example_forget() {
	ctx, store, clock := context.Background(), memstore.New(), fsmtest.NewClock()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store, fsm.WithClock(clock.Now))
	agreed(err)
	done, err := fsmtest.Arrange(ctx, store, jobs.Core(), lifecycle.Job{State: lifecycle.StateSucceeded, Result: fsm.Some(fsm.MustJSON("1"))})
	agreed(err)
	call := fsm.Call{RequestID: "order-17"}

	clock.Advance(30 * 24 * time.Hour)
	purged, err := audit.Purge(ctx, jobs, audit.PurgeOptions{Before: clock.Now(), Actor: "retention", Reason: "30 days"})
	agreed(err)
	_, err = jobs.Enqueue(ctx, done.ID, lifecycle.EnqueueInput{}, call) // a late retry
	fmt.Println(purged, errors.Is(err, fsm.ErrPurged))

	clock.Advance(365 * 24 * time.Hour) // nobody retries any more
	forgotten, err := audit.Forget(ctx, jobs, audit.ForgetOptions{Before: clock.Now()})
	agreed(err)
	again, err := jobs.Enqueue(ctx, done.ID, lifecycle.EnqueueInput{}, call)
	agreed(err)
	fmt.Println(forgotten, again.Record.Rev, again.Replayed)
	// Output:
	// 1 true
	// 1 1 false
}

// agreed ends an example that went wrong.
func agreed(err error) {
	if err != nil {
		panic(err)
	}
}
