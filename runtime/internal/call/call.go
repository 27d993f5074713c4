// Package call carries how long a call may still wait, from where the program
// makes it to everything that waits for it: a place in a pool or a batch, a lock
// of another program, a pause before another try. Each of them gets what is left.
// None begins when nothing is left, so a call is refused when its time is over
// and not when all those waits have had theirs. Each makes calls at intervals.
package call

import (
	"context"
	"errors"
	"time"
)

// ErrOver is the cause of a wait's end: the call has waited as long as it may.
var ErrOver = errors.New("the call has waited as long as it may")

type key struct{}

// limited is the context of a call that may wait until then; zero: as long as it lasts.
type limited struct {
	context.Context
	until time.Time
}

// Value returns the call itself for key.
func (l *limited) Value(k any) any {
	if k == (key{}) {
		return l
	}
	return l.Context.Value(k)
}

// Begin returns the context of a call that begins now and may wait for d.
func Begin(ctx context.Context, d time.Duration) context.Context {
	return &limited{ctx, time.Now().Add(d)}
}

// Within is Begin for a part of a call: it may wait for d, but no longer than the
// call. d 0 is no limit of its own.
func Within(ctx context.Context, d time.Duration) context.Context {
	if d == 0 {
		return ctx
	}
	if until, ok := Until(ctx); ok && time.Until(until) <= d {
		return ctx
	}
	return Begin(ctx, d)
}

// Free returns a context for calls of a program's code that a call runs: each of
// them has a time of its own.
func Free(ctx context.Context) context.Context {
	if _, ok := Until(ctx); !ok {
		return ctx
	}
	return &limited{Context: ctx}
}

// Until returns when the call of ctx may wait no longer; false: it may as long as
// its context lasts.
func Until(ctx context.Context) (time.Time, bool) {
	l, _ := ctx.Value(key{}).(*limited)
	if l == nil {
		return time.Time{}, false
	}
	return l.until, !l.until.IsZero()
}

type workerKey struct{}

// Worker returns the context of a worker's claim: its request id is new, and records that
// others hold are not waited for, since a worker that found nothing looks again.
func Worker(ctx context.Context) context.Context { return context.WithValue(ctx, workerKey{}, true) }

// OfWorker reports whether ctx is that of a worker's claim. The context that it returns is not:
// what the claim runs of a program's code makes calls of its own.
func OfWorker(ctx context.Context) (context.Context, bool) {
	if worker, _ := ctx.Value(workerKey{}).(bool); worker {
		return context.WithValue(ctx, workerKey{}, false), true
	}
	return ctx, false
}

// Waiting returns the context of a wait of the call. Its cause is ErrOver unless
// the call's own context ends first.
func Waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	until, ok := Until(ctx)
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, until, ErrOver)
}

// Err returns why the call may not wait, or nil: it is asked before a wait.
func Err(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if until, ok := Until(ctx); ok && !time.Now().Before(until) {
		return ErrOver
	}
	return nil
}

// Nap waits for d, or as long as the call may. Its error says that the call may
// wait no longer; then there is nothing to be tried again.
func Nap(ctx context.Context, d time.Duration) error {
	if err := Err(ctx); err != nil {
		return err
	}
	if until, ok := Until(ctx); ok {
		d = min(d, time.Until(until))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return Err(ctx)
	}
}

// Now is the context of whatever call is made in a transaction that several calls share.
type Now struct{ context.Context }

// During makes it that of a call until done.
func (n *Now) During(ctx context.Context) (done func()) {
	was := n.Context
	n.Context = ctx
	return func() { n.Context = was }
}

// Ended returns why a wait of the call is over.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrOver
}
