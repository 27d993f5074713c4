package pure

import (
	"context"

	"github.com/qmuntal/stateless"
)

// statelessRules is one configured machine of qmuntal/stateless for all records:
// the record travels in the context, as its external storage asks for.
func statelessRules() Subject {
	type key struct{}
	sm := statelessMachine(func(ctx context.Context) *job { return ctx.Value(key{}).(*job) })
	fire := func(j *job) func(op string, o *order) error {
		ctx := context.WithValue(context.Background(), key{}, j)
		return func(op string, o *order) error { return sm.FireCtx(ctx, op, o) }
	}
	return peer("qmuntal/stateless", fire)
}

// statelessEachRules makes a machine for each record, which its functions hold.
func statelessEachRules() Subject {
	return eachPeer("qmuntal/stateless", func(j *job) func(op string, o *order) error {
		sm := statelessMachine(func(context.Context) *job { return j })
		return func(op string, o *order) error { return sm.Fire(op, o) }
	})
}

// statelessMachine configures a machine; of tells the record that it works on.
func statelessMachine(of func(context.Context) *job) *stateless.StateMachine {
	sm := stateless.NewStateMachineWithExternalStorage(
		func(ctx context.Context) (stateless.State, error) { return of(ctx).state, nil },
		func(ctx context.Context, s stateless.State) error { of(ctx).state = s.(string); return nil },
		stateless.FiringImmediate)
	for _, w := range ways {
		from, op, to := w[0], w[1], w[2]
		act := func(ctx context.Context, args ...any) error {
			j, o := of(ctx), args[0].(*order)
			if err := j.may(op, o); err != nil {
				return err
			}
			j.do(op, o)
			return nil
		}
		if from == to {
			sm.Configure(from).InternalTransition(op, act)
		} else {
			sm.Configure(from).Permit(op, to).OnExitWith(op, act) // an error here keeps the state
		}
	}
	return sm
}

// statelessBare is a machine with the states alone.
func statelessBare() Subject {
	state := "queued"
	sm := statelessStates(&state)
	return barePeer("qmuntal/stateless", func(s string) { state = s }, func() string { return state },
		func(op string) error { return sm.Fire(op) })
}

// statelessEachBare makes a machine with the states alone for each record.
func statelessEachBare() Subject {
	return eachBarePeer("qmuntal/stateless", func() (func(op string) error, func() string) {
		state := "queued"
		sm := statelessStates(&state)
		return func(op string) error { return sm.Fire(op) }, func() string { return state }
	})
}

func statelessStates(state *string) *stateless.StateMachine {
	sm := stateless.NewStateMachineWithExternalStorage(
		func(context.Context) (stateless.State, error) { return *state, nil },
		func(_ context.Context, s stateless.State) error { *state = s.(string); return nil },
		stateless.FiringImmediate)
	for _, w := range ways {
		if w[0] == w[2] {
			sm.Configure(w[0]).InternalTransition(w[1], func(context.Context, ...any) error { return nil })
		} else {
			sm.Configure(w[0]).Permit(w[1], w[2])
		}
	}
	return sm
}

// peer makes the subject of a library that does the whole work: start binds it
// to a record.
func peer(name string, start func(j *job) func(op string, o *order) error) Subject {
	j := new(job)
	send := start(j)
	try := func(from func() job, op string, o order) func(int) error {
		j := new(job)
		*j = from()
		send := start(j)
		return refused(func() error { return send(op, &o) })
	}
	return Subject{
		Name: name, Depth: Rules,
		Life: func(n int) (End, error) {
			for range n {
				*j = queuedJob()
				if err := j.life(send); err != nil {
					return End{}, err
				}
			}
			return j.end(), nil
		},
		Refuse: map[string]func(int) error{
			WrongOwner: try(runningJob, "heartbeat", order{actor: stranger, rev: 3, lease: leases[2], now: instants[2]}),
			WrongState: try(queuedJob, "start", order{actor: worker, rev: 1, now: instants[1]}),
			Terminal:   try(succeededJob, "complete", order{actor: worker, rev: 4, result: answer.String(), now: instants[5]}),
		},
	}
}

// eachPeer makes the subject of a library that does the whole work by a machine
// for each record: start makes it.
func eachPeer(name string, start func(j *job) func(op string, o *order) error) Subject {
	return Subject{Name: name + EachRecord, Depth: Rules, Life: func(n int) (End, error) {
		var j *job
		for range n {
			j = new(job)
			*j = queuedJob()
			if err := j.life(start(j)); err != nil {
				return End{}, err
			}
		}
		return j.end(), nil
	}}
}

// eachBarePeer makes the subject of a library that keeps a state and nothing
// else, in a machine for each record.
func eachBarePeer(name string, start func() (send func(op string) error, state func() string)) Subject {
	return Subject{Name: name + EachRecord, Depth: Bare, Life: func(n int) (End, error) {
		var state func() string
		for range n {
			var send func(op string) error
			send, state = start()
			for _, op := range path {
				if err := send(op); err != nil {
					return End{}, err
				}
			}
		}
		return End{State: state()}, nil
	}}
}

// barePeer makes the subject of a library that keeps a state and nothing else.
func barePeer(name string, set func(string), state func() string, send func(op string) error) Subject {
	try := func(from, op string) func(int) error {
		return func(n int) error {
			set(from)
			return refused(func() error { return send(op) })(n)
		}
	}
	return Subject{
		Name: name, Depth: Bare,
		Life: func(n int) (End, error) {
			for range n {
				set("queued")
				for _, op := range path {
					if err := send(op); err != nil {
						return End{}, err
					}
				}
			}
			return End{State: state()}, nil
		},
		Refuse: map[string]func(int) error{WrongState: try("queued", "start"), Terminal: try("succeeded", "complete")},
	}
}
