package gen_test

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// byHand is Heartbeat as one would write it: the same checks in the same order, and
// the rules of the target in place.
func byHand(j *lifecycle.Job, in lifecycle.HeartbeatInput, actor string, now time.Time) (lifecycle.Event, error) {
	now = driver.Time(now)
	refuse := func(code fsm.Code) (lifecycle.Event, error) {
		return lifecycle.Event{}, &fsm.Refusal{Code: code, Machine: "lifecycle", Operation: "heartbeat", ID: j.ID, State: j.State.String()}
	}
	if actor == "" {
		return refuse(fsm.ErrActorMissing)
	}
	if driver.CheckID(actor) != nil {
		return refuse(fsm.ErrInvalidInput)
	}
	lease := driver.Time(in.Lease)
	if lease.IsZero() || !fsmimpl.InYears(lease) {
		return refuse(fsm.ErrInvalidInput)
	}
	if j.State != lifecycle.StateClaimed && j.State != lifecycle.StateRunning {
		return refuse(fsm.ErrWrongState)
	}
	if owner, ok := j.Owner.Get(); !ok || owner != actor {
		return refuse(fsm.ErrGuard)
	}
	if !now.Before(lease) {
		return refuse(fsm.ErrGuard)
	}
	if old, ok := j.Lease.Get(); !ok || lease.Before(old) {
		return refuse(fsm.ErrGuard)
	}
	if j.Result.Present() || j.Error.Present() || j.Attempt < 1 {
		return refuse(fsm.ErrInvariant)
	}
	j.Lease = fsm.Some(lease)
	j.Rev++
	if now.After(j.UpdatedAt) {
		j.UpdatedAt = now
	}
	return lifecycle.Event{Name: lifecycle.EventHeartbeat, From: j.State, To: j.State}, nil
}

// The generated method beside the one by hand: `go test ./gen -bench Heartbeat`.
func BenchmarkHeartbeat(b *testing.B) {
	in := lifecycle.HeartbeatInput{Lease: now.Add(time.Hour)}
	for name, beat := range map[string]func(*lifecycle.Job, lifecycle.HeartbeatInput, string, time.Time) (lifecycle.Event, error){
		"generated": (*lifecycle.Job).Heartbeat, "by hand": byHand,
	} {
		b.Run(name, func(b *testing.B) {
			j := record(lifecycle.StateRunning)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := beat(&j, in, "w1", now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
