// Command shop sends letters: it takes addresses as arguments, puts a job for
// each into jobs.db, and works until the queue is empty. Kill it and start it
// again: no letter is lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"example.com/shop/job"

	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "jobs.db", os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run submits a job for each address and works until every job has ended.
func run(ctx context.Context, path string, addresses []string, out io.Writer) error {
	store, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := job.Migrate(ctx, store); err != nil {
		return err
	}
	jobs, err := job.Open(ctx, store)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if _, err := jobs.As("shop").Submit(ctx, "", job.SubmitInput{Address: a}); err != nil {
			return err
		}
	}
	return work(ctx, jobs, out)
}

// work runs a worker, and the sweeper that takes jobs back from dead ones, until
// no job is left.
func work(ctx context.Context, jobs *job.Machine, out io.Writer) error {
	worker, err := job.NewWorker(jobs, fmt.Sprintf("worker-%d", os.Getpid()), job.WorkerConfig{
		Options: worker.Options{Lease: 10 * time.Second, Poll: 20 * time.Millisecond},
		Work:    func(ctx context.Context, j job.RunningJob) error { return send(ctx, j, out) },
		Failed: func(ctx context.Context, j job.AnyJob, cause error) error {
			running, ok := j.(job.RunningJob)
			if !ok {
				return nil
			}
			_, err := running.Fail(ctx, job.FailInput{Problem: cause.Error()})
			return err
		},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	for ctx.Err() == nil {
		if _, err := jobs.Sweep(ctx); err != nil {
			break
		}
		open, err := jobs.Count(ctx, job.StateQueued, job.StateRunning)
		if err != nil || open[job.StateQueued]+open[job.StateRunning] == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// send is the work. The job's id is a key by which a post office can tell the
// same letter sent twice.
func send(ctx context.Context, j job.RunningJob, out io.Writer) error {
	address := j.Record().Address
	if strings.TrimSpace(address) == "" {
		return errors.New("nobody lives at an empty address")
	}
	if _, err := fmt.Fprintf(out, "sent to %s\n", address); err != nil {
		return err
	}
	_, err := j.Finish(ctx)
	return err
}
