// Package inside marks the context of an atomic effect, so that a call which
// would wait for the effect's own transaction is told so instead.
package inside

import (
	"context"
	"reflect"
)

// Mark says that a context is that of an atomic effect: which store's transaction is
// open around it, and what became of the calls that the effect makes there. Only the
// goroutine of the transaction uses it.
type Mark struct {
	Writes int   // of calls in the transaction
	Half   error // of a call that had written before it failed

	store any
	outer *Mark
}

type key struct{}

// Enter marks the context that an atomic effect gets. A store that cannot be compared
// leaves no mark.
func Enter(ctx context.Context, store any) (context.Context, *Mark) {
	mark := &Mark{store: store}
	if !reflect.TypeOf(store).Comparable() {
		return ctx, mark
	}
	mark.outer, _ = ctx.Value(key{}).(*Mark)
	return context.WithValue(ctx, key{}, mark), mark
}

// Around returns the mark of the atomic effect in whose transaction of the store ctx
// is, or nil.
func Around(ctx context.Context, store any) *Mark {
	for at, _ := ctx.Value(key{}).(*Mark); at != nil; at = at.outer {
		if at.store == store {
			return at
		}
	}
	return nil
}
