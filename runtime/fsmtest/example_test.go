package fsmtest_test

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

// A test begins with a job that somebody has claimed, and winds the clock past
// the end of the lease. In a test, Given(t, ...) takes the place of Arrange.
func ExampleArrange() {
	ctx, store, clock := context.Background(), memstore.New(), fsmtest.NewClock()
	check(lifecycle.Migrate(ctx, store))
	jobs, err := lifecycle.Open(ctx, store, fsm.WithClock(clock.Now))
	check(err)
	claimed, err := fsmtest.Arrange(ctx, store, jobs.Core(), lifecycle.Job{
		State: lifecycle.StateClaimed, Owner: fsm.Some("w1"), Lease: fsm.Some(clock.Now().Add(time.Minute)),
	})
	check(err)
	fmt.Println(claimed.State, claimed.Attempt)

	clock.Advance(2 * time.Minute)
	_, err = jobs.Sweep(ctx)
	check(err)
	_, err = jobs.Start(ctx, claimed, fsm.Call{RequestID: "start", Actor: "w1"})
	fmt.Println(errors.Is(err, fsm.ErrStale))
	// Output:
	// claimed 1
	// true
}

// The write is there, and nobody was told: the caller asks again under the same
// request id.
func ExampleFaulty() {
	ctx, store := context.Background(), memstore.New()
	check(lifecycle.Migrate(ctx, store))
	faults := fsmtest.Faulty(store)
	jobs, err := lifecycle.Open(ctx, faults)
	check(err)

	faults.Cut()
	call := fsm.Call{RequestID: "order-17"}
	_, err = jobs.Enqueue(ctx, "", lifecycle.EnqueueInput{}, call)
	fmt.Println(errors.Is(err, fsm.ErrAmbiguous))

	faults.Down(false)
	out, err := jobs.Enqueue(ctx, "", lifecycle.EnqueueInput{}, call)
	check(err)
	fmt.Println(out.Record.State, out.Replayed)
	// Output:
	// true
	// queued true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
