package devices

import (
	"context"
	"time"
)

func statelessATM(now time.Time, act func(string)) Device {
	d := newStateless("pin_wanted", now, act)
	const pin = "1234"
	balance, amount, wrong := 100, 0, 0
	d.until = now.Add(30 * time.Second)
	right := func(_ context.Context, a ...any) bool { return a[0].(string) == pin }
	mistake := func(last bool) func(context.Context, ...any) bool {
		return func(_ context.Context, a ...any) bool { return a[0].(string) != pin && (wrong >= 2) == last }
	}
	count := func(context.Context, ...any) error { wrong++; return nil }
	again := func(ctx context.Context, a ...any) error {
		wrong++
		d.act("say wrong pin")
		return d.waits(30*time.Second)(ctx, a...)
	}
	less := func(_ context.Context, a ...any) bool { return a[0].(int) >= 0 && a[0].(int) < balance }
	d.Configure("waiting").Permit("eject", "returned").Permit("time_out", "returned", d.over)
	d.Configure("pin_wanted").SubstateOf("waiting").
		Permit("enter_pin", "menu", right).Permit("enter_pin", "kept", mistake(true)).InternalTransition("enter_pin", again, mistake(false))
	d.Configure("menu").SubstateOf("waiting").OnEntry(d.waits(30*time.Second)).
		OnEntryFrom("enter_pin", func(context.Context, ...any) error { wrong = 0; return nil }).
		Permit("withdraw", "paying", func(_ context.Context, a ...any) bool { return a[0].(int) > 0 && a[0].(int) <= balance })
	d.Configure("paying").OnEntry(func(_ context.Context, a ...any) error { amount = a[0].(int); return nil }).OnEntry(d.acts("count notes")).
		OnExitWith("dispensed", func(_ context.Context, a ...any) error { balance = a[0].(int); return nil }).
		OnExitWith("jammed", d.acts("call service")).
		OnExit(func(context.Context, ...any) error { amount = 0; return nil }).
		Permit("dispensed", "menu", less).Permit("jammed", "menu")
	d.Configure("returned").OnEntry(d.acts("eject card"))
	d.Configure("kept").OnEntry(count).OnEntry(d.acts("keep card"))
	_ = amount
	return d
}
