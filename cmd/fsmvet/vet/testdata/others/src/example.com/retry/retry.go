// Package retry retries by a library.
package retry

import (
	"context"
	"math/rand"
	"strconv"

	"example.com/order"
	"github.com/cenkalti/backoff"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

func place(ctx context.Context, m *order.Machine) error {
	id := strconv.Itoa(rand.Int())
	if err := backoff.Do(func() error {
		_, err := m.Place(ctx, "", fsm.Call{RequestID: id})
		return err
	}); err != nil {
		return err
	}
	return backoff.Do(func() error {
		_, err := m.Place(ctx, "", fsm.Call{RequestID: strconv.Itoa(rand.Int())}) // want `each try of Place is a new request, for its request id is made by rand.Int`
		return err
	})
}
