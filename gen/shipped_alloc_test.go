package gen_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// These look at the five machines of the repository as they are committed, which
// internal/lab/difftest holds to be what is generated. None is parallel: what others allocate
// meanwhile would be counted.

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(s lifecycle.State) lifecycle.Job {
	j := lifecycle.Job{ID: "job-1", State: s, Rev: 3, CreatedAt: now, UpdatedAt: now, Attempt: 1}
	switch s {
	case lifecycle.StateClaimed, lifecycle.StateRunning:
		j.Owner, j.Lease = fsm.Some("w1"), fsm.Some(now.Add(time.Minute))
	case lifecycle.StateSucceeded:
		j.Result = fsm.Some(fsm.MustJSON("1"))
	case lifecycle.StateFailed:
		j.Error = fsm.Some(fsm.MustJSON("1"))
	}
	return j
}

// TestLifecycleAllocations holds the pure layer to its promise: an accepted call
// allocates nothing, a refused one its refusal, and the text of what a guard looked at.
func TestLifecycleAllocations(t *testing.T) {
	result := fsm.MustJSON(`{"n":1}`)
	var j lifecycle.Job
	for name, c := range map[string]struct {
		from lifecycle.State
		call func() error
		want float64
	}{
		"enqueue": {0, func() error {
			_, _, err := lifecycle.Enqueue("job-1", lifecycle.EnqueueInput{DedupeKey: fsm.Some("k"), Payload: fsm.Some(result)}, now)
			return err
		}, 0},
		"claim_next": {lifecycle.StateQueued, func() error {
			_, err := j.ClaimNext(lifecycle.ClaimNextInput{Lease: now.Add(time.Hour)}, "w1", now)
			return err
		}, 0},
		"start": {lifecycle.StateClaimed, func() error { _, err := j.Start("w1", now); return err }, 0},
		"heartbeat": {lifecycle.StateRunning, func() error {
			_, err := j.Heartbeat(lifecycle.HeartbeatInput{Lease: now.Add(time.Hour)}, "w1", now)
			return err
		}, 0},
		"complete": {lifecycle.StateRunning, func() error {
			_, err := j.Complete(lifecycle.CompleteInput{Result: result}, "w1", now)
			return err
		}, 0},
		"can complete":    {lifecycle.StateRunning, func() error { return j.Can(lifecycle.OpComplete) }, 0},
		"fail":            {lifecycle.StateRunning, func() error { _, err := j.Fail(lifecycle.FailInput{Error: result}, "w1", now); return err }, 0},
		"stall":           {lifecycle.StateRunning, func() error { _, err := j.Stall(now.Add(2 * time.Hour)); return err }, 0},
		"requeue_stalled": {lifecycle.StateStalled, func() error { _, err := j.RequeueStalled(now); return err }, 0},
		"check": {lifecycle.StateRunning, func() error {
			if v := lifecycle.Check(j); v != nil {
				t.Error(v)
			}
			return nil
		}, 0},
		"refused by guard": {lifecycle.StateClaimed, func() error { _, err := j.Start("w2", now); return err }, 2},
		"refused by state": {lifecycle.StateSucceeded, func() error { _, err := j.Start("w1", now); return err }, 1},
		"refused actor":    {lifecycle.StateClaimed, func() error { _, err := j.Start("", now); return err }, 1},
		"refused input":    {lifecycle.StateRunning, func() error { _, err := j.Complete(lifecycle.CompleteInput{}, "w1", now); return err }, 1},
	} {
		start := record(c.from)
		got := testing.AllocsPerRun(200, func() {
			j = start
			if err := c.call(); (err != nil) != (c.want > 0) {
				t.Fatalf("%s: %v", name, err)
			}
		})
		if got != c.want {
			t.Errorf("%s allocates %v times, expected %v", name, got, c.want)
		}
	}
}

// TestUntouched hands calls that are refused to records and looks at the whole
// record afterwards.
func TestUntouched(t *testing.T) {
	for _, s := range lifecycle.States() {
		j := record(s)
		before := j
		for _, err := range []error{
			j.Can(lifecycle.OpStall),
			second(j.Start("somebody else", now)),
			second(j.Complete(lifecycle.CompleteInput{}, "w1", now)),
			second(j.ClaimNext(lifecycle.ClaimNextInput{}, "w1", now)),
		} {
			if err == nil && s != lifecycle.StateClaimed && s != lifecycle.StateRunning {
				t.Errorf("a call was accepted in %s", s)
			}
		}
		if !j.Equal(before) || j != before {
			t.Errorf("a refused call changed %+v to %+v", before, j)
		}
	}
}

func second(_ lifecycle.Event, err error) error { return err }

func TestJobstateAllocations(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	expected := fsm.NewSet("a", "b", "c")
	running := jobstate.Job{
		ID: "j", State: jobstate.StateRunning, Rev: 2, CreatedAt: now, UpdatedAt: now,
		Expected: expected, Satisfied: fsm.NewSet("a"), CompensationPolicy: fsm.Some("undo"),
	}
	compensating := running
	compensating.State = jobstate.StateCompensating
	var j jobstate.Job
	for name, c := range map[string]struct {
		call func() error
		want float64
	}{
		"create": {func() error {
			_, _, err := jobstate.Create("j", jobstate.CreateInput{Expected: expected}, now)
			return err
		}, 0},
		"known event": {func() error {
			j = running
			_, err := j.ExpectedEvent(jobstate.ExpectedEventInput{Name: "a"}, now)
			return err
		}, 0},
		"new event": {func() error {
			j = running
			_, err := j.ExpectedEvent(jobstate.ExpectedEventInput{Name: "b"}, now)
			return err
		}, 1}, // the set
		"recorded event": {func() error {
			j = running
			_, err := j.ExpectedEvent(jobstate.ExpectedEventInput{Name: "x"}, now)
			return err
		}, 0},
		"error": {func() error { j = running; _, err := j.ErrorEvent(jobstate.ErrorEventInput{}, now); return err }, 0},
		"compensation": {func() error {
			j = compensating
			_, err := j.CompensationEvent(jobstate.CompensationEventInput{Decision: fsm.Some(jobstate.CompensationEventDecisionDone)}, now)
			return err
		}, 0},
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := c.call(); err != nil {
				t.Fatal(name, err)
			}
		}); n != c.want {
			t.Errorf("%s allocates %v times, expected %v", name, n, c.want)
		}
	}
}

func TestExecutionAllocations(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := execution.LeaseInput{JobID: "job", LeaseExpiresAt: now.Add(time.Minute)}
	running := execution.Execution{
		ID: "x", State: execution.StateInProgress, Rev: 2, CreatedAt: now, UpdatedAt: now, JobID: "job", Attempt: 1,
		LeaseOwner: "w1", LeaseExpiresAt: now.Add(time.Minute), StartedAt: fsm.Some(now),
	}
	var j execution.Execution
	for name, call := range map[string]func() error{
		"lease": func() error {
			_, _, err := execution.Lease("x", in, execution.LeasePeers{Attempt: 1}, "w1", now)
			return err
		},
		"commit": func() error { j = running; _, err := j.Commit(execution.CommitInput{}, "w1", now); return err },
		"expire": func() error {
			j = running
			_, err := j.Expire(now.Add(time.Hour))
			return err
		},
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := call(); err != nil {
				t.Fatal(name, err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if n := testing.AllocsPerRun(200, func() {
		if _, _, err := execution.Lease("x", in, execution.LeasePeers{JobNotLeased: 1, Attempt: 1}, "w1", now); !errors.Is(err, execution.ErrJobAlreadyLeased) {
			t.Fatal(err)
		}
	}); n > 4 { // the refusal, and the values that the guard looked at
		t.Errorf("a refusal allocates %v times", n)
	}
}
