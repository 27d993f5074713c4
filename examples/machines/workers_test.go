package machines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/examples/machines/obanjob"
	"github.com/fsmgen/fsmgen/examples/machines/taskinstance"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

var silent = slog.New(slog.DiscardHandler)

// running runs workers until the function returns.
func running[R any](t *testing.T, m *fsm.Machine[R], workers []*worker.Worker[R], do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx, m, worker.Upkeep{Log: silent}, workers...) }()
	synctest.Wait()
	do()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A pick with an input has a worker for each queue; nothing keeps a job alive, so work
// that takes longer than the machine waits for it is told that it was lost.
func TestWorkersOfQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		if err := obanjob.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		m, err := obanjob.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		got := map[string]string{}
		var workers []*worker.Worker[obanjob.Job]
		for _, queue := range []string{"mail", "media"} {
			w, err := obanjob.NewWorker(m, "worker of "+queue, obanjob.WorkerConfig{
				Options: worker.Options{Poll: time.Minute, Log: silent},
				Claim:   obanjob.FetchInput{Queue: queue},
				Work: func(ctx context.Context, j obanjob.ExecutingJob) error {
					id := j.Record().ID
					note := queue
					if id == "slow" {
						begun := time.Now()
						<-ctx.Done()
						note = fmt.Sprint("lost after ", time.Since(begun), " ", errors.Is(context.Cause(ctx), worker.ErrLeaseOver))
					} else if _, err := j.Complete(ctx); err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					got[id] = note
					return ctx.Err()
				},
				Failed: func(_ context.Context, _ obanjob.AnyJob, cause error) error { t.Error(cause); return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			workers = append(workers, w)
		}
		running(t, m.Core(), workers, func() {
			for id, queue := range map[string]string{"letter": "mail", "slow": "media", "parcel": "mail"} {
				_, err := m.Insert(t.Context(), id, obanjob.InsertInput{
					Worker: "w", Queue: queue, Args: fsm.MustJSON(`{}`), MaxAttempts: 1, ScheduledAt: time.Now(),
				}, fsm.Call{RequestID: driver.NewID()})
				if err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			time.Sleep(2 * time.Hour)
		})
		if want := "map[letter:mail parcel:mail slow:lost after 1h0m0s true]"; fmt.Sprint(got) != want {
			t.Errorf("worked %v, want %s", got, want)
		}
		j, err := m.Record(t.Context(), "slow")
		if err != nil || j.State != obanjob.StateDiscarded {
			t.Errorf("the slow job is %v (%v), want discarded by the sweeper", j.State, err)
		}
		c := obanjob.WorkerConfig{Options: worker.Options{Lease: 61 * time.Minute}, Work: func(context.Context, obanjob.ExecutingJob) error { return nil },
			Failed: func(context.Context, obanjob.AnyJob, error) error { return nil }}
		if _, err := obanjob.NewWorker(m, "w", c); err == nil {
			t.Error("a worker believes in a longer lease than the machine gives")
		}
	})
}

// A task that is claimed is not kept alive before its work begins; then a heartbeat
// does it for as long as it takes. Work that is cleared is told so.
func TestWorkerOfTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		if err := taskinstance.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		m, err := taskinstance.Open(t.Context(), store, taskinstance.Sources{
			TimeoutQueued: func(taskinstance.TaskInstance, time.Time) (taskinstance.TimeoutQueuedInput, error) {
				return taskinstance.TimeoutQueuedInput{Requeue: true}, nil
			},
			Lose: func(_ taskinstance.TaskInstance, now time.Time) (taskinstance.LoseInput, error) {
				return taskinstance.LoseInput{NextTryAt: now}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		cause := make(chan error, 1)
		w, err := taskinstance.NewWorker(m, "w", taskinstance.WorkerConfig{
			Options: worker.Options{Concurrency: 2, Poll: time.Hour, Log: silent},
			Work: func(ctx context.Context, j taskinstance.QueuedTaskInstance) error {
				time.Sleep(7 * time.Minute) // longer than a heartbeat may be missing
				run, err := j.Start(ctx)
				if err != nil {
					return err
				}
				if run.Record().TaskID == "cleared" {
					<-ctx.Done()
					cause <- context.Cause(ctx)
					return ctx.Err()
				}
				time.Sleep(time.Hour)
				_, err = run.Succeed(ctx)
				return err
			},
			Failed: func(_ context.Context, _ taskinstance.AnyTaskInstance, cause error) error { t.Error(cause); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		call := func() fsm.Call { return fsm.Call{RequestID: driver.NewID(), Actor: "scheduler"} }
		running(t, m.Core(), []*worker.Worker[taskinstance.TaskInstance]{w}, func() {
			for _, id := range []string{"long", "cleared"} {
				out, err := m.Create(t.Context(), id, taskinstance.CreateInput{DagID: "d", RunID: "r", TaskID: id}, call())
				if err == nil {
					_, err = m.Schedule(t.Context(), out, call())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(30 * time.Minute)
			if _, err := m.Clear(t.Context(), fsm.Ref{ID: "cleared"}, taskinstance.ClearInput{}, call()); err != nil {
				t.Fatal(err)
			}
			lost := &worker.LostError{}
			if err := <-cause; !errors.As(err, &lost) || lost.Why != worker.ErrMoved || lost.Operation != "clear" {
				t.Errorf("the cleared task ended by %v", err)
			}
			time.Sleep(time.Hour)
		})
		j, err := m.Record(t.Context(), "long")
		if err != nil || j.State != taskinstance.StateSuccess || j.TryNumber != 1 {
			t.Errorf("the long task is %v in try %d (%v), want success in its first", j.State, j.TryNumber, err)
		}
	})
}
