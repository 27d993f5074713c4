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

// grace is how long an answer is waited for that says what was written, when the call's
// context has ended: longer than a write waits for a lock.
const grace = 2 * moment

// after calls cut when ctx has ended and the grace is over. The function that it returns ends that.
func after(ctx context.Context, cut func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) })
}

// outlasting returns a context that ends a grace later than ctx.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cut := context.WithCancel(context.WithoutCancel(ctx))
	stop := after(ctx, cut)
	return longer, func() { stop(); cut() }
}
