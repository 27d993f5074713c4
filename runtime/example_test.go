package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Somebody asks for their data to be erased: it goes from the record and from every
// event of its log, which says who did it and why, and stays sound.
func ExampleMachine_Redact() {
	ctx, store := context.Background(), memstore.New()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store)
	agreed(err)
	made, err := jobs.Enqueue(ctx, lifecycle.EnqueueRequest{RequestID: "order-17", Payload: fsm.Some(fsm.MustJSON(`{"mail":"ann@example.com"}`))})
	agreed(err)

	job, redacted, err := jobs.Core().Redact(ctx, made.Record.ID, fsm.RedactOptions{Fields: []string{"payload"}, Actor: "desk", Reason: "ticket 4711"})
	agreed(err)
	fmt.Println(job.Payload.Present(), redacted)
	for e, err := range jobs.History(ctx, made.Record.ID) {
		agreed(err)
		fmt.Printf("%s %q %q\n", e.Operation, e.Actor, e.Reason)
	}
	for finding, err := range jobs.Audit(ctx) {
		fmt.Println(finding, err)
	}
	// Output:
	// false true
	// enqueue "" ""
	// __redact "desk" "ticket 4711"
}

// Purge removes finished records and keeps their ids; Forget removes what it kept, and
// gives up that a late retry is known.
func ExampleMachine_Forget() {
	ctx, store, clock := context.Background(), memstore.New(), fsmtest.NewClock()
	agreed(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store, fsm.WithClock(clock.Now))
	agreed(err)
	done, err := fsmtest.Arrange(ctx, store, jobs.Core(), lifecycle.Job{State: lifecycle.StateSucceeded, Result: fsm.Some(fsm.MustJSON("1"))})
	agreed(err)
	request := lifecycle.EnqueueRequest{ID: done.ID, RequestID: "order-17"}

	clock.Advance(30 * 24 * time.Hour)
	purged, err := jobs.Core().Purge(ctx, fsm.PurgeOptions{Before: clock.Now(), Actor: "retention", Reason: "30 days"})
	agreed(err)
	_, err = jobs.Enqueue(ctx, request) // a late retry
	fmt.Println(purged, errors.Is(err, fsm.ErrPurged))

	clock.Advance(365 * 24 * time.Hour) // nobody retries any more
	forgotten, err := jobs.Core().Forget(ctx, fsm.ForgetOptions{Before: clock.Now()})
	agreed(err)
	again, err := jobs.Enqueue(ctx, request)
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
