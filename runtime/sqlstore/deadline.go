package sqlstore

import (
	"context"
	"time"
)

// limit bounds how long an answer of the database is waited for; 0: for as long as it takes.
type limit time.Duration

// bound returns a context that ends when a statement has taken too long; done says
// that it is over.
func (l limit) bound(ctx context.Context) (bound context.Context, done context.CancelFunc) {
	if l == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(l))
}

// leash makes cancel be called when what is no statement, as a commit, takes too long,
// unless loosened before.
func (l limit) leash(cancel context.CancelFunc) (loosen func()) {
	if l == 0 {
		return func() {}
	}
	t := time.AfterFunc(time.Duration(l), cancel)
	return func() { t.Stop() }
}
