package driver

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/internal/inside"
)

// ErrInside is what a call gets that would wait for the transaction which it is
// made in.
var ErrInside = errors.New("the call is made within an atomic effect and would wait forever for the effect's own transaction; " +
	"make it in that transaction (the form of the method that takes one), or after the effect")

// Inside returns ErrInside when ctx is the context of an atomic effect that runs
// in a transaction of the store. A store asks before it waits for what that
// transaction holds.
func Inside(ctx context.Context, store Store) error {
	if inside.Around(ctx, store) {
		return ErrInside
	}
	return nil
}
