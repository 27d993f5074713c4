// Package fsmswitchstrict is read with -default-signifies-exhaustive=false.
package fsmswitchstrict

import "github.com/fsmgen/fsmgen/examples/orders/order"

func withDefault(o order.Order) int {
	switch o.State { // want `the switch over order.State forgets StateCancelled; add it$`
	case order.StatePlaced, order.StatePaid, order.StateRefunded:
		return 1
	default:
		return 0
	}
}
