// Package fsmswitch has switches that forget states, and some that do not.
package fsmswitch

import (
	"github.com/fsmgen/fsmgen/examples/machines/paymentintent"
	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/examples/protocol/tcp"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
)

func states(o order.Order) int {
	switch o.State { // want `the switch over order.State forgets StateRefunded and StateCancelled; add them, or a default`
	case order.StatePlaced:
		return 1
	case order.StatePaid:
		return 2
	}
	return 0
}

func handles(j lifecycle.AnyJob) string {
	switch j := j.(type) { // want `the switch over lifecycle.AnyJob forgets RunningJob; add it, or a default`
	case lifecycle.QueuedJob, lifecycle.StalledJob, lifecycle.SucceededJob, lifecycle.FailedJob:
		return "free"
	case lifecycle.ClaimedJob:
		return j.Owner()
	}
	return ""
}

func words(m paymentintent.CaptureMethod) bool {
	switch m { // want `the switch over paymentintent.CaptureMethod forgets CaptureMethodAutomatic`
	case paymentintent.CaptureMethodManual:
		return true
	}
	return false
}

func pure(c tcp.Connection) bool {
	switch c.State { // want `the switch over tcp.State forgets StateClosed, .* and StateTimeWait`
	case tcp.StateEstablished:
		return true
	}
	return false
}

func all(o order.Order) int {
	switch o.State {
	case order.StatePlaced, order.StatePaid:
		return 1
	case order.StateRefunded:
		return 2
	case order.StateCancelled:
	}
	return 0
}

func withDefault(o order.Order, j lifecycle.AnyJob) int {
	switch o.State {
	case order.StatePlaced:
		return 1
	default:
	}
	switch j.(type) {
	case lifecycle.QueuedJob:
		return 1
	default:
		return 0
	}
}

// owned covers handles by an interface that they have.
func owned(j lifecycle.AnyJob) string {
	switch j := j.(type) {
	case interface{ Owner() string }:
		return j.Owner()
	case lifecycle.QueuedJob, lifecycle.StalledJob, lifecycle.SucceededJob, lifecycle.FailedJob:
	}
	return ""
}

// variable cases may be anything.
func variable(o, other order.Order) bool {
	switch o.State {
	case other.State:
		return true
	}
	return false
}

func silenced(o order.Order) int {
	//fsmvet:ignore the caller has looked at the others
	switch o.State {
	case order.StatePlaced:
		return 1
	}
	return 0
}

func withoutReason(o order.Order) int {
	//fsmvet:ignore
	switch o.State { // want `forgets StatePaid, StateRefunded and StateCancelled`
	case order.StatePlaced:
		return 1
	}
	return 0
}
