package devices

import (
	"context"
	"time"
)

func statelessLight(now time.Time, act func(string)) Device {
	d := newStateless("go", now, act)
	was := false
	pressed := func(context.Context, ...any) bool { return was }
	free := func(context.Context, ...any) bool { return !was }
	press := func(is bool) func(context.Context, ...any) error {
		return func(context.Context, ...any) error { was = is; return nil }
	}
	d.until = now.Add(10 * time.Second)
	d.act("green")
	d.Configure("working").Permit("fault", "flashing")
	d.Configure("go").SubstateOf("working").OnEntry(d.waits(10*time.Second)).OnEntry(d.acts("green")).
		InternalTransition("press", press(true)).
		Permit("tick", "caution", d.over, pressed).InternalTransition("tick", d.waits(time.Second), d.over, free)
	d.Configure("caution").SubstateOf("working").OnEntry(d.waits(3*time.Second)).OnEntry(d.acts("amber")).
		InternalTransition("press", press(true)).Permit("tick", "walk", d.over)
	d.Configure("walk").SubstateOf("working").OnEntry(d.waits(8*time.Second)).OnEntry(press(false)).OnEntry(d.acts("red and walk")).
		Ignore("press").Permit("tick", "clear", d.over)
	d.Configure("clear").SubstateOf("working").OnEntry(d.waits(5*time.Second)).OnEntry(d.acts("red")).
		InternalTransition("press", press(true)).Permit("tick", "ready", d.over)
	d.Configure("ready").SubstateOf("working").OnEntry(d.waits(2*time.Second)).OnEntry(d.acts("red and amber")).
		InternalTransition("press", press(true)).Permit("tick", "go", d.over)
	d.Configure("flashing").OnEntry(d.acts("flash")).OnExit(press(false)).Ignore("press").Permit("repair", "ready")
	return d
}
