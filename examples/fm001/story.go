package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// opener opens one of the two machines.
type opener func(context.Context, *sqlstore.Store, func() time.Time) (machine, error)

// tell runs all stories and returns an error when one does not end as it must.
func tell(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "1. A slow worker, safeguards off (naive.yaml)")
	n, err := slow(ctx, out, openUnsafe)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "   effects applied for the one job: %d  <- FM_001\n\n", n)
	if n != 2 {
		return fmt.Errorf("FM_001 was not reproduced: %d effects", n)
	}

	fmt.Fprintln(out, "2. The same, safeguards on (specs/execution.yaml)")
	if n, err = slow(ctx, out, openSafe); err != nil {
		return err
	}
	fmt.Fprintf(out, "   effects applied for the one job: %d\n\n", n)
	if n != 1 {
		return fmt.Errorf("the safeguards let %d effects through", n)
	}

	for i, step := range []string{"start", "commit"} {
		fmt.Fprintf(out, "%d. A worker process killed with SIGKILL after %s, safeguards on\n", 3+i, step)
		if n, err = killed(ctx, out, step); err != nil {
			return err
		}
		fmt.Fprintf(out, "   effects applied for the one job: %d\n\n", n)
		if n != 1 {
			return fmt.Errorf("%d effects after a kill", n)
		}
	}
	return nil
}

// slow is FM_001: worker A is slow, its lease ends, worker B gets the job, and
// both commit.
func slow(ctx context.Context, out io.Writer, open1 opener) (int, error) {
	dir, err := os.MkdirTemp("", "fm001")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	place, err := open(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer place.close()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	m, err := open1(ctx, place.store, func() time.Time { return now })
	if err != nil {
		return 0, err
	}

	step(out, "A leases A1", m.lease(ctx, "A1", "job", "A", now.Add(leaseTime)))
	step(out, "A starts A1 and falls asleep", m.start(ctx, "A1", "A"))
	now = now.Add(leaseTime)
	err = m.lease(ctx, "B1", "job", "B", now.Add(leaseTime))
	step(out, "A's lease ends; B leases B1", err)
	if errors.Is(err, execution.ErrJobAlreadyLeased) {
		n, err := m.sweep(ctx)
		step(out, fmt.Sprintf("the sweeper ends what is overdue (%d)", n), err)
		step(out, "B leases B1", m.lease(ctx, "B1", "job", "B", now.Add(leaseTime)))
	}
	step(out, "B starts B1", m.start(ctx, "B1", "B"))
	step(out, "B commits B1", m.commit(ctx, "B1", "B"))
	step(out, "A wakes up and commits A1", m.commit(ctx, "A1", "A"))
	step(out, "C leases C1", m.lease(ctx, "C1", "job", "C", now.Add(leaseTime)))
	return place.effects(ctx, "job")
}

// killed starts a worker in a process of its own, kills it after the given
// step, and lets recovery and a second worker go on.
func killed(ctx context.Context, out io.Writer, after string) (int, error) {
	dir, err := os.MkdirTemp("", "fm001")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := kill(ctx, dir, after); err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "   %-42s killed\n", "A leases A1, goes on to "+after)

	place, err := open(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer place.close()
	m, err := openSafe(ctx, place.store, time.Now)
	if err != nil {
		return 0, err
	}
	n, err := m.startup(ctx)
	step(out, fmt.Sprintf("recovery at start (%d finished)", n), err)
	step(out, "B leases B1", m.lease(ctx, "B1", "job", "B", time.Now().Add(time.Minute)))
	time.Sleep(leaseTime)
	n, err = m.sweep(ctx)
	step(out, fmt.Sprintf("A's lease ends; the sweeper (%d ended)", n), err)
	err = m.lease(ctx, "B2", "job", "B", time.Now().Add(time.Minute))
	step(out, "B leases B2", err)
	if err == nil {
		step(out, "B starts B2", m.start(ctx, "B2", "B"))
		step(out, "B commits B2", m.commit(ctx, "B2", "B"))
	}
	state, err := m.state(ctx, "A1")
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "   A1 is %s\n", state)
	return place.effects(ctx, "job")
}

// kill runs this program as worker A and kills it after its step.
func kill(ctx context.Context, dir, after string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-worker", after, "-db", dir)
	cmd.Env = append(os.Environ(), "FM001_CHILD=1") // for the test binary, which then runs main
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ready := bufio.NewScanner(stdout).Scan()
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // it was killed
	if !ready {
		return fmt.Errorf("worker A never reached %s", after)
	}
	return nil
}

// beKilled is worker A: it goes on to the given step, says so and waits for its end.
func beKilled(ctx context.Context, dir, until string) error {
	place, err := open(ctx, dir)
	if err != nil {
		return err
	}
	m, err := openSafe(ctx, place.store, time.Now)
	if err != nil {
		return err
	}
	if err := m.lease(ctx, "A1", "job", "A", time.Now().Add(leaseTime)); err != nil {
		return err
	}
	if err := m.start(ctx, "A1", "A"); err != nil {
		return err
	}
	if until == "commit" {
		if err := m.commit(ctx, "A1", "A"); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return nil
}

// step prints what a step of the story led to.
func step(out io.Writer, what string, err error) {
	answer := "ok"
	if refusal := (*fsm.Refusal)(nil); errors.As(err, &refusal) {
		answer = "refused: " + string(refusal.Code)
		if refusal.Cause != nil {
			answer += " (" + refusal.Cause.Error() + ")"
		}
	} else if err != nil {
		answer = err.Error()
	}
	fmt.Fprintf(out, "   %-42s %s\n", what, answer)
}
