package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmslog"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// config is what the flags say.
type config struct {
	dir       string
	jobs      int
	workers   int
	producers int
	work      time.Duration
	lease     time.Duration
	acks      bool
	console   string
	log       bool
}

// queue is the running program.
type queue struct {
	config
	machine *lifecycle.Machine
	ledger  *ledger

	mu  sync.Mutex
	out io.Writer
}

// run works until every job has ended, ctx is cancelled or something fails.
func run(ctx context.Context, c config, out io.Writer) (err error) {
	store, err := sqlite.Open(filepath.Join(c.dir, "queue.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return err
	}
	var watch fsm.Observer
	if c.log {
		watch = fsmslog.Observer(slog.Default(), fsmslog.Options{NoReason: true})
	}
	machine, err := lifecycle.Open(ctx, store, fsm.WithObserver(watch))
	if err != nil {
		return err
	}
	ledger, err := openLedger(ctx, filepath.Join(c.dir, "ledger.db"))
	if err != nil {
		return err
	}
	defer ledger.close()

	if c.console != "" {
		shown, hide := context.WithCancel(ctx)
		defer hide()
		wait, failed := serve(shown, c.console, store, machine, out)
		if failed != nil {
			return failed
		}
		defer func() {
			if err == nil { // all has ended: people still look
				err = wait()
			}
		}()
	}
	q := &queue{config: c, machine: machine, ledger: ledger, out: out}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	start := func(name string, f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	for i := range c.producers {
		start(fmt.Sprintf("producer %d", i), func(ctx context.Context) error { return q.produce(ctx, i) })
	}
	for i := range c.workers {
		name := fmt.Sprintf("worker-%d", i)
		start(name, func(ctx context.Context) error { return q.consume(ctx, name) })
	}
	start("sweeper", q.sweep)
	start("watcher", func(ctx context.Context) error { return q.wait(ctx, cancel) })
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errAllDone) {
		return err
	}
	return nil
}

// errAllDone ends the program when every job has ended.
var errAllDone = errors.New("all jobs have ended")

// produce enqueues its share of the jobs. The request id is made of the job's
// number, so that a producer that starts again after a crash enqueues nothing
// twice.
func (q *queue) produce(ctx context.Context, producer int) error {
	for n := producer; n < q.jobs; n += q.producers {
		out, err := q.machine.Enqueue(ctx, "", lifecycle.EnqueueInput{DedupeKey: fsm.Some(fmt.Sprintf("job-%d", n)), Payload: fsm.Some(fsm.MustJSON(fmt.Sprintf(`{"number":%d}`, n)))}, fsm.Call{RequestID: fmt.Sprintf("enqueue-%d", n), Actor: fmt.Sprintf("producer-%d", producer)})
		if err != nil {
			return err
		}
		q.ack(out)
	}
	return nil
}

// sweep takes jobs back whose lease has ended, and puts them in the queue again.
func (q *queue) sweep(ctx context.Context) error {
	for {
		if _, err := q.machine.Sweep(ctx); err != nil {
			return err
		}
		for job, err := range q.machine.List(ctx, lifecycle.StateStalled) {
			if err != nil {
				return err
			}
			out, err := q.machine.RequeueStalled(ctx, job, fsm.Call{RequestID: fmt.Sprintf("requeue %s at %d", job.ID, job.Rev), Actor: "sweeper", Reason: "the lease ended"})
			if errors.Is(err, fsm.ErrStale) {
				continue // a worker has claimed it meanwhile
			}
			if err != nil {
				return err
			}
			q.ack(out)
		}
		if err := sleep(ctx, q.lease/4); err != nil {
			return nil
		}
	}
}

// wait ends the program when all jobs have succeeded, or one has failed.
func (q *queue) wait(ctx context.Context, cancel context.CancelCauseFunc) error {
	for {
		counts, err := q.machine.Count(ctx, lifecycle.StateSucceeded, lifecycle.StateFailed)
		if err != nil {
			return err
		}
		if n := counts[lifecycle.StateFailed]; n > 0 {
			return fmt.Errorf("%d jobs have failed", n)
		}
		if counts[lifecycle.StateSucceeded] >= int64(q.jobs) {
			cancel(errAllDone)
			return nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil
		}
	}
}

// ack prints an acknowledged transition, so that the demo can check later that
// none is lost.
func (q *queue) ack(out lifecycle.Outcome) {
	if !q.acks {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range out.Events {
		fmt.Fprintf(q.out, "ack %s %d %s\n", e.ID, e.Rev, e.Name)
	}
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
