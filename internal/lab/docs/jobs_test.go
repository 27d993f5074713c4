package docs

import (
	"context"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// morning fills a store with the morning that the guides look at. job-1 succeeds. The worker of job-2 dies, an
// operator puts the job back into the queue, and another worker ends it. job-3 fails. The lease of job-4 is over and
// nobody has looked. job-5 waits. What is left of job-0, which succeeded, is a purge.
func morning(t *testing.T, store fsm.Store) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(lifecycle.Migrate(ctx, store))
	var now time.Time
	at := func(clock string) time.Time {
		instant, err := time.Parse(time.DateTime, "2026-03-02 "+clock+":00")
		must(err)
		return instant
	}
	m, err := lifecycle.Open(ctx, store, fsm.WithClock(func() time.Time { return now }))
	must(err)
	enqueue := func(clock, id string) {
		t.Helper()
		now = at(clock)
		payload := fsm.Some(fsm.MustJSON(`{"to":"ann@example.com"}`))
		_, err := m.Enqueue(ctx, id, lifecycle.EnqueueInput{Payload: payload}, fsm.Call{RequestID: "enqueue " + id})
		must(err)
	}
	start := func(clock, worker, lease string) fsm.Target {
		t.Helper()
		now = at(clock)
		call := fsm.Call{RequestID: worker + " at " + clock, Actor: worker}
		job, err := m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: at(lease)}, call)
		must(err)
		now = now.Add(time.Minute)
		job, err = m.Start(ctx, job, fsm.Call{RequestID: "start at " + clock, Actor: worker})
		must(err)
		return job
	}
	complete := func(clock, worker string, job fsm.Target) {
		t.Helper()
		now = at(clock)
		in := lifecycle.CompleteInput{Result: fsm.MustJSON(`{"bytes":512}`)}
		_, err := m.Complete(ctx, job, in, fsm.Call{RequestID: "complete at " + clock, Actor: worker})
		must(err)
	}

	enqueue("07:00", "job-0")
	complete("07:05", "w1", start("07:01", "w1", "07:30"))
	now = at("07:50")
	_, err = audit.Purge(ctx, m, audit.PurgeOptions{Before: now, Actor: "ann", Reason: "retention"})
	must(err)
	enqueue("08:00", "job-1")
	enqueue("08:01", "job-2")
	enqueue("08:02", "job-3")
	job := start("08:05", "w1", "08:15")
	start("08:08", "w2", "08:20")
	now = at("08:10")
	job, err = m.Heartbeat(ctx, job, lifecycle.HeartbeatInput{Lease: at("08:25")}, fsm.Call{RequestID: "beat", Actor: "w1"})
	must(err)
	complete("08:16", "w1", job)
	now = at("08:21")
	_, err = m.Sweep(ctx)
	must(err)
	now = at("08:30")
	stalled, err := m.Record(ctx, "job-2")
	must(err)
	requeue := fsm.Call{RequestID: "requeue", Actor: "ann", Reason: "host of w2 replaced"}
	_, err = m.RequeueStalled(ctx, &stalled, requeue)
	must(err)
	job = start("08:31", "w1", "09:31")
	failing := start("08:35", "w3", "09:35")
	now = at("08:50")
	fail := lifecycle.FailInput{Error: fsm.MustJSON(`"no such host"`)}
	_, err = m.Fail(ctx, failing, fail, fsm.Call{RequestID: "fail", Actor: "w3"})
	must(err)
	complete("09:02", "w1", job)
	enqueue("09:05", "job-4")
	enqueue("09:10", "job-5")
	start("09:15", "w3", "09:25")
}
