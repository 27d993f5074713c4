package devices

import (
	"context"
	"errors"
	"time"

	"github.com/looplab/fsm"
)

// looplabDevice is a machine of looplab/fsm with a clock. It knows no internal transition:
// inside are the calls that change data alone, by their state.
type looplabDevice struct {
	*fsm.FSM
	now, until time.Time
	act        func(string)
	inside     map[string]func(state string, arg any) (done bool, err error)
}

var (
	background = context.Background()
	errRefused = errors.New("refused")
)

func newLooplab(now time.Time, act func(string)) *looplabDevice {
	return &looplabDevice{now: now, until: now, act: act, inside: map[string]func(string, any) (bool, error){}}
}

func (d *looplabDevice) State() string { return d.Current() }

func (d *looplabDevice) Do(op string, arg any, now time.Time) error {
	d.now = now
	if inside := d.inside[op]; inside != nil {
		if done, err := inside(d.Current(), arg); done || err != nil {
			return err
		}
	}
	return d.Event(background, op, arg)
}

// acts makes a callback that tells what it does.
func (d *looplabDevice) acts(what string) fsm.Callback {
	return func(context.Context, *fsm.Event) { d.act(what) }
}

// on makes an event.
func on(name, to string, from ...string) fsm.EventDesc {
	return fsm.EventDesc{Name: name, Src: from, Dst: to}
}
