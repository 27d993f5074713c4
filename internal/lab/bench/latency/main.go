// Command latency measures how long a job waits in an idle queue on PostgreSQL: from the
// call of Enqueue in one process to the beginning of the work in another one. Idle
// workers run in processes of their own.
//
//	go run ./latency -processes 4 -jobs 1000
//	go run ./latency -processes 4 -jobs 1000 -poll 50ms -pooler   # by polling alone
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

type options struct {
	processes, jobs int
	poll            time.Duration
	pooler          bool
	work, dsn       string
}

func main() {
	var o options
	flag.IntVar(&o.processes, "processes", 4, "processes with one idle worker each")
	flag.IntVar(&o.jobs, "jobs", 1000, "jobs, one after the other")
	flag.DurationVar(&o.poll, "poll", time.Minute, "how often a worker looks by itself")
	flag.BoolVar(&o.pooler, "pooler", false, "as behind a pooler: nobody listens")
	flag.StringVar(&o.work, "work", "", "run as the worker of this name (the command does so itself)")
	flag.StringVar(&o.dsn, "dsn", "", "the database; without it, a server is started for the time of the run")
	flag.Parse()
	run := measure
	if o.work != "" {
		run = work
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open opens the queue.
func open(ctx context.Context, o options) (*lifecycle.Machine, fsm.Store, error) {
	opts := []postgres.Option{postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
	if o.pooler {
		opts = append(opts, postgres.WithPooler())
	}
	store, err := postgres.Open(ctx, o.dsn, opts...)
	if err != nil {
		return nil, nil, err
	}
	err = lifecycle.Migrate(ctx, store)
	var m *lifecycle.Machine
	if err == nil {
		m, err = lifecycle.Open(ctx, store)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return m, store, nil
}

// work is one process with a worker. It writes a line when a job begins, and one when it
// is done, until its input ends.
func work(ctx context.Context, o options) error {
	m, store, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer store.Close()
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	w, err := lifecycle.NewWorker(m, o.work, lifecycle.WorkerConfig{
		Options: worker.Options{Lease: time.Minute, Poll: o.poll},
		Work: func(ctx context.Context, j lifecycle.ClaimedJob) error {
			begun := time.Now().UnixNano()
			running, err := j.Start(ctx)
			if err == nil {
				_, err = running.Complete(ctx, lifecycle.CompleteInput{Result: fsm.MustJSON(`{}`)})
			}
			fmt.Println("begun", begun)
			return err
		},
		Failed: func(_ context.Context, _ lifecycle.AnyJob, cause error) error { return cause },
	})
	if err != nil {
		return err
	}
	fmt.Println("ready 0")
	return w.Run(ctx)
}

// measure starts the workers and enqueues the jobs, each when the last one is done.
func measure(ctx context.Context, o options) error {
	if o.dsn == "" {
		dsn, stop, err := pgtest.Boot("fsync=on", "synchronous_commit=on")
		if err != nil {
			return err
		}
		defer stop()
		o.dsn = dsn
	}
	m, store, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer store.Close()
	begun := make(chan time.Time)
	for i := range o.processes {
		args := []string{"-work", fmt.Sprint("w", i), "-dsn", o.dsn, "-poll", o.poll.String(), "-pooler=" + strconv.FormatBool(o.pooler)}
		cmd := exec.CommandContext(ctx, os.Args[0], args...)
		cmd.Stderr = os.Stderr
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			return err
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			return fmt.Errorf("worker %d did not begin", i)
		}
		go func() {
			for lines.Scan() {
				n, _ := strconv.ParseInt(strings.TrimPrefix(lines.Text(), "begun "), 10, 64)
				begun <- time.Unix(0, n)
			}
		}()
		defer func() {
			_ = in.Close()
			_ = cmd.Wait()
		}()
	}
	var whole, after []time.Duration
	for i := range o.jobs + o.jobs/10 {
		time.Sleep(5*time.Millisecond + rand.N(20*time.Millisecond))
		asked := time.Now()
		if _, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: driver.NewID()}); err != nil {
			return err
		}
		committed := time.Now()
		at := <-begun
		if i >= o.jobs/10 { // the first tenth opens connections
			whole, after = append(whole, at.Sub(asked)), append(after, at.Sub(committed))
		}
	}
	for _, row := range []struct {
		from string
		list []time.Duration
	}{{"call of Enqueue", whole}, {"return of Enqueue", after}} {
		slices.Sort(row.list)
		at := func(p float64) time.Duration {
			return row.list[int(p*float64(len(row.list)-1))].Round(10 * time.Microsecond)
		}
		fmt.Printf("from the %s to the work: p50 %v, p90 %v, p99 %v, most %v (%d jobs, %d processes, poll %v, pooler %v)\n",
			row.from, at(0.5), at(0.9), at(0.99), at(1), len(row.list), o.processes, o.poll, o.pooler)
	}
	return nil
}
