package sqlstore

import (
	"context"
	"sync"
	"time"
)

// watchdog is the one that bounds how long an answer of the database is waited for; no
// limit: for ever. Statements of one session it bounds without a timer for each: one
// timer runs while the session is used, and looks whether the statement of now has
// taken too long. It belongs to one caller at a time, as its session does.
type watchdog struct {
	limit time.Duration
	brief bool // of few statements, so that no timer is left running: each has its own

	mu    sync.Mutex
	ctx   context.Context // of the statements; ends when one takes too long
	end   context.CancelFunc
	due   time.Time   // when the statement of now has taken too long; zero: there is none
	timer *time.Timer // nil: none runs
}

// bounded is a statement's context: it ends when the watchdog says so, and has the
// values of the caller's.
type bounded struct {
	context.Context
	values context.Context
}

// Value asks the watchdog's context first, since package context finds by it whom
// to tell of the end.
func (b bounded) Value(key any) any {
	if v := b.Context.Value(key); v != nil {
		return v
	}
	return b.values.Value(key)
}

// Err is what became of the statement: its time is over.
func (b bounded) Err() error {
	if b.Context.Err() == nil {
		return nil
	}
	return context.DeadlineExceeded
}

// bound returns a context that ends when a statement has taken too long; done says
// that it is over. Of a context that ends by itself both ends count.
func (w *watchdog) bound(ctx context.Context) (bound context.Context, done context.CancelFunc) {
	if w == nil || w.limit == 0 {
		return ctx, func() {}
	}
	if ctx.Done() != nil || w.brief {
		return context.WithTimeout(ctx, w.limit)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.due.IsZero() { // a statement within another one's rows
		return context.WithTimeout(ctx, w.limit)
	}
	if w.ctx == nil || w.ctx.Err() != nil {
		w.ctx, w.end = context.WithCancel(context.Background())
	}
	w.due = time.Now().Add(w.limit)
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.look)
	}
	return bounded{w.ctx, ctx}, w.over
}

// leash makes cancel be called when what is no statement, as a commit, takes too long,
// unless loosened before.
func (w *watchdog) leash(cancel context.CancelFunc) (loosen func()) {
	if w.limit == 0 {
		return func() {}
	}
	t := time.AfterFunc(w.limit, cancel)
	return func() { t.Stop() }
}

// over says that the statement of now has been answered.
func (w *watchdog) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = time.Time{}
}

// look ends what has taken too long, and goes on while there is something to look at.
func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch left := time.Until(w.due); {
	case w.due.IsZero():
		w.timer = nil
	case left > 0:
		w.timer.Reset(left)
	default:
		w.end()
		w.timer = nil
	}
}
