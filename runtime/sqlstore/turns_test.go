package sqlstore

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// slowLock is a lock that another process has until it is freed.
type slowLock struct {
	taken, free, closed chan struct{}
}

func newSlowLock() *slowLock {
	return &slowLock{taken: make(chan struct{}, 1), free: make(chan struct{}), closed: make(chan struct{})}
}

func (l *slowLock) try() (bool, error) {
	select {
	case <-l.free:
	default:
		return false, nil
	}
	select {
	case l.taken <- struct{}{}:
		return true, nil
	default:
		return false, nil
	}
}

func (l *slowLock) lock() error   { <-l.free; l.taken <- struct{}{}; return nil }
func (l *slowLock) unlock() error { <-l.taken; return nil }
func (l *slowLock) close() error  { close(l.closed); return nil }

// Who waits for the turn leaves when its time is over, the wait goes on for the
// next, and a turn that nobody wants any more is given on.
func TestTurnsAreWaitedForInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := newSlowLock()
		turns := &turns{file: lock}
		begun := time.Now()
		if err := turns.take(call.Begin(t.Context(), 300*time.Millisecond)); !errors.Is(err, call.ErrOver) || time.Since(begun) != 300*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := turns.take(call.Begin(limited, time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: %v", err)
		}
		time.AfterFunc(time.Minute, func() { close(lock.free) })
		if err := turns.take(call.Begin(t.Context(), time.Hour)); err != nil {
			t.Errorf("a turn that comes in time: %v", err)
		}
		if err := turns.leave(); err != nil {
			t.Error(err)
		}
		if err := turns.take(t.Context()); err != nil {
			t.Errorf("a free turn: %v", err)
		}
		if err := errors.Join(turns.leave(), turns.close()); err != nil {
			t.Error(err)
		}
		<-lock.closed
	})
}

// A store that closes while it waits for a turn gives the turn on when it comes.
func TestTurnThatComesTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := newSlowLock()
		turns := &turns{file: lock}
		if err := turns.take(call.Begin(t.Context(), time.Millisecond)); !errors.Is(err, call.ErrOver) {
			t.Fatal(err)
		}
		if err := turns.close(); err != nil {
			t.Fatal(err)
		}
		close(lock.free)
		<-lock.closed
		if len(lock.taken) > 0 {
			t.Error("the lock is kept")
		}
	})
}

// The lock of the system is had by one at a time, in one process too, and given up
// with the file.
func TestSystemsLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.lock")
	open := func() fileLock {
		lock, err := openLock(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if lock == nil {
			t.Skip("this system has no such lock")
		}
		return lock
	}
	one, two := open(), open()
	if won, err := one.try(); !won || err != nil {
		t.Fatalf("a free lock: %t, %v", won, err)
	}
	if won, err := two.try(); won || err != nil {
		t.Fatalf("a lock that is taken: %t, %v", won, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := two.lock(); err != nil {
			t.Error(err)
		}
	})
	if err := one.close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := errors.Join(two.unlock(), two.close()); err != nil {
		t.Error(err)
	}
}
