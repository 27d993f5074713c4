package devices

import (
	"context"
	"time"
)

func statelessLift(now time.Time, act func(string)) Device {
	d := newStateless("idle", now, act)
	floor, want := 1, [5]bool{}
	above := func() bool { return floor < 4 && want[4] || floor < 3 && want[3] || floor < 2 && want[2] }
	below := func() bool { return floor > 1 && want[1] || floor > 2 && want[2] || floor > 3 && want[3] }
	up := func(ctx context.Context, a ...any) bool { return d.over(ctx, a...) && above() }
	down := func(ctx context.Context, a ...any) bool { return d.over(ctx, a...) && !above() && below() }
	rest := func(ctx context.Context, a ...any) bool { return d.over(ctx, a...) && !above() && !below() }
	stops := func(by int) func(context.Context, ...any) bool {
		return func(context.Context, ...any) bool { return want[floor+by] || floor+by == 1 || floor+by == 4 }
	}
	passes := func(by int) func(context.Context, ...any) bool {
		return func(ctx context.Context, a ...any) bool { return !stops(by)(ctx, a...) }
	}
	moves := func(by int) func(context.Context, ...any) error {
		return func(context.Context, ...any) error { floor += by; return nil }
	}
	shut := func(context.Context, ...any) error { want[floor] = false; return nil }
	d.Configure("working").Permit("halt", "stopped").
		InternalTransition("call", func(_ context.Context, a ...any) error { want[a[0].(int)] = true; return nil })
	d.Configure("idle").SubstateOf("working").Permit("depart", "up", up).Permit("depart", "down", down).Ignore("depart", rest)
	d.Configure("moving").SubstateOf("working").OnEntry(d.acts("brake off")).OnExit(d.acts("motor off"))
	d.Configure("up").SubstateOf("moving").OnEntry(d.acts("motor up")).
		OnExitWith("reach", moves(1)).
		Permit("reach", "open", stops(1)).InternalTransition("reach", moves(1), passes(1))
	d.Configure("down").SubstateOf("moving").OnEntry(d.acts("motor down")).
		OnExitWith("reach", moves(-1)).
		Permit("reach", "open", stops(-1)).InternalTransition("reach", moves(-1), passes(-1))
	d.Configure("open").SubstateOf("working").
		OnEntry(shut).OnEntry(d.waits(4*time.Second)).OnEntry(d.acts("door open")).OnExit(d.acts("door close")).
		InternalTransition("hold", d.waits(4*time.Second)).
		Permit("depart", "up", up).Permit("depart", "down", down).Permit("depart", "idle", rest)
	d.Configure("stopped").OnEntry(d.acts("alarm")).OnExit(d.waits(0)).Permit("resume", "idle")
	return d
}
