package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// result is what the demo and the crash test look at.
type result struct {
	kills      int
	acked      int // acknowledged transitions that the killed processes printed
	lost       int // of them: not in the log
	jobs       int64
	succeeded  int64
	applied    int // effects in the ledger
	doubled    int // of them: more than one for a job
	events     int64
	folded     int64 // jobs whose fold of the log equals the record
	violations []string
}

// bad reports whether anything is wrong.
func (r *result) bad() bool {
	return r.lost != 0 || r.doubled != 0 || len(r.violations) != 0 ||
		r.jobs != r.succeeded || r.folded != r.jobs || int64(r.applied) != r.jobs
}

// runDemo runs the queue in a process of its own, kills it in mid-work, starts
// it again, lets it finish and audits what is there.
func runDemo(ctx context.Context, c config, kills int, out io.Writer) error {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.dir = dir
	fmt.Fprintf(out, "queue of %d jobs, %d workers, in %s\n", c.jobs, c.workers, filepath.Join(dir, "queue.db"))
	r, err := crash(ctx, c, kills, out)
	if err != nil {
		return err
	}
	r.print(out)
	if r.bad() {
		return fmt.Errorf("the audit found what must not be")
	}
	return nil
}

// backlog is how many jobs each start finds at least: more than it can do
// before it is killed.
const backlog = 100

// crash starts the program kills+1 times, kills all but the last start with
// SIGKILL in mid-work, and audits the store afterwards.
func crash(ctx context.Context, c config, kills int, log io.Writer) (*result, error) {
	acks := map[string]bool{} // a producer that starts again is told the same once more
	r := &result{}
	done := 0
	for n := 0; ; n++ {
		var after time.Duration // 0: let it finish
		if n < kills {
			after = time.Duration(60+rand.IntN(240)) * time.Millisecond
		}
		got, killed, err := start(ctx, c, after)
		if err != nil {
			return nil, err
		}
		for _, ack := range got {
			if !acks[ack] && strings.HasSuffix(ack, " succeeded") {
				done++
			}
			acks[ack] = true
		}
		c.jobs = max(c.jobs, done+backlog) // so that the next start has enough to do until it is killed
		if killed {
			r.kills++
			fmt.Fprintf(log, "  kill -9 after %v: %d transitions acknowledged so far\n", after, len(acks))
			continue
		}
		break
	}
	r.acked = len(acks)
	err := r.audit(ctx, c, acks)
	return r, err
}

// start runs the program as a child process and kills it after the given time,
// counted from its first acknowledged transition, so that it dies in mid-work.
func start(ctx context.Context, c config, after time.Duration) (acks []string, killed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, false, err
	}
	cmd := exec.CommandContext(ctx, self, "-acks", "-dir", c.dir,
		"-jobs", fmt.Sprint(c.jobs), "-workers", fmt.Sprint(c.workers), "-producers", fmt.Sprint(c.producers),
		"-work", c.work.String(), "-lease", c.lease.String())
	cmd.Env = append(os.Environ(), "QUEUE_CHILD=1") // for the test binary, which then runs main
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if len(acks) == 0 && after > 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		acks = append(acks, lines.Text())
	}
	err = cmd.Wait()
	if err == nil {
		return acks, false, nil
	}
	if after > 0 && !cmd.ProcessState.Exited() {
		return acks, true, nil
	}
	return nil, false, fmt.Errorf("the queue ended by itself: %w", err)
}

// audit opens what the killed processes left and looks at all of it.
func (r *result) audit(ctx context.Context, c config, acks map[string]bool) error {
	store, err := sqlite.Open(filepath.Join(c.dir, "queue.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		return err
	}
	counts, err := m.Count(ctx)
	if err != nil {
		return err
	}
	r.succeeded = counts[lifecycle.StateSucceeded]
	for _, n := range counts {
		r.jobs += n
	}
	log := map[string]bool{}
	for job, err := range m.List(ctx) {
		if err != nil {
			return err
		}
		var events []fsm.Event
		for e, err := range m.History(ctx, job.ID) {
			if err != nil {
				return err
			}
			log[fmt.Sprintf("ack %s %d %s", e.ID, e.Rev, e.Name)] = true
			events = append(events, e)
		}
		r.events += int64(len(events))
		folded, err := lifecycle.Fold(events)
		if err != nil {
			return err
		}
		if folded.Equal(job) {
			r.folded++
		}
	}
	for ack := range acks {
		if !log[ack] {
			r.lost++
		}
	}
	for finding, err := range audit.Run(ctx, m) {
		if err != nil {
			return err
		}
		r.violations = append(r.violations, finding.String())
	}
	ledger, err := openLedger(ctx, filepath.Join(c.dir, "ledger.db"))
	if err != nil {
		return err
	}
	defer ledger.close()
	r.applied, r.doubled, err = ledger.count(ctx)
	return err
}

// print writes the table.
func (r *result) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kills\tacknowledged\tlost\tjobs\tsucceeded\teffects applied\tapplied twice\tevents\tfold = record\tviolations\t")
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
		r.kills, r.acked, r.lost, r.jobs, r.succeeded, r.applied, r.doubled, r.events, r.folded, len(r.violations))
	w.Flush()
	if len(r.violations) > 0 {
		fmt.Fprintln(out, strings.Join(r.violations, "\n"))
	}
}
