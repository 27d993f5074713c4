package devices

import (
	"context"
	"time"

	"github.com/looplab/fsm"
)

func looplabLight(now time.Time, act func(string)) Device {
	d := newLooplab(now, act)
	pressed := false
	d.until = now.Add(10 * time.Second)
	d.act("green")
	d.inside["press"] = func(state string, _ any) (bool, error) {
		pressed = pressed || state != "walk" && state != "flashing"
		return true, nil
	}
	d.inside["tick"] = func(state string, _ any) (bool, error) {
		switch {
		case state == "flashing" || d.now.Before(d.until):
			return false, errRefused
		case state == "go" && !pressed:
			d.until = d.now.Add(time.Second)
			return true, nil
		}
		return false, nil
	}
	shows := func(what string, long time.Duration) fsm.Callback {
		return func(context.Context, *fsm.Event) { d.until = d.now.Add(long); d.act(what) }
	}
	d.FSM = fsm.NewFSM("go", fsm.Events{
		on("tick", "caution", "go"), on("tick", "walk", "caution"), on("tick", "clear", "walk"), on("tick", "ready",
			"clear"), on("tick", "go", "ready"),
		on("fault", "flashing", "go", "caution", "walk", "clear", "ready"), on("repair", "ready", "flashing"),
	}, fsm.Callbacks{
		"enter_go": shows("green", 10*time.Second), "enter_caution": shows("amber", 3*time.Second),
		"enter_walk": func(c context.Context, e *fsm.Event) {
			pressed = false
			shows("red and walk", 8*time.Second)(c, e)
		},
		"enter_clear": shows("red", 5*time.Second), "enter_ready": shows("red and amber", 2*time.Second),
		"enter_flashing": d.acts("flash"), "leave_flashing": func(context.Context, *fsm.Event) { pressed = false },
	})
	return d
}
