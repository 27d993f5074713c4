// Command queue is a job queue on one SQLite file, written with the package
// that fsmgen generates from specs/lifecycle.yaml: producers, workers that
// keep their leases alive, and a sweeper that takes jobs back from workers
// that died.
//
//	queue -db queue.db -jobs 200        work until every job has ended
//	queue -demo                         the same, killed with SIGKILL again and again, then audited
//
// Stop it with kill -9 at any moment and start it again: no job is lost, and
// no effect is applied twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var (
		c     config
		demo  = flag.Bool("demo", false, "run in a temporary folder, kill the queue with SIGKILL again and again, then audit it")
		kills = flag.Int("kills", 6, "with -demo: how often to kill")
	)
	flag.StringVar(&c.dir, "dir", ".", "folder of queue.db and ledger.db")
	flag.IntVar(&c.jobs, "jobs", 150, "number of jobs to produce")
	flag.IntVar(&c.workers, "workers", 4, "number of workers")
	flag.IntVar(&c.producers, "producers", 2, "number of producers")
	flag.DurationVar(&c.work, "work", 20*time.Millisecond, "how long one job takes")
	flag.DurationVar(&c.lease, "lease", 400*time.Millisecond, "how long a lease lasts")
	flag.BoolVar(&c.acks, "acks", false, "print one line for each acknowledged transition")
	flag.BoolVar(&c.log, "log", false, "log each transition")
	flag.StringVar(&c.console, "console", "", "address of the console, such as 127.0.0.1:8080: it stays until Ctrl-C")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *demo {
		err = runDemo(ctx, c, *kills, os.Stdout)
	} else {
		err = run(ctx, c, os.Stdout)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}
