package sqlstore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

type valueKey struct{}

// One timer looks after the statements of a session, one after the other: each has
// its full time, and none more.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watchdog{limit: 10 * time.Second}
		caller := context.WithoutCancel(context.WithValue(t.Context(), valueKey{}, "the caller's"))
		for range 5 { // 45 s of statements that are answered in time
			ctx, done := w.bound(caller)
			told := make(chan struct{})
			stop := context.AfterFunc(ctx, func() { close(told) })
			time.Sleep(9 * time.Second)
			synctest.Wait()
			if ctx.Err() != nil || ctx.Value(valueKey{}) != "the caller's" || !stop() {
				t.Fatalf("after 9 s: %v, the value is %v", ctx.Err(), ctx.Value(valueKey{}))
			}
			done()
		}
		ctx, done := w.bound(caller)
		inner, innerDone := w.bound(caller) // within the rows of the other
		if _, limited := inner.Deadline(); !limited {
			t.Error("a statement within another has no limit of its own")
		}
		innerDone()
		told := make(chan struct{})
		context.AfterFunc(ctx, func() { close(told) })
		begun := time.Now()
		<-told
		if took := time.Since(begun); took != 10*time.Second || ctx.Err() != context.DeadlineExceeded {
			t.Errorf("it ended after %s: %v, want 10 s and the error of a deadline", took, ctx.Err())
		}
		done()
		next, done := w.bound(caller)
		time.Sleep(time.Second)
		if next.Err() != nil {
			t.Errorf("the next statement: %v", next.Err())
		}
		done()
		time.Sleep(time.Minute)
		w.mu.Lock()
		if w.timer != nil {
			t.Error("a timer runs although nothing is asked")
		}
		w.mu.Unlock()
		ends, cancel := context.WithCancel(caller)
		mine, done := w.bound(ends)
		cancel()
		if mine.Err() != context.Canceled {
			t.Errorf("the caller's context has ended, the statement's: %v", mine.Err())
		}
		done()
		if free, _ := (&watchdog{}).bound(caller); free != caller {
			t.Error("without a limit there is a context around the caller's")
		}
	})
}
