// Package fsmword compares words as texts, and does what looks alike.
package fsmword

import (
	"fmt"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

func texts(j lifecycle.Job) bool {
	if j.State.String() == "queued" { // want `lifecycle.State is compared as a text; compare it with lifecycle.StateQueued`
		return true
	}
	if "running" != fmt.Sprint(j.State) { // want `lifecycle.State is compared as a text; compare it with lifecycle.StateRunning`
		return true
	}
	if j.State.String() == "quewed" { // want `lifecycle.State has no word "quewed", so the two are never equal; compare with its constants`
		return true
	}
	switch j.State.String() { // want `lifecycle.State is compared as a text; switch over its constants`
	case "queued", "stalled":
		return true
	case "claimed":
	}
	return false
}

func numbers(j lifecycle.Job) bool {
	if j.State == 2 { // want `lifecycle.State is written as a number, which is another one when the specification changes; use lifecycle.StateClaimed`
		return true
	}
	return j.State == lifecycle.State(3) // want `lifecycle.State is made of a number`
}

func events(e fsm.Event, r *fsm.Refusal) bool {
	if e.Operation == "claim_next" { // want `e.Operation is compared with a text; compare it with lifecycle.OpClaimNext`
		return true
	}
	if e.Name == "requeued" || e.To == "stalled" { // want `e.Name is compared with a text; compare it with lifecycle.EventRequeued` `e.To is compared with a text; compare it with lifecycle.StateStalled.String\(\)`
		return true
	}
	switch e.Operation {
	case "pay": // want `e.Operation is compared with a text; compare it with order.OpPay`
		return true
	case order.OpRefund:
	}
	return r.State == "claimed" // want `r.State is compared with a text`
}

// right compares constants.
func right(j lifecycle.Job, e fsm.Event) bool {
	var zero lifecycle.State
	return j.State == lifecycle.StateQueued || j.State == zero || j.State != 0 || e.Operation == lifecycle.OpStart ||
		e.To == lifecycle.StateRunning.String()
}

// others are texts of somebody else, or of no machine in reach.
func others(e fsm.Event, name string) bool {
	fmt.Println(e.Actor == "queued", e.Operation == "launch")
	return name == "queued" || e.Name == ""
}

// shows writes the word for people.
func shows(j lifecycle.Job) string { return "it is " + j.State.String() }
