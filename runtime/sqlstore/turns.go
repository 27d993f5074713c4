package sqlstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// The processes that write one SQLite file take turns, a transaction each, by a
// lock on a file beside it. SQLite's own lock does not do for that: who waits for
// it looks again and again, so who writes most gets it most. And it ends when
// anything in the process closes the database's file, a backup that reads it for
// example. The lock file stays: removing it would let two processes lock two files
// of one name.

// turns is one store's place among those who write the file. One session writes,
// so one caller at a time takes or leaves.
type turns struct {
	file fileLock

	mu      sync.Mutex
	won     chan error // of the goroutine that waits for the lock; nil: there is none
	wanted  bool       // somebody waits for won
	closing bool
}

// fileLock is an exclusive lock that a process loses when it ends.
type fileLock interface {
	try() (won bool, err error)
	lock() error // waits, first come first served
	unlock() error
	close() error
}

// newTurns opens the lock beside the database. On a system without such locks it
// returns nil, and SQLite's own has to do.
func newTurns(database string) (*turns, error) {
	if resolved, err := filepath.EvalSymlinks(database); err == nil {
		database = resolved
	}
	of, err := os.Stat(database) // who may write the one may lock the other
	if err != nil {
		of = nil
	}
	file, err := openLock(database+".lock", of)
	if file == nil || err != nil {
		return nil, err
	}
	return &turns{file: file}, nil
}

// take waits for the turn as long as the call may.
func (t *turns) take(ctx context.Context) error {
	t.mu.Lock()
	if t.won == nil {
		if won, err := t.file.try(); won || err != nil {
			t.mu.Unlock()
			return err
		}
		t.won = make(chan error, 1)
		go t.wait()
	}
	won := t.won
	t.wanted = true
	t.mu.Unlock()
	waiting, done := call.Waiting(ctx)
	defer done()
	select {
	case err := <-won:
		return err
	case <-waiting.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted = false
	select {
	case err := <-won: // at the same moment
		if err == nil {
			err = t.file.unlock()
		}
		return errors.Join(call.Ended(ctx), err)
	default: // the goroutine keeps its place for who comes next
		return call.Ended(ctx)
	}
}

// wait waits for the lock, which nothing can interrupt, and hands it to whoever
// wants it by then.
func (t *turns) wait() {
	err := t.file.lock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wanted {
		t.won <- err
	} else if err == nil {
		_ = t.file.unlock() // one that fails is met by the next who takes it
	}
	t.won, t.wanted = nil, false
	if t.closing {
		_ = t.file.close() // nobody is left to be told
	}
}

// leave ends the turn.
func (t *turns) leave() error { return t.file.unlock() }

// close is called once, when nobody takes turns any more.
func (t *turns) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing = true; t.won != nil {
		return nil // wait does it
	}
	return t.file.close()
}
