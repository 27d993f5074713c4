package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The load: so many workers, each of which makes a step and waits.
const (
	workers = 4
	pause   = 30 * time.Millisecond
)

// work lets workers go on until ctx ends, and makes a job that one of them has for good, and moves each 300 ms. It returns what
// waits for them and says what went wrong. Without load nobody works.
func work(ctx context.Context, m *lifecycle.Machine, load bool) (end func() error) {
	if !load {
		return func() error { return nil }
	}
	var all sync.WaitGroup
	errs := make(chan error, workers+1)
	start := func(f func(context.Context) error) {
		all.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				errs <- err
			}
		})
	}
	at, err := held(ctx, m) // before others could take it
	if err != nil {
		return func() error { return err }
	}
	start(func(ctx context.Context) error { return steady(ctx, m, at) })
	for i := range workers {
		start(func(ctx context.Context) error { return busy(ctx, m, fmt.Sprint("worker-", i)) })
	}
	return func() error {
		all.Wait()
		close(errs)
		var list []error
		for err := range errs {
			list = append(list, err)
		}
		return errors.Join(list...)
	}
}

// again makes a call until the database takes it.
func again(ctx context.Context, actor string, call func(fsm.Call) (lifecycle.Outcome, error)) (out lifecycle.Outcome, err error) {
	c := fsm.Call{RequestID: driver.NewID(), Actor: actor}
	for {
		out, err = call(c)
		if !errors.Is(err, fsm.ErrBusy) && !errors.Is(err, fsm.ErrAmbiguous) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// The job that one worker has for good.
const steadyID, steadyWorker = "steady", "worker-steady"

// until is when a lease of it ends.
func until() time.Time { return time.Now().Add(time.Hour) }

// held returns the job that one worker has for good.
func held(ctx context.Context, m *lifecycle.Machine) (fsm.Ref, error) {
	switch job, err := m.Record(ctx, steadyID); {
	case err == nil:
		return fsm.Ref{ID: steadyID, Rev: job.Rev}, nil
	case !errors.Is(err, fsm.ErrNotFound):
		return fsm.Ref{}, err
	}
	out, err := again(ctx, steadyWorker, func(c fsm.Call) (lifecycle.Outcome, error) {
		return m.Enqueue(ctx, steadyID, lifecycle.EnqueueInput{}, c)
	})
	if err != nil {
		return fsm.Ref{}, err
	}
	out, err = again(ctx, steadyWorker, func(c fsm.Call) (lifecycle.Outcome, error) {
		return m.ClaimNextOf(ctx, out, lifecycle.ClaimNextInput{Lease: until()}, c)
	})
	return out.Ref(), err
}

// steady says each 300 ms that its worker is alive.
func steady(ctx context.Context, m *lifecycle.Machine, at fsm.Ref) error {
	for rest(ctx, 300*time.Millisecond) == nil {
		out, err := again(ctx, steadyWorker, func(c fsm.Call) (lifecycle.Outcome, error) {
			return m.Heartbeat(ctx, at, lifecycle.HeartbeatInput{Lease: until()}, c)
		})
		if err != nil {
			return err
		}
		at = out.Ref()
	}
	return nil
}

// busy makes jobs and does them, one after the other.
func busy(ctx context.Context, m *lifecycle.Machine, actor string) error {
	for {
		if _, err := again(ctx, actor, func(c fsm.Call) (lifecycle.Outcome, error) {
			return m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, c)
		}); err != nil {
			return err
		}
		out, err := again(ctx, actor, func(c fsm.Call) (lifecycle.Outcome, error) {
			return m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Minute)}, c)
		})
		if errors.Is(err, fsm.ErrNothingToDo) { // another one had it
			continue
		}
		for _, step := range []func(fsm.Call) (lifecycle.Outcome, error){
			func(c fsm.Call) (lifecycle.Outcome, error) { return m.Start(ctx, out, c) },
			func(c fsm.Call) (lifecycle.Outcome, error) {
				return m.Heartbeat(ctx, out, lifecycle.HeartbeatInput{Lease: time.Now().Add(time.Minute)}, c)
			},
			func(c fsm.Call) (lifecycle.Outcome, error) {
				return m.Complete(ctx, out, lifecycle.CompleteInput{Result: fsm.MustJSON(`{"done":true}`)}, c)
			},
		} {
			if err == nil {
				err = rest(ctx, pause)
			}
			if err == nil {
				out, err = again(ctx, actor, step)
			}
		}
		if err != nil {
			return err
		}
	}
}
