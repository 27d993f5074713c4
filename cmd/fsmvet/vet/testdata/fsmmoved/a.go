// Package fsmmoved uses handles after they were moved, and does what looks alike.
package fsmmoved

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

func straight(ctx context.Context, claimed lifecycle.ClaimedJob) error {
	running, err := claimed.Start(ctx)
	if err != nil {
		return err
	}
	fmt.Println(running.Owner())
	_, err = claimed.Stall(ctx) // want `claimed was moved by Start in line 15 and has the revision from before, so Stall is refused as stale; use running`
	return err
}

func dropped(ctx context.Context, claimed lifecycle.ClaimedJob, in lifecycle.HeartbeatInput) error {
	_, _ = claimed.Start(ctx)
	return claimed.Heartbeat(ctx, in) // want `claimed was moved by Start in line 25 .* use what Start returns`
}

func branch(ctx context.Context, claimed lifecycle.ClaimedJob, in lifecycle.HeartbeatInput) error {
	if running, err := claimed.Start(ctx); err == nil {
		fmt.Println(running.Owner())
		return claimed.Heartbeat(ctx, in) // want `claimed was moved by Start`
	}
	return nil
}

func switched(ctx context.Context, claimed lifecycle.ClaimedJob) error {
	_, err := claimed.Start(ctx)
	switch {
	case errors.Is(err, fsm.ErrStale):
		return nil
	case err != nil:
		_, err = claimed.Stall(ctx)
		return err
	}
	_, err = claimed.Stall(ctx) // want `claimed was moved by Start`
	return err
}

func inLoop(ctx context.Context, list []lifecycle.ClaimedJob) error {
	for _, claimed := range list {
		running, err := claimed.Start(ctx)
		if err != nil {
			continue
		}
		if _, err := claimed.Stall(ctx); err != nil { // want `claimed was moved by Start`
			return err
		}
		fmt.Println(running)
	}
	return nil
}

func outcome(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job, c, d fsm.Call) error {
	started, err := m.Start(ctx, job, c)
	if err != nil {
		return err
	}
	if _, err = m.Stall(ctx, job, d); err != nil { // want `job was moved by Start .*; use started`
		return err
	}
	_, err = m.RequeueStalled(ctx, started, d)
	return err
}

func handleByMachine(ctx context.Context, m *lifecycle.Machine, claimed lifecycle.ClaimedJob, c fsm.Call) error {
	if _, err := m.Start(ctx, claimed, c); err != nil {
		return err
	}
	_, err := claimed.Stall(ctx) // want `claimed was moved by Start`
	return err
}

// retry makes the same call of the same handle: it replays.
func retry(ctx context.Context, claimed lifecycle.ClaimedJob) (lifecycle.RunningJob, error) {
	running, err := claimed.Start(ctx)
	if errors.Is(err, fsm.ErrAmbiguous) {
		running, err = claimed.Start(ctx)
	}
	return running, err
}

// giveBack uses the handle where the step has failed.
func giveBack(ctx context.Context, claimed lifecycle.ClaimedJob) error {
	_, err := claimed.Start(ctx)
	if err != nil {
		_, err = claimed.Stall(ctx)
		return err
	}
	return nil
}

// notAsked does not know whether the step succeeded.
func notAsked(ctx context.Context, claimed lifecycle.ClaimedJob, transient func(error) bool) error {
	_, err := claimed.Start(ctx)
	if transient(err) {
		_, err = claimed.Stall(ctx)
	}
	return err
}

// oneWay moves it on one way only.
func oneWay(ctx context.Context, claimed lifecycle.ClaimedJob, now bool) error {
	if now {
		if _, err := claimed.Start(ctx); err != nil {
			return err
		}
	}
	_, err := claimed.Stall(ctx)
	return err
}

// again gives the variable another handle.
func again(ctx context.Context, claimed, other lifecycle.ClaimedJob) error {
	if _, err := claimed.Start(ctx); err != nil {
		return err
	}
	claimed = other
	_, err := claimed.Stall(ctx)
	return err
}

// reads looks at the old handle, which is right.
func reads(ctx context.Context, claimed lifecycle.ClaimedJob) (string, error) {
	running, err := claimed.Start(ctx)
	if err != nil {
		return "", err
	}
	fmt.Println(claimed.Record().Attempt, claimed.Outcome().Replayed)
	return running.Owner(), nil
}

// stays keeps the handle: a heartbeat gives it the new revision.
func stays(ctx context.Context, claimed lifecycle.ClaimedJob, in lifecycle.HeartbeatInput) error {
	if err := claimed.Heartbeat(ctx, in); err != nil {
		return err
	}
	_, err := claimed.Start(ctx)
	return err
}

// later runs the second step in another function.
func later(ctx context.Context, claimed lifecycle.ClaimedJob) error {
	defer func() { _, _ = claimed.Stall(ctx) }()
	_, err := claimed.Start(ctx)
	return err
}

// pays takes the outcome on, in one variable.
func pays(ctx context.Context, m *order.Machine, out order.Outcome, in order.PayInput, c, d fsm.Call) error {
	out, err := m.Pay(ctx, out, in, c)
	if err != nil {
		return err
	}
	_, err = m.Cancel(ctx, out, d)
	return err
}

// byID names no revision.
func byID(ctx context.Context, m *order.Machine, in order.PayInput, c, d fsm.Call) error {
	at := fsm.Ref{ID: "a"}
	if _, err := m.Pay(ctx, at, in, c); err != nil {
		return err
	}
	_, err := m.Cancel(ctx, at, d)
	return err
}
