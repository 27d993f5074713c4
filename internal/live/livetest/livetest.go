// Package livetest makes the databases that tests of live databases look at, with
// the generated packages of the examples.
package livetest

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Start is when the first record is made; each call comes a minute later.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Jobs fills a store with five jobs of the queue: "job-1" has succeeded, "job-2" is
// running, "job-3" has failed, and the last two wait.
func Jobs(ctx context.Context, store fsm.Store) error {
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return err
	}
	// The clock moves between the calls and not when it is asked, however often that is.
	now := Start.Add(2 * time.Minute)
	next := func() { now = now.Add(time.Minute) }
	m, err := lifecycle.Open(ctx, store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		return err
	}
	for i := 1; i <= 5; i++ {
		id := fmt.Sprint("job-", i)
		next()
		if _, err := m.Enqueue(ctx, id, lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))}, fsm.Call{RequestID: "enqueue " + id}); err != nil {
			return err
		}
	}
	for i := 1; i <= 3; i++ {
		next()
		out, err := m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: Start.Add(time.Hour)}, fsm.Call{RequestID: fmt.Sprint("claim ", i), Actor: "w1"})
		if err == nil {
			next()
			out, err = m.Start(ctx, out, fsm.Call{RequestID: fmt.Sprint("start ", i), Actor: "w1"})
		}
		if i != 2 {
			next()
		}
		switch i {
		case 1:
			if err == nil {
				_, err = m.Complete(ctx, out, lifecycle.CompleteInput{Result: fsm.MustJSON(`{"bytes":512}`)}, fsm.Call{RequestID: "complete 1", Actor: "w1"})
			}
		case 3:
			if err == nil {
				_, err = m.Fail(ctx, out, lifecycle.FailInput{Error: fsm.MustJSON(`"no answer"`)}, fsm.Call{RequestID: "fail 3", Actor: "w1"})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Plans fills a store with two jobs of an event log, with sets and with calls that
// were recorded only: "plan-1" is done, "plan-2" runs.
func Plans(ctx context.Context, store fsm.Store) error {
	if err := jobstate.Migrate(ctx, store); err != nil {
		return err
	}
	now := Start.Add(2 * time.Minute)
	next := func() { now = now.Add(time.Minute) }
	m, err := jobstate.Open(ctx, store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		return err
	}
	for i := 1; i <= 2; i++ {
		id := fmt.Sprint("plan-", i)
		next()
		if _, err := m.Create(ctx, id, jobstate.CreateInput{Expected: fsm.NewSet("a", `b "<é>"`)}, fsm.Call{RequestID: "create " + id}); err != nil {
			return err
		}
		at := fsm.Ref{ID: id}
		next()
		if _, err := m.ExpectedEvent(ctx, at, jobstate.ExpectedEventInput{Name: "a"}, fsm.Call{RequestID: "early " + id}); err != nil {
			return err
		}
		next()
		if _, err := m.JobKick(ctx, at, fsm.Call{RequestID: "kick " + id}); err != nil {
			return err
		}
		for _, name := range []string{"a", `b "<é>"`}[:3-i] {
			next()
			if _, err := m.ExpectedEvent(ctx, at, jobstate.ExpectedEventInput{Name: name}, fsm.Call{RequestID: name + id}); err != nil {
				return err
			}
		}
	}
	return nil
}
