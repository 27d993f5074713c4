package pure

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// handFull is one switch that does everything that the generated methods do, on
// the same record, with the same refusals.
func handFull() Subject {
	run, wait, end := running(), queued(), succeeded()
	return Subject{
		Name: "switch by hand", Depth: Full, Life: handFullLife,
		Refuse: map[string]func(int) error{
			WrongOwner: func(n int) (err error) {
				for range n {
					if _, err = apply(&run, lifecycle.OpHeartbeat, request{actor: stranger, lease: leases[2]}, instants[2]); err == nil {
						return nil
					}
				}
				return err
			},
			WrongState: func(n int) (err error) {
				for range n {
					if _, err = apply(&wait, lifecycle.OpStart, request{actor: worker}, instants[1]); err == nil {
						return nil
					}
				}
				return err
			},
			Terminal: func(n int) (err error) {
				for range n {
					if _, err = apply(&end, lifecycle.OpComplete, request{actor: worker, result: answer}, instants[5]); err == nil {
						return nil
					}
				}
				return err
			},
		},
	}
}

func handFullLife(n int) (End, error) {
	fresh := queued()
	var j lifecycle.Job
	for range n {
		j = fresh
		if _, err := apply(&j, lifecycle.OpClaimNext, request{actor: worker, lease: leases[0]}, instants[0]); err != nil {
			return End{}, err
		}
		if _, err := apply(&j, lifecycle.OpStart, request{actor: worker}, instants[1]); err != nil {
			return End{}, err
		}
		for beat := 2; beat < 5; beat++ {
			if _, err := apply(&j, lifecycle.OpHeartbeat, request{actor: worker, lease: leases[beat]}, instants[beat]); err != nil {
				return End{}, err
			}
		}
		if _, err := apply(&j, lifecycle.OpComplete, request{actor: worker, result: answer}, instants[5]); err != nil {
			return End{}, err
		}
	}
	return endOf(&j), nil
}

// request is what a caller hands in.
type request struct {
	actor  string
	lease  time.Time
	result fsm.JSON
}

// apply is the switch. The times that a caller gives are cut, the actor and the
// inputs are looked at first, then the state, the owner, and what the target
// state promises.
func apply(j *lifecycle.Job, op string, req request, now time.Time) (lifecycle.Event, error) {
	now = driver.Time(now)
	if req.actor == "" {
		return lifecycle.Event{}, refuse(j, op, fsm.ErrActorMissing, "")
	}
	if err := driver.CheckID(req.actor); err != nil {
		return lifecycle.Event{}, refuseInput(j, op, "actor", err.Error())
	}
	e := lifecycle.Event{From: j.State}
	switch op {
	case lifecycle.OpClaimNext:
		lease := driver.Time(req.lease)
		if problem := badLease(lease); problem != "" {
			return lifecycle.Event{}, refuseInput(j, op, "lease", problem)
		}
		if j.State != lifecycle.StateQueued && j.State != lifecycle.StateStalled {
			return lifecycle.Event{}, refuseState(j, op)
		}
		if j.Result.Present() || j.Error.Present() || j.Attempt+1 < 1 {
			return lifecycle.Event{}, refuse(j, op, fsm.ErrInvariant, "claimed")
		}
		j.Owner, j.Lease = fsm.Some(req.actor), fsm.Some(lease)
		j.Attempt++
		e.Name, e.To = lifecycle.EventClaimed, lifecycle.StateClaimed
	case lifecycle.OpStart:
		if j.State != lifecycle.StateClaimed {
			return lifecycle.Event{}, refuseState(j, op)
		}
		if owner, ok := j.Owner.Get(); !ok || owner != req.actor {
			return lifecycle.Event{}, refuseOwner(j, op)
		}
		if !j.Lease.Present() || j.Result.Present() || j.Error.Present() || j.Attempt < 1 {
			return lifecycle.Event{}, refuse(j, op, fsm.ErrInvariant, "running")
		}
		e.Name, e.To = lifecycle.EventStarted, lifecycle.StateRunning
	case lifecycle.OpHeartbeat:
		lease := driver.Time(req.lease)
		if problem := badLease(lease); problem != "" {
			return lifecycle.Event{}, refuseInput(j, op, "lease", problem)
		}
		if j.State != lifecycle.StateClaimed && j.State != lifecycle.StateRunning {
			return lifecycle.Event{}, refuseState(j, op)
		}
		if owner, ok := j.Owner.Get(); !ok || owner != req.actor {
			return lifecycle.Event{}, refuseOwner(j, op)
		}
		if j.Result.Present() || j.Error.Present() || j.Attempt < 1 {
			return lifecycle.Event{}, refuse(j, op, fsm.ErrInvariant, "running")
		}
		j.Lease = fsm.Some(lease)
		e.Name, e.To = lifecycle.EventHeartbeat, j.State
	case lifecycle.OpComplete:
		if req.result.IsZero() {
			return lifecycle.Event{}, refuseInput(j, op, "result", "it is required and missing")
		}
		if err := driver.CheckText(req.result.String()); err != nil {
			return lifecycle.Event{}, refuseInput(j, op, "result", err.Error())
		}
		if j.State != lifecycle.StateRunning {
			return lifecycle.Event{}, refuseState(j, op)
		}
		if owner, ok := j.Owner.Get(); !ok || owner != req.actor {
			return lifecycle.Event{}, refuseOwner(j, op)
		}
		if j.Error.Present() {
			return lifecycle.Event{}, refuse(j, op, fsm.ErrInvariant, "succeeded")
		}
		j.Result, j.Owner, j.Lease = fsm.Some(req.result), fsm.Optional[string]{}, fsm.Optional[time.Time]{}
		e.Name, e.To = lifecycle.EventSucceeded, lifecycle.StateSucceeded
	default:
		return lifecycle.Event{}, refuse(j, op, fsm.ErrInvalidInput, "operation")
	}
	j.State = e.To
	j.Rev++
	if now.After(j.UpdatedAt) {
		j.UpdatedAt = now
	}
	return e, nil
}

func badLease(t time.Time) string {
	if t.IsZero() {
		return "it is required and zero"
	}
	if year := t.Year(); year < 1 || year > 9999 {
		return "it is outside the years 1 to 9999"
	}
	return ""
}

func refuse(j *lifecycle.Job, op string, code fsm.Code, name string) error {
	return &fsm.Refusal{Code: code, Machine: "lifecycle", Operation: op, Name: name, ID: j.ID, State: j.State.String()}
}

func refuseInput(j *lifecycle.Job, op string, name, problem string) error {
	return &fsm.Refusal{Code: fsm.ErrInvalidInput, Machine: "lifecycle", Operation: op, Name: name, Message: problem, ID: j.ID, State: j.State.String()}
}

// possible lists the states in which an operation is possible.
var possible = map[string]string{
	lifecycle.OpClaimNext: "queued, stalled", lifecycle.OpStart: "claimed", lifecycle.OpHeartbeat: "claimed, running", lifecycle.OpComplete: "running",
}

func refuseState(j *lifecycle.Job, op string) error {
	r := &fsm.Refusal{Code: fsm.ErrWrongState, Machine: "lifecycle", Operation: op, Allowed: possible[op], ID: j.ID, State: j.State.String()}
	if j.State.Terminal() {
		r.Code = fsm.ErrTerminal
	}
	return r
}

func refuseOwner(j *lifecycle.Job, op string) error {
	return &fsm.Refusal{Code: fsm.ErrGuard, Machine: "lifecycle", Operation: op, Guard: "owner_only", Cause: lifecycle.ErrNotOwner, ID: j.ID, State: j.State.String()}
}
