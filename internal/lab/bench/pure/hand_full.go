package pure

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// handFull is methods by hand that do everything that the generated ones do, on the same
// record, with the same refusals.
func handFull() Subject {
	run, wait, end := hand{running()}, hand{queued()}, hand{succeeded()}
	return Subject{
		Name: "methods by hand", Depth: Full, Life: handFullLife,
		Refuse: map[string]func(int) error{
			WrongOwner: func(n int) (err error) {
				for range n {
					if _, err = run.heartbeat(leases[2], stranger, instants[2]); err == nil {
						return nil
					}
				}
				return err
			},
			WrongState: func(n int) (err error) {
				for range n {
					if _, err = wait.start(worker, instants[1]); err == nil {
						return nil
					}
				}
				return err
			},
			Terminal: func(n int) (err error) {
				for range n {
					if _, err = end.complete(answer, worker, instants[5]); err == nil {
						return nil
					}
				}
				return err
			},
		},
	}
}

func handFullLife(n int) (End, error) {
	fresh := hand{queued()}
	var j hand
	for range n {
		j = fresh
		if _, err := j.claim(leases[0], worker, instants[0]); err != nil {
			return End{}, err
		}
		if _, err := j.start(worker, instants[1]); err != nil {
			return End{}, err
		}
		for beat := 2; beat < 5; beat++ {
			if _, err := j.heartbeat(leases[beat], worker, instants[beat]); err != nil {
				return End{}, err
			}
		}
		if _, err := j.complete(answer, worker, instants[5]); err != nil {
			return End{}, err
		}
	}
	return endOf(&j.Job), nil
}

// hand has the methods that somebody writes who knows what a job needs: one for each
// operation, which does what the generated one does.
type hand struct{ lifecycle.Job }

// begun cuts the instant and checks who asks.
func (j *hand) begun(op, actor string, now time.Time) (time.Time, error) {
	if actor == "" {
		return now, refuse(&j.Job, op, fsm.ErrActorMissing, "")
	}
	if err := driver.CheckID(actor); err != nil {
		return now, refuseInput(&j.Job, op, "actor", err.Error())
	}
	return driver.Time(now), nil
}

// moved changes what every move does.
func (j *hand) moved(name string, to lifecycle.State, now time.Time) lifecycle.Event {
	e := lifecycle.Event{Name: name, From: j.State, To: to}
	j.State = to
	j.Rev++
	if now.After(j.UpdatedAt) {
		j.UpdatedAt = now
	}
	return e
}

func (j *hand) claim(lease time.Time, actor string, now time.Time) (lifecycle.Event, error) {
	now, err := j.begun(lifecycle.OpClaimNext, actor, now)
	if err != nil {
		return lifecycle.Event{}, err
	}
	lease = driver.Time(lease)
	if problem := badLease(lease); problem != "" {
		return lifecycle.Event{}, refuseInput(&j.Job, lifecycle.OpClaimNext, "lease", problem)
	}
	if j.State != lifecycle.StateQueued && j.State != lifecycle.StateStalled {
		return lifecycle.Event{}, refuseState(&j.Job, lifecycle.OpClaimNext)
	}
	if !now.Before(lease) {
		return lifecycle.Event{}, refuse(&j.Job, lifecycle.OpClaimNext, fsm.ErrGuard, "lease_ahead")
	}
	if j.Result.Present() || j.Error.Present() || j.Attempt+1 < 1 {
		return lifecycle.Event{}, refuse(&j.Job, lifecycle.OpClaimNext, fsm.ErrInvariant, "claimed")
	}
	j.Owner, j.Lease = fsm.Some(actor), fsm.Some(lease)
	j.Attempt++
	return j.moved(lifecycle.EventClaimed, lifecycle.StateClaimed, now), nil
}

func (j *hand) start(actor string, now time.Time) (lifecycle.Event, error) {
	now, err := j.begun(lifecycle.OpStart, actor, now)
	if err != nil {
		return lifecycle.Event{}, err
	}
	if j.State != lifecycle.StateClaimed {
		return lifecycle.Event{}, refuseState(&j.Job, lifecycle.OpStart)
	}
	if owner, ok := j.Owner.Get(); !ok || owner != actor {
		return lifecycle.Event{}, refuseOwner(&j.Job, lifecycle.OpStart)
	}
	if !j.Lease.Present() || j.Result.Present() || j.Error.Present() || j.Attempt < 1 {
		return lifecycle.Event{}, refuse(&j.Job, lifecycle.OpStart, fsm.ErrInvariant, "running")
	}
	return j.moved(lifecycle.EventStarted, lifecycle.StateRunning, now), nil
}

func (j *hand) heartbeat(lease time.Time, actor string, now time.Time) (lifecycle.Event, error) {
	now, err := j.begun(lifecycle.OpHeartbeat, actor, now)
	if err != nil {
		return lifecycle.Event{}, err
	}
	lease = driver.Time(lease)
	if problem := badLease(lease); problem != "" {
		return lifecycle.Event{}, refuseInput(&j.Job, lifecycle.OpHeartbeat, "lease", problem)
	}
	if j.State != lifecycle.StateClaimed && j.State != lifecycle.StateRunning {
		return lifecycle.Event{}, refuseState(&j.Job, lifecycle.OpHeartbeat)
	}
	if owner, ok := j.Owner.Get(); !ok || owner != actor {
		return lifecycle.Event{}, refuseOwner(&j.Job, lifecycle.OpHeartbeat)
	}
	if ends, ok := j.Lease.Get(); !ok || !now.Before(lease) || lease.Before(ends) {
		return lifecycle.Event{}, refuse(&j.Job, lifecycle.OpHeartbeat, fsm.ErrGuard, "lease_longer")
	}
	if j.Result.Present() || j.Error.Present() || j.Attempt < 1 {
		return lifecycle.Event{}, refuse(&j.Job, lifecycle.OpHeartbeat, fsm.ErrInvariant, "running")
	}
	j.Lease = fsm.Some(lease)
	return j.moved(lifecycle.EventHeartbeat, j.State, now), nil
}

func (j *hand) complete(result fsm.JSON, actor string, now time.Time) (lifecycle.Event, error) {
	now, err := j.begun(lifecycle.OpComplete, actor, now)
	if err != nil {
		return lifecycle.Event{}, err
	}
	if result.IsZero() {
		return lifecycle.Event{}, refuseInput(&j.Job, lifecycle.OpComplete, "result", "it is required and missing")
	}
	if err := driver.CheckText(result.String()); err != nil {
		return lifecycle.Event{}, refuseInput(&j.Job, lifecycle.OpComplete, "result", err.Error())
	}
	if j.State != lifecycle.StateRunning {
		return lifecycle.Event{}, refuseState(&j.Job, lifecycle.OpComplete)
	}
	if owner, ok := j.Owner.Get(); !ok || owner != actor {
		return lifecycle.Event{}, refuseOwner(&j.Job, lifecycle.OpComplete)
	}
	if j.Error.Present() {
		return lifecycle.Event{}, refuse(&j.Job, lifecycle.OpComplete, fsm.ErrInvariant, "succeeded")
	}
	j.Result, j.Owner, j.Lease = fsm.Some(result), fsm.Optional[string]{}, fsm.Optional[time.Time]{}
	return j.moved(lifecycle.EventSucceeded, lifecycle.StateSucceeded, now), nil
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
	return &fsm.Refusal{Code: fsm.ErrInvalidInput, Machine: "lifecycle", Operation: op, Name: name, Message: problem,
		ID: j.ID, State: j.State.String()}
}

// possible lists the states in which an operation is possible.
var possible = map[string]string{
	lifecycle.OpClaimNext: "queued, stalled", lifecycle.OpStart: "claimed", lifecycle.OpHeartbeat: "claimed, running",
	lifecycle.OpComplete: "running",
}

func refuseState(j *lifecycle.Job, op string) error {
	r := &fsm.Refusal{Code: fsm.ErrWrongState, Machine: "lifecycle", Operation: op, Allowed: possible[op], ID: j.ID,
		State: j.State.String()}
	if j.State.Terminal() {
		r.Code = fsm.ErrTerminal
	}
	return r
}

func refuseOwner(j *lifecycle.Job, op string) error {
	return &fsm.Refusal{Code: fsm.ErrGuard, Machine: "lifecycle", Operation: op, Guard: "owner_only",
		Cause: lifecycle.ErrNotOwner, ID: j.ID, State: j.State.String()}
}
