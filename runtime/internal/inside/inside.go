// Package inside marks the context of an atomic effect, so that a call which
// would wait for the effect's own transaction is told so instead.
package inside

import (
	"context"
	"reflect"
)

// Group is a group of records: those that have the values in the columns.
type Group struct {
	Columns []string
	Values  []any
}

// mark says which store's transaction is open around a context, and which groups of a
// machine's records its call has locked.
type mark struct {
	store   any
	machine string
	locked  []Group
	outer   *mark
}

type key struct{}

// Enter marks the context that an atomic effect gets: the machine's call has locked these
// groups. A store that cannot be compared leaves no mark.
func Enter(ctx context.Context, store any, machine string, locked []Group) context.Context {
	if !reflect.TypeOf(store).Comparable() {
		return ctx
	}
	outer, _ := ctx.Value(key{}).(*mark)
	return context.WithValue(ctx, key{}, &mark{store, machine, locked, outer})
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

// Locked reports whether a call around ctx has locked a group of the machine's of which
// each column is fixed to the group's value.
func Locked(ctx context.Context, store any, machine string, fixed func(column string, value any) bool) bool {
	for at, _ := ctx.Value(key{}).(*mark); at != nil; at = at.outer {
		if at.store != store || at.machine != machine {
			continue
		}
		for _, g := range at.locked {
			all := true
			for i, c := range g.Columns {
				all = all && fixed(c, g.Values[i])
			}
			if all {
				return true
			}
		}
	}
	return false
}
