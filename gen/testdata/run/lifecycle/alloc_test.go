package lifecycle

import (
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(s State) Job {
	j := Job{ID: "job-1", State: s, Rev: 3, CreatedAt: now, UpdatedAt: now, Attempt: 1}
	switch s {
	case StateClaimed, StateRunning:
		j.Owner, j.Lease = fsm.Some("w1"), fsm.Some(now.Add(time.Minute))
	case StateSucceeded:
		j.Result = fsm.Some(fsm.MustJSON("1"))
	case StateFailed:
		j.Error = fsm.Some(fsm.MustJSON("1"))
	}
	return j
}

// TestAllocations holds the pure layer to its promise: an accepted call
// allocates nothing, a refused one allocates its refusal.
func TestAllocations(t *testing.T) {
	result := fsm.MustJSON(`{"n":1}`)
	labels := map[string]string{"a": "b"}
	var j Job
	for name, c := range map[string]struct {
		from State
		call func() error
		want float64
	}{
		"enqueue": {0, func() error {
			_, _, err := Enqueue("job-1", EnqueueRequest{DedupeKey: fsm.Some("k"), Payload: fsm.Some(result), Labels: labels}, now)
			return err
		}, 0},
		"claim_next": {StateQueued, func() error {
			_, err := j.ClaimNext(ClaimNextRequest{Actor: "w1", Lease: now.Add(time.Hour)}, now)
			return err
		}, 0},
		"start":           {StateClaimed, func() error { _, err := j.Start(StartRequest{Actor: "w1"}, now); return err }, 0},
		"heartbeat":       {StateRunning, func() error { _, err := j.Heartbeat(HeartbeatRequest{Actor: "w1", Lease: now}, now); return err }, 0},
		"complete":        {StateRunning, func() error { _, err := j.Complete(CompleteRequest{Actor: "w1", Result: result}, now); return err }, 0},
		"can complete":    {StateRunning, func() error { return j.CanComplete(CompleteRequest{Actor: "w1", Result: result}, now) }, 0},
		"fail":            {StateRunning, func() error { _, err := j.Fail(FailRequest{Actor: "w1", Error: result}, now); return err }, 0},
		"stall":           {StateRunning, func() error { _, err := j.Stall(StallRequest{}, now); return err }, 0},
		"requeue_stalled": {StateStalled, func() error { _, err := j.RequeueStalled(RequeueStalledRequest{}, now); return err }, 0},
		"check": {StateRunning, func() error {
			if v := Check(j); v != nil {
				t.Error(v)
			}
			return nil
		}, 0},
		"refused by guard": {StateRunning, func() error { _, err := j.Start(StartRequest{Actor: "w2"}, now); return err }, 1},
		"refused by state": {StateSucceeded, func() error { _, err := j.Start(StartRequest{Actor: "w1"}, now); return err }, 1},
		"refused actor":    {StateClaimed, func() error { _, err := j.Start(StartRequest{}, now); return err }, 1},
		"refused input":    {StateRunning, func() error { _, err := j.Complete(CompleteRequest{Actor: "w1"}, now); return err }, 1},
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
	for _, s := range States() {
		j := record(s)
		before := j
		for _, err := range []error{
			j.CanStall(StallRequest{}, now),
			second(j.Start(StartRequest{Actor: "somebody else"}, now)),
			second(j.Complete(CompleteRequest{Actor: "w1"}, now)),
			second(j.ClaimNext(ClaimNextRequest{Actor: "w1"}, now)),
		} {
			if err == nil && s != StateClaimed && s != StateRunning {
				t.Errorf("a call was accepted in %s", s)
			}
		}
		if !j.Equal(before) || j != before {
			t.Errorf("a refused call changed %+v to %+v", before, j)
		}
	}
}

func second(_ Event, err error) error { return err }

func BenchmarkHeartbeat(b *testing.B) {
	j := record(StateRunning)
	req := HeartbeatRequest{Actor: "w1", Lease: now.Add(time.Hour)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Heartbeat(req, now); err != nil {
			b.Fatal(err)
		}
	}
}
