package pure

import (
	"errors"
	"fmt"
	"time"
)

// job is the record of those that do not use ours.
type job struct {
	state     string
	rev       int64
	updatedAt time.Time
	owner     string // empty: none
	lease     time.Time
	result    string
	failure   string
	attempt   int64
}

func (j *job) end() End {
	return End{State: j.state, Rev: j.rev, Attempt: j.attempt, Owner: j.owner, Lease: !j.lease.IsZero(), Result: j.result}
}

func queuedJob() job { return job{state: "queued", rev: 1, updatedAt: begin} }

func runningJob() job {
	return job{state: "running", rev: 3, updatedAt: begin, owner: worker, lease: leases[1], attempt: 1}
}

func succeededJob() job {
	return job{state: "succeeded", rev: 4, updatedAt: begin, result: answer.String(), attempt: 1}
}

// order is what a caller wants of a job.
type order struct {
	actor  string
	rev    int64 // that the caller knows of
	lease  time.Time
	result string
	now    time.Time
}

var (
	errOwner     = errors.New("not owner")
	errStale     = errors.New("stale")
	errInvariant = errors.New("invariant broken")
)

// may holds an order against the rules of the operation, except for the state.
func (j *job) may(op string, o *order) error {
	if j.rev != o.rev {
		return errStale
	}
	switch op {
	case "claim":
		if j.result != "" || j.failure != "" {
			return errInvariant
		}
	case "start", "heartbeat":
		if j.owner != o.actor {
			return errOwner
		}
		if j.lease.IsZero() || j.result != "" || j.failure != "" || j.attempt < 1 {
			return errInvariant
		}
	case "complete":
		if j.owner != o.actor {
			return errOwner
		}
		if o.result == "" || j.failure != "" {
			return errInvariant
		}
	}
	return nil
}

// do changes the fields of the record, except for the state.
func (j *job) do(op string, o *order) {
	switch op {
	case "claim":
		j.owner, j.lease = o.actor, o.lease
		j.attempt++
	case "heartbeat":
		j.lease = o.lease
	case "complete":
		j.result, j.owner, j.lease = o.result, "", time.Time{}
	}
	j.rev++
	if o.now.After(j.updatedAt) {
		j.updatedAt = o.now
	}
}

// errState is a refusal by the state.
type errState struct{ state, op string }

func (e *errState) Error() string {
	return fmt.Sprintf("%s is not possible in state %s", e.op, e.state)
}

// step is the switch by hand.
func (j *job) step(op string, o *order) error {
	var to string
	switch j.state {
	case "queued", "stalled":
		if op == "claim" {
			to = "claimed"
		}
	case "claimed":
		switch op {
		case "start":
			to = "running"
		case "heartbeat":
			to = "claimed"
		}
	case "running":
		switch op {
		case "heartbeat":
			to = "running"
		case "complete":
			to = "succeeded"
		}
	}
	if to == "" {
		return &errState{j.state, op}
	}
	if err := j.may(op, o); err != nil {
		return err
	}
	j.do(op, o)
	j.state = to
	return nil
}

// life sends the six orders of a life.
func (j *job) life(send func(op string, o *order) error) error {
	if err := send("claim", &order{actor: worker, rev: j.rev, lease: leases[0], now: instants[0]}); err != nil {
		return err
	}
	if err := send("start", &order{actor: worker, rev: j.rev, now: instants[1]}); err != nil {
		return err
	}
	for beat := 2; beat < 5; beat++ {
		if err := send("heartbeat", &order{actor: worker, rev: j.rev, lease: leases[beat], now: instants[beat]}); err != nil {
			return err
		}
	}
	return send("complete", &order{actor: worker, rev: j.rev, result: answer.String(), now: instants[5]})
}

func handRules() Subject {
	run, wait, end := runningJob(), queuedJob(), succeededJob()
	return Subject{
		Name: "switch by hand", Depth: Rules,
		Life: func(n int) (End, error) {
			var j job
			for range n {
				j = queuedJob()
				if err := j.step("claim", &order{actor: worker, rev: j.rev, lease: leases[0], now: instants[0]}); err != nil {
					return End{}, err
				}
				if err := j.step("start", &order{actor: worker, rev: j.rev, now: instants[1]}); err != nil {
					return End{}, err
				}
				for beat := 2; beat < 5; beat++ {
					if err := j.step("heartbeat", &order{actor: worker, rev: j.rev, lease: leases[beat],
						now: instants[beat]}); err != nil {
						return End{}, err
					}
				}
				if err := j.step("complete", &order{actor: worker, rev: j.rev, result: answer.String(),
					now: instants[5]}); err != nil {
					return End{}, err
				}
			}
			return j.end(), nil
		},
		Refuse: map[string]func(int) error{
			WrongOwner: refused(func() error {
				return run.step("heartbeat", &order{actor: stranger, rev: 3, lease: leases[2], now: instants[2]})
			}),
			WrongState: refused(func() error { return wait.step("start", &order{actor: worker, rev: 1, now: instants[1]}) }),
			Terminal: refused(func() error {
				return end.step("complete", &order{actor: worker, rev: 4, result: answer.String(), now: instants[5]})
			}),
		},
	}
}

// ways are the transitions of the machine for those that take a table: state,
// operation, next state.
var ways = [][3]string{
	{"queued", "claim", "claimed"}, {"stalled", "claim", "claimed"}, {"claimed", "start", "running"}, {"claimed",
		"heartbeat", "claimed"},
	{"running", "heartbeat", "running"}, {"running", "complete", "succeeded"}, {"running", "fail", "failed"},
	{"claimed", "stall", "stalled"}, {"running", "stall", "stalled"}, {"stalled", "requeue", "queued"},
}

// path is the life as a list of operations.
var path = [Steps]string{"claim", "start", "heartbeat", "heartbeat", "heartbeat", "complete"}

// mapOfMaps looks the next state up and does nothing else.
func mapOfMaps() Subject {
	table := map[string]map[string]string{}
	for _, w := range ways {
		if table[w[0]] == nil {
			table[w[0]] = map[string]string{}
		}
		table[w[0]][w[1]] = w[2]
	}
	step := func(state *string, op string) error {
		to, ok := table[*state][op]
		if !ok {
			return &errState{*state, op}
		}
		*state = to
		return nil
	}
	wait, end := "queued", "succeeded"
	return Subject{
		Name: "map of maps", Depth: Bare,
		Life: func(n int) (End, error) {
			var state string
			for range n {
				state = "queued"
				for _, op := range path {
					if err := step(&state, op); err != nil {
						return End{}, err
					}
				}
			}
			return End{State: state}, nil
		},
		Refuse: map[string]func(int) error{
			WrongState: refused(func() error { return step(&wait, "start") }),
			Terminal:   refused(func() error { return step(&end, "complete") }),
		},
	}
}
