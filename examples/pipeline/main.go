// Command pipeline is an ingestion pipeline on specs/ingest.yaml: jobs that
// fail are tried again, jobs that keep failing are quarantined until an
// operator releases them, and jobs whose worker went silent are found by the
// sweeper. It runs on a clock of its own, so that ten minutes pass at once, and
// prints the audit trail of every job.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/fsmgen/fsmgen/examples/pipeline/ingest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func main() {
	db := flag.String("db", "", "SQLite file that keeps the jobs; none: in memory")
	every := flag.Duration("check", 0, "afterwards check the jobs again and again, once in this time, until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mainErr(ctx, *db, *every); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func mainErr(ctx context.Context, db string, every time.Duration) error {
	var store fsm.Store = memstore.New()
	if db != "" {
		var err error
		if store, err = sqlite.Open(db); err != nil {
			return err
		}
	}
	defer store.Close()
	if err := run(ctx, store, os.Stdout); err != nil || every == 0 {
		return err
	}
	m, err := ingest.Open(ctx, store)
	if err != nil {
		return err
	}
	return checked(ctx, m, probes{}, every, slog.Default())
}

// maxAttempts is how often the pipeline tries a document before it gives up.
const maxAttempts = 3

// run ingests three documents: one that is fine, one that always fails, one
// whose worker dies in silence.
func run(ctx context.Context, store fsm.Store, out io.Writer) error {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	if err := ingest.Migrate(ctx, store); err != nil {
		return err
	}
	m, err := ingest.Open(ctx, store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		return err
	}
	for _, id := range []string{"fine", "broken", "silent"} {
		if _, err := m.Enqueue(ctx, id, fsm.Call{}); err != nil {
			return err
		}
		now = now.Add(time.Second)
	}
	for range 40 { // minutes
		if _, err := m.Sweep(ctx); err != nil {
			return err
		}
		if err := work(ctx, m, now); err != nil {
			return err
		}
		now = now.Add(time.Minute)
	}
	if err := release(ctx, m, "broken"); err != nil {
		return err
	}
	for _, id := range []string{"fine", "broken", "silent"} {
		if err := trail(ctx, m, id, out); err != nil {
			return err
		}
	}
	for finding, err := range audit.Run(ctx, m, m.Probes(probes{})...) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "audit:", finding)
	}
	return nil
}

// work starts every job that is due and ends it as its document deserves.
func work(ctx context.Context, m *ingest.Machine, now time.Time) error {
	for {
		job, err := m.Start(ctx, fsm.Call{Actor: "worker"})
		if errors.Is(err, fsm.ErrNothingToDo) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case job.Record.ID == "silent" && job.Record.Attempts == 1:
			// the worker dies here: nobody says anything any more
		case job.Record.ID == "broken":
			err = retry(ctx, m, job, now)
		default:
			_, err = m.Succeed(ctx, job, fsm.Call{Actor: "worker"})
		}
		if err != nil {
			return err
		}
	}
}

// retry fails the job and plans the next attempt, or gives it up.
func retry(ctx context.Context, m *ingest.Machine, job ingest.Outcome, now time.Time) error {
	failed, err := m.Fail(ctx, job, fsm.Call{Actor: "worker", Reason: "cannot parse"})
	if err != nil {
		return err
	}
	if failed.Record.Attempts >= maxAttempts {
		_, err = m.Quarantine(ctx, failed, fsm.Call{Actor: "worker", Reason: "too many attempts"})
		return err
	}
	backoff := time.Duration(failed.Record.Attempts) * time.Minute
	_, err = m.Reschedule(ctx, failed, ingest.RescheduleInput{RunAfter: now.Add(backoff)}, fsm.Call{Actor: "worker"})
	return err
}

// release is what an operator does by hand; without a name and a reason the
// machine refuses.
func release(ctx context.Context, m *ingest.Machine, id string) error {
	_, err := m.Release(ctx, fsm.Ref{ID: id}, fsm.Call{Actor: "olivia"})
	if !errors.Is(err, fsm.ErrReasonMissing) {
		return fmt.Errorf("a release without a reason: %w", err)
	}
	_, err = m.Release(ctx, fsm.Ref{ID: id}, fsm.Call{Actor: "olivia", Reason: "parser mended"})
	return err
}

// trail prints the log of one job.
func trail(ctx context.Context, m *ingest.Machine, id string, out io.Writer) error {
	fmt.Fprintln(out, id)
	for e, err := range m.History(ctx, id) {
		if err != nil {
			return err
		}
		line := fmt.Sprintf("  %2d  %s  %-13s %-11s -> %-11s %s", e.Rev, e.At.Format("15:04:05"), e.Name, e.From, e.To, e.Actor)
		if e.Reason != "" {
			line += ": " + e.Reason
		}
		fmt.Fprintln(out, line)
	}
	return nil
}

// probes answers what only the outside world knows.
type probes struct{}

// WorkerActive reports whether a running job's worker is alive. In this
// example every worker has ended by the time of the audit.
func (probes) WorkerActive(context.Context, ingest.Job) (bool, error) { return false, nil }
