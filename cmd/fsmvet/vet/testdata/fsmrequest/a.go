// Package fsmrequest makes new request ids in a retry, and does what looks alike.
package fsmrequest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

func forever(ctx context.Context, m *lifecycle.Machine, in lifecycle.EnqueueInput) error {
	for {
		_, err := m.Enqueue(ctx, "", in, fsm.Call{RequestID: uuid.NewString(), Actor: "shop"}) // want `each try of Enqueue is a new request, for its request id is made by uuid.NewString; make it once, before the first try`
		if err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
}

func counted(ctx context.Context, m *lifecycle.Machine, in lifecycle.EnqueueInput) (err error) {
	for i := 0; i < 3; i++ {
		call := fsm.Call{Actor: "shop"}
		call.RequestID = fmt.Sprintf("add-%d", time.Now().UnixNano()) // want `each try of Enqueue .* made by time.Now`
		if _, err = m.Enqueue(ctx, "", in, call); err != nil {
			continue
		}
		break
	}
	return err
}

func numbered(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job) (err error) {
	for try := range 5 {
		_, err = m.Start(ctx, job, fsm.Call{RequestID: fmt.Sprintf("start-%d", try), Actor: "ann"}) // want `made of try, which counts the tries`
		if err == nil {
			return nil
		}
	}
	return err
}

func inVariable(ctx context.Context, claimed lifecycle.ClaimedJob) (lifecycle.RunningJob, error) {
	for {
		id := fmt.Sprint(rand.Int64()) // want `made by rand.Int64`
		running, err := claimed.Start(ctx, fsm.Call{RequestID: id})
		if errors.Is(err, fsm.ErrBusy) || errors.Is(err, fsm.ErrAmbiguous) {
			continue
		}
		return running, err
	}
}

func byHolder(ctx context.Context, m *lifecycle.Machine, in lifecycle.EnqueueInput) error {
	for {
		_, err := m.As("ann").Enqueue(ctx, "", in) // want `each try of Enqueue is a new request, for the holder makes a request id for each call`
		if err == nil {
			return nil
		}
	}
}

func retry(f func() error) error { return f() }

func byHelper(ctx context.Context, m *lifecycle.Machine, in lifecycle.EnqueueInput) error {
	return retry(func() error {
		_, err := m.Enqueue(ctx, "", in, fsm.Call{RequestID: driver.NewID()}) // want `made by driver.NewID`
		return err
	})
}

// once makes the id before the loop.
func once(ctx context.Context, m *lifecycle.Machine, in lifecycle.EnqueueInput) error {
	id := uuid.NewString()
	for {
		_, err := m.Enqueue(ctx, "", in, fsm.Call{RequestID: id})
		if err == nil {
			return nil
		}
	}
}

// many makes one call for each input: they are different requests.
func many(ctx context.Context, m *lifecycle.Machine, list []lifecycle.EnqueueInput) error {
	for _, in := range list {
		if _, err := m.Enqueue(ctx, "", in, fsm.Call{RequestID: uuid.NewString()}); err != nil {
			return err
		}
	}
	return nil
}

// fill makes ten jobs of one input.
func fill(ctx context.Context, m *lifecycle.Machine, in lifecycle.EnqueueInput) error {
	for range 10 {
		if _, err := m.Enqueue(ctx, "", in, fsm.Call{RequestID: uuid.NewString()}); err != nil {
			return err
		}
	}
	return nil
}

// work claims one job after another; what fails is tried again with the next claim.
func work(ctx context.Context, m *lifecycle.Machine, in lifecycle.ClaimNextInput, do func(lifecycle.ClaimedJob)) {
	for ctx.Err() == nil {
		job, err := m.As("ann").ClaimNext(ctx, in, fsm.Call{RequestID: uuid.NewString()})
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		do(job)
	}
}

// wait polls: a claim that finds nothing was refused and wrote nothing.
func wait(ctx context.Context, m *lifecycle.Machine, in lifecycle.ClaimNextInput) (lifecycle.ClaimedJob, error) {
	for {
		job, err := m.As("ann").ClaimNext(ctx, in)
		if errors.Is(err, fsm.ErrNothingToDo) {
			time.Sleep(time.Second)
			continue
		}
		return job, err
	}
}

// readAgain decides again on the record as it is now: another request.
func readAgain(ctx context.Context, m *lifecycle.Machine, id string) error {
	for {
		job, err := m.Record(ctx, id)
		if err != nil {
			return err
		}
		_, err = m.Stall(ctx, job, fsm.Call{RequestID: uuid.NewString()})
		if err == nil {
			return nil
		}
	}
}

// candidates tries other inputs.
func candidates(ctx context.Context, m *lifecycle.Machine, leases []time.Time) (err error) {
	for _, lease := range leases {
		_, err = m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: uuid.NewString(), Actor: "ann"})
		if err == nil {
			break
		}
	}
	return err
}

// sameHandle retries by the handle, which keeps its request id.
func sameHandle(ctx context.Context, claimed lifecycle.ClaimedJob) (lifecycle.RunningJob, error) {
	for {
		running, err := claimed.Start(ctx)
		if err == nil || !errors.Is(err, fsm.ErrAmbiguous) {
			return running, err
		}
	}
}
