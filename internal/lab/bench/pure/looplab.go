package pure

import (
	"context"
	"errors"

	"github.com/looplab/fsm"
)

// events is the table as looplab/fsm takes it, made once.
var events = func() (list []fsm.EventDesc) {
	for _, w := range ways {
		list = append(list, fsm.EventDesc{Name: w[1], Src: []string{w[0]}, Dst: w[2]})
	}
	return list
}()

// looplabSend sends an event; that the state stays the same is no error.
func looplabSend(m *fsm.FSM, op string, args ...any) error {
	err := m.Event(context.Background(), op, args...)
	if none := (fsm.NoTransitionError{}); err != nil && errors.As(err, &none) {
		return none.Err
	}
	return err
}

// looplabRules is a machine of looplab/fsm. It keeps the state itself, so it is
// set back for each life, which is much cheaper than making another one.
func looplabRules() Subject {
	start := func(j *job) func(op string, o *order) error {
		m := looplabMachine(j)
		return func(op string, o *order) error {
			if m.Current() != j.state {
				m.SetState(j.state)
			}
			return looplabSend(m, op, o)
		}
	}
	return peer("looplab/fsm", start)
}

// looplabEachRules makes a machine for each record, a field of which it is in the
// README.
func looplabEachRules() Subject {
	return eachPeer("looplab/fsm", func(j *job) func(op string, o *order) error {
		m := looplabMachine(j)
		return func(op string, o *order) error { return looplabSend(m, op, o) }
	})
}

func looplabMachine(j *job) *fsm.FSM {
	return fsm.NewFSM("queued", events, fsm.Callbacks{
		"before_event": func(_ context.Context, e *fsm.Event) {
			if err := j.may(e.Event, e.Args[0].(*order)); err != nil {
				e.Cancel(err)
			}
		},
		"after_event": func(_ context.Context, e *fsm.Event) {
			j.do(e.Event, e.Args[0].(*order))
			j.state = e.Dst
		},
	})
}

// looplabEachBare makes a machine with the states alone for each record.
func looplabEachBare() Subject {
	return eachBarePeer("looplab/fsm", func() (func(op string) error, func() string) {
		m := fsm.NewFSM("queued", events, nil)
		return func(op string) error { return looplabSend(m, op) }, m.Current
	})
}

// looplabBare is a machine with the states alone.
func looplabBare() Subject {
	m := fsm.NewFSM("queued", events, nil)
	return barePeer("looplab/fsm", m.SetState, m.Current, func(op string) error { return looplabSend(m, op) })
}
