package devices

import (
	"context"
	"time"

	"github.com/looplab/fsm"
)

func looplabWizard(now time.Time, act func(string)) Device {
	d := newLooplab(now, act)
	var name, street, card string
	reviewed := false
	pages := map[string]*string{"person": &name, "address": &street, "payment": &card}
	d.inside["enter"] = func(state string, arg any) (bool, error) {
		into := pages[state]
		if into == nil || arg.(string) == "" {
			return false, errRefused
		}
		if *into = arg.(string); reviewed && name != "" && street != "" && card != "" {
			return true, d.Event(background, "review")
		}
		return true, d.Event(background, "next")
	}
	d.inside["edit"] = func(state string, arg any) (bool, error) {
		if state != "review" || pages[arg.(string)] == nil {
			return false, errRefused
		}
		return true, d.Event(background, "edit_"+arg.(string))
	}
	d.FSM = fsm.NewFSM("person", fsm.Events{
		on("next", "address", "person"), on("next", "payment", "address"), on("next", "review", "payment"),
		on("review", "review", "person", "address", "payment"),
		on("back", "person", "address"), on("back", "address", "payment"), on("back", "payment", "review"),
		on("edit_person", "person", "review"), on("edit_address", "address", "review"), on("edit_payment", "payment", "review"),
		on("submit", "sent", "review"),
	}, fsm.Callbacks{
		"enter_review": func(context.Context, *fsm.Event) { reviewed = true }, "enter_sent": d.acts("thank"),
	})
	return d
}
