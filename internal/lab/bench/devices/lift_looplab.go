package devices

import (
	"context"
	"slices"
	"time"

	"github.com/looplab/fsm"
)

func looplabLift(now time.Time, act func(string)) Device {
	d := newLooplab(now, act)
	floor, want := 1, [5]bool{}
	working, moving := []string{"idle", "up", "down", "open"}, []string{"up", "down"}
	above := func() bool { return floor < 4 && want[4] || floor < 3 && want[3] || floor < 2 && want[2] }
	below := func() bool { return floor > 1 && want[1] || floor > 2 && want[2] || floor > 3 && want[3] }
	d.inside["call"] = func(state string, arg any) (bool, error) {
		if !slices.Contains(working, state) {
			return false, errRefused
		}
		want[arg.(int)] = true
		return true, nil
	}
	d.inside["hold"] = func(state string, _ any) (bool, error) {
		if state != "open" {
			return false, errRefused
		}
		d.until = d.now.Add(4 * time.Second)
		return true, nil
	}
	d.inside["reach"] = func(state string, _ any) (bool, error) {
		switch state {
		case "up":
			floor++
		case "down":
			floor--
		default:
			return false, errRefused
		}
		if !want[floor] && floor > 1 && floor < 4 {
			return true, nil
		}
		return true, d.Event(background, "stop")
	}
	d.inside["depart"] = func(state string, _ any) (bool, error) {
		switch {
		case state != "idle" && state != "open" || d.now.Before(d.until):
			return false, errRefused
		case above():
			return true, d.Event(background, "rise")
		case below():
			return true, d.Event(background, "sink")
		case state == "idle":
			return true, nil
		}
		return true, d.Event(background, "rest")
	}
	leaves := func(_ context.Context, e *fsm.Event) {
		if !slices.Contains(moving, e.Dst) {
			d.act("motor off")
		}
	}
	enters := func(what string) fsm.Callback {
		return func(_ context.Context, e *fsm.Event) {
			if !slices.Contains(moving, e.Src) {
				d.act("brake off")
			}
			d.act(what)
		}
	}
	d.FSM = fsm.NewFSM("idle", fsm.Events{
		on("rise", "up", "idle", "open"), on("sink", "down", "idle", "open"), on("rest", "idle", "open"), on("stop", "open", moving...),
		on("halt", "stopped", working...), on("resume", "idle", "stopped"),
	}, fsm.Callbacks{
		"leave_up": leaves, "leave_down": leaves, "enter_up": enters("motor up"), "enter_down": enters("motor down"),
		"enter_open": func(context.Context, *fsm.Event) {
			want[floor] = false
			d.until = d.now.Add(4 * time.Second)
			d.act("door open")
		},
		"leave_open": d.acts("door close"), "enter_stopped": d.acts("alarm"),
		"leave_stopped": func(context.Context, *fsm.Event) { d.until = d.now },
	})
	return d
}
