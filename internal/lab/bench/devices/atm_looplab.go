package devices

import (
	"context"
	"time"

	"github.com/looplab/fsm"
)

func looplabATM(now time.Time, act func(string)) Device {
	d := newLooplab(now, act)
	const pin = "1234"
	balance, amount, wrong := 100, 0, 0
	d.until = now.Add(30 * time.Second)
	waiting := []string{"pin_wanted", "menu"}
	d.inside["enter_pin"] = func(state string, arg any) (bool, error) {
		switch {
		case state != "pin_wanted":
			return false, errRefused
		case arg.(string) == pin:
			wrong = 0
			return true, d.Event(background, "right")
		case wrong >= 2:
			wrong++
			return true, d.Event(background, "wrong")
		}
		wrong++
		d.until = d.now.Add(30 * time.Second)
		d.act("say wrong pin")
		return true, nil
	}
	d.FSM = fsm.NewFSM("pin_wanted", fsm.Events{
		on("right", "menu", "pin_wanted"), on("wrong", "kept", "pin_wanted"), on("withdraw", "paying", "menu"),
		on("dispensed", "menu", "paying"), on("jammed", "menu", "paying"), on("eject", "returned", waiting...), on("time_out",
			"returned", waiting...),
	}, fsm.Callbacks{
		"before_withdraw": func(_ context.Context, e *fsm.Event) {
			if a := e.Args[0].(int); a < 1 || a > balance {
				e.Cancel(errRefused)
			}
		},
		"before_dispensed": func(_ context.Context, e *fsm.Event) {
			if left := e.Args[0].(int); left < 0 || left >= balance {
				e.Cancel(errRefused)
			} else {
				balance = left
			}
		},
		"before_time_out": func(_ context.Context, e *fsm.Event) {
			if d.now.Before(d.until) {
				e.Cancel(errRefused)
			}
		},
		"before_jammed": d.acts("call service"),
		"enter_paying":  func(_ context.Context, e *fsm.Event) { amount = e.Args[0].(int); d.act("count notes") },
		"leave_paying":  func(context.Context, *fsm.Event) { amount = 0 },
		"enter_menu":    func(context.Context, *fsm.Event) { d.until = d.now.Add(30 * time.Second) },
		"enter_kept":    d.acts("keep card"), "enter_returned": d.acts("eject card"),
	})
	_ = amount
	return d
}
