// Package inside marks the context of an atomic effect, so that a call which
// would wait for the effect's own transaction is told so instead.
package inside

import (
	"context"
	"reflect"
)

// mark says which store's transaction is open around a context.
type mark struct {
	store any
	outer *mark
}

type key struct{}

// Enter marks the context that an atomic effect gets. A store that cannot be compared
// leaves no mark.
func Enter(ctx context.Context, store any) context.Context {
	if !reflect.TypeOf(store).Comparable() {
		return ctx
	}
	outer, _ := ctx.Value(key{}).(*mark)
	return context.WithValue(ctx, key{}, &mark{store, outer})
}

// Around reports whether ctx is that of an atomic effect in a transaction of the store.
func Around(ctx context.Context, store any) bool {
	for at, _ := ctx.Value(key{}).(*mark); at != nil; at = at.outer {
		if at.store == store {
			return true
		}
	}
	return false
}
