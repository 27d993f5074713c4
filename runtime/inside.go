package fsm

import (
	"context"
	"errors"
	"reflect"
)

// inside is the mark of an atomic effect's context: the stores whose
// transactions are open around it.
type inside struct {
	store Store
	outer *inside
}

type insideKey struct{}

// enter marks the context that an atomic effect gets.
func enter(ctx context.Context, store Store) context.Context {
	if !reflect.TypeOf(store).Comparable() {
		return ctx
	}
	outer, _ := ctx.Value(insideKey{}).(*inside)
	return context.WithValue(ctx, insideKey{}, &inside{store, outer})
}

// ErrInside is what a call gets that would wait for the transaction which it is
// made in.
var ErrInside = errors.New("the call is made within an atomic effect and would wait for the effect's own transaction for ever; " +
	"make it in that transaction (the form of the method that takes one), or after the effect")

// Inside returns ErrInside when ctx is the context of an atomic effect that runs
// in a transaction of the store. A store asks before it waits for what that
// transaction holds.
func Inside(ctx context.Context, store Store) error {
	for at, _ := ctx.Value(insideKey{}).(*inside); at != nil; at = at.outer {
		if at.store == store {
			return ErrInside
		}
	}
	return nil
}

var errEnded = errors.New("the effect has ended the transaction, which is the engine's; it must neither commit it nor roll it back")

// ended reports whether somebody else has ended a transaction, where it can tell.
func ended(tx Tx) bool {
	t, ok := tx.(interface{ Ended() bool })
	return ok && t.Ended()
}
