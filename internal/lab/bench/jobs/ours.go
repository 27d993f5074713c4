package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/examples/machines/riverjob"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/ours"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// mine is the queue of lifecycle with its generated worker.
type mine struct {
	m     *lifecycle.Machine
	store fsm.Store
	stop  func() error
}

func openOurs(ctx context.Context, c child.Config, w *worked) (queue, error) {
	store, err := ours.Store(ctx, c)
	if err != nil {
		return nil, err
	}
	m, err := ours.Lifecycle(ctx, store)
	q := &mine{m, store, func() error { return nil }}
	if err != nil || c.Callers == 0 {
		return q, err
	}
	result := fsm.MustJSON(`{"status":200}`)
	pool, err := lifecycle.NewWorker(m, c.Name, lifecycle.WorkerConfig{
		Options: worker.Options{Lease: time.Minute, Concurrency: c.Callers, Poll: time.Second, Log: ours.Quiet()},
		Work: func(ctx context.Context, j lifecycle.ClaimedJob) error {
			w.begin()
			running, err := j.Start(ctx)
			if err == nil {
				_, err = running.Complete(ctx, lifecycle.CompleteInput{Result: result})
			}
			if err != nil {
				w.fail(err)
			}
			w.done.Add(1)
			return err
		},
		Failed: func(_ context.Context, _ lifecycle.AnyJob, cause error) error { return cause },
	})
	if err != nil {
		return nil, err
	}
	q.stop = runs(pool.Run)
	return q, nil
}

func (q *mine) insert(ctx context.Context) error {
	in := lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))}
	_, err := q.m.Enqueue(ctx, "", in, fsm.Call{RequestID: driver.NewID(), Actor: "w"})
	return err
}

func (q *mine) close() error { return errors.Join(q.stop(), q.store.Close()) }

// modelled is the same queue by our machine of River's job, which has no start after its claim.
type modelled struct {
	m     *riverjob.Machine
	store fsm.Store
	stop  func() error
}

func openModelled(ctx context.Context, c child.Config, w *worked) (queue, error) {
	store, err := ours.Store(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := riverjob.Migrate(ctx, store); err != nil {
		return nil, err
	}
	rescue := func(_ riverjob.Job, now time.Time) (riverjob.RescueInput, error) {
		return riverjob.RescueInput{RetryAt: now}, nil
	}
	m, err := riverjob.Open(ctx, store, riverjob.Sources{Rescue: rescue})
	q := &modelled{m, store, func() error { return nil }}
	if err != nil || c.Callers == 0 {
		return q, err
	}
	pool, err := riverjob.NewWorker(m, c.Name, riverjob.WorkerConfig{
		Options: worker.Options{Concurrency: c.Callers, Poll: time.Second, Log: ours.Quiet()},
		Claim:   riverjob.FetchInput{Queue: "default"},
		Work: func(ctx context.Context, j riverjob.RunningJob) error {
			w.begin()
			_, err := j.Complete(ctx)
			if err != nil {
				w.fail(err)
			}
			w.done.Add(1)
			return err
		},
		Failed: func(_ context.Context, _ riverjob.AnyJob, cause error) error { return cause },
	})
	if err != nil {
		return nil, err
	}
	q.stop = runs(pool.Run)
	return q, nil
}

func (q *modelled) insert(ctx context.Context) error {
	in := riverjob.InsertInput{Kind: "bench", Queue: "default", Args: fsm.MustJSON(`{"url":"https://example.com/"}`),
		Priority: 1, MaxAttempts: 25, ScheduledAt: time.Now()}
	_, err := q.m.Insert(ctx, "", in, fsm.Call{RequestID: driver.NewID(), Actor: "w"})
	return err
}

func (q *modelled) close() error { return errors.Join(q.stop(), q.store.Close()) }
