package devices

import (
	"context"
	"time"

	"github.com/qmuntal/stateless"
)

// statelessDevice is a machine of qmuntal/stateless with a clock.
type statelessDevice struct {
	*stateless.StateMachine
	now, until time.Time
	act        func(string)
}

func newStateless(first string, now time.Time, act func(string)) *statelessDevice {
	return &statelessDevice{stateless.NewStateMachine(first), now, now, act}
}

func (d *statelessDevice) State() string { return d.MustState().(string) }

func (d *statelessDevice) Do(op string, arg any, now time.Time) error {
	if d.now = now; arg == nil {
		return d.Fire(op)
	}
	return d.Fire(op, arg)
}

// acts makes an action that tells what it does.
func (d *statelessDevice) acts(what string) stateless.ActionFunc {
	return func(context.Context, ...any) error { d.act(what); return nil }
}

// waits makes an action that sets the clock.
func (d *statelessDevice) waits(long time.Duration) stateless.ActionFunc {
	return func(context.Context, ...any) error { d.until = d.now.Add(long); return nil }
}

func (d *statelessDevice) over(context.Context, ...any) bool { return !d.now.Before(d.until) }
