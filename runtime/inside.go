package fsm

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// inside is the mark of an atomic effect's context: the stores whose
// transactions are open around it, and what became of the calls that the effect
// makes in them. Only the goroutine of the transaction uses it.
type inside struct {
	store  Store
	outer  *inside
	writes int   // of calls in the transaction
	half   error // of a call that had written before it failed
}

type insideKey struct{}

// enter marks the context that an atomic effect gets.
func enter(ctx context.Context, store Store) (context.Context, *inside) {
	ctx = call.Free(ctx) // what the effect calls has a time of its own
	mark := &inside{store: store}
	if !reflect.TypeOf(store).Comparable() {
		return ctx, mark
	}
	mark.outer, _ = ctx.Value(insideKey{}).(*inside)
	return context.WithValue(ctx, insideKey{}, mark), mark
}

// around returns the mark of the atomic effect in whose transaction of the store
// ctx is, or nil.
func around(ctx context.Context, store Store) *inside {
	for at, _ := ctx.Value(insideKey{}).(*inside); at != nil; at = at.outer {
		if at.store == store {
			return at
		}
	}
	return nil
}

// within makes a call in a transaction of somebody else. If that is an atomic
// effect's, a call that fails half done makes the effect fail, whatever the
// effect makes of the error.
func within[T any](ctx context.Context, store Store, call func() (T, error)) (T, error) {
	mark := around(ctx, store)
	if mark == nil {
		return call()
	}
	before := mark.writes
	out, err := call()
	if err != nil && mark.writes != before && mark.half == nil {
		mark.half = err
	}
	return out, err
}

// verdict is the error of an effect that returned err.
func (i *inside) verdict(tx Tx, err error) error {
	switch {
	case err != nil:
		return err
	case ended(tx):
		return errEnded
	case i.half != nil:
		return fmt.Errorf("the effect passed over a call that failed half done: %w", i.half)
	}
	return nil
}

// ErrInside is what a call gets that would wait for the transaction which it is
// made in.
var ErrInside = errors.New("the call is made within an atomic effect and would wait for the effect's own transaction for ever; " +
	"make it in that transaction (the form of the method that takes one), or after the effect")

// Inside returns ErrInside when ctx is the context of an atomic effect that runs
// in a transaction of the store. A store asks before it waits for what that
// transaction holds.
func Inside(ctx context.Context, store Store) error {
	if around(ctx, store) != nil {
		return ErrInside
	}
	return nil
}

var errEnded = errors.New("the effect has ended the transaction, which is the engine's; it must neither commit it nor roll it back")

// ended reports whether somebody else has ended a transaction, where it can tell.
func ended(tx Tx) bool {
	t, ok := tx.(interface{ Ended() bool })
	return ok && t.Ended()
}
