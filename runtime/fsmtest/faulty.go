package fsmtest

import (
	"context"
	"errors"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// ErrInjected is behind every failure that a Faults makes.
var ErrInjected = errors.New("a fault that the test asked for")

// Faults is a store around another one that fails when a test tells it to, so
// that the test sees what its own code makes of it. Without an order it is the
// store inside, but for calls on many records, which it makes one by one, and
// atomic effects, which need the store itself. It may be used by several goroutines.
type Faults struct {
	inside

	mu            sync.Mutex
	before, after int
	cut, down     bool
	delay         time.Duration
	overtake      func()
	commits       int
}

type inside = fsm.Store

// Faulty returns a store that works until it is told otherwise.
func Faulty(store fsm.Store) *Faults { return &Faults{inside: store} }

// FailBefore makes the next n commits fail before anything is written. The engine
// tries a few times itself; with n above that the caller gets fsm.ErrBusy.
func (f *Faults) FailBefore(n int) { f.order(func() { f.before = n }) }

// FailAfter loses the answers of the next n commits, which are made. The engine
// finds out by the request id, and the caller gets the outcome.
func (f *Faults) FailAfter(n int) { f.order(func() { f.after = n }) }

// Cut lets the next commit through, loses its answer, and is Down from then on:
// the caller gets *fsm.AmbiguousError, for a write that is there.
func (f *Faults) Cut() { f.order(func() { f.cut = true }) }

// Down makes every read and write fail with fsm.ErrBusy, until it is called with false.
func (f *Faults) Down(is bool) { f.order(func() { f.down = is }) }

// Delay makes every commit wait for d first, or until its context ends.
func (f *Faults) Delay(d time.Duration) { f.order(func() { f.delay = d }) }

// Overtake runs do right before the next commit, after its caller has decided:
// let do change the record, and the caller is too late (fsm.ErrStale).
func (f *Faults) Overtake(do func()) { f.order(func() { f.overtake = do }) }

// Commits returns how many commits were asked for, those that failed included.
func (f *Faults) Commits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commits
}

func (f *Faults) order(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// Table returns the table of the store inside, which fails as it is told.
func (f *Faults) Table(s *driver.Schema) (driver.Table, error) {
	t, err := f.inside.Table(s)
	if err != nil {
		return nil, err
	}
	return &faultyTable{f, t, s.Machine}, nil
}

type faultyTable struct {
	f       *Faults
	t       driver.Table
	machine string
}

// busy says that surely nothing was written.
func (t *faultyTable) busy() error {
	return &fsm.Refusal{Machine: t.machine, Code: fsm.ErrBusy, Cause: ErrInjected}
}

// unlessDown makes a call while the store is not down.
func (t *faultyTable) unlessDown(do func() error) error {
	t.f.mu.Lock()
	down := t.f.down
	t.f.mu.Unlock()
	if down {
		return t.busy()
	}
	return do()
}

func (t *faultyTable) Migrate(ctx context.Context) error {
	return t.unlessDown(func() error { return t.t.Migrate(ctx) })
}

func (t *faultyTable) Check(ctx context.Context) error {
	return t.unlessDown(func() error { return t.t.Check(ctx) })
}

func (t *faultyTable) Retire(ctx context.Context) error {
	return t.unlessDown(func() error { return t.t.Retire(ctx) })
}

func (t *faultyTable) View(ctx context.Context, f func(driver.Reader) error) error {
	return t.unlessDown(func() error { return t.t.View(ctx, f) })
}

func (t *faultyTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	return t.unlessDown(func() error { return t.t.Look(ctx, f) })
}

func (t *faultyTable) Commit(ctx context.Context, w *driver.Write) error {
	return t.commit(ctx, func() error { return t.t.Commit(ctx, w) })
}

func (t *faultyTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	return t.commit(ctx, func() error { return t.t.Update(ctx, f) })
}

// commit carries out what the test ordered around one commit.
func (t *faultyTable) commit(ctx context.Context, do func() error) error {
	t.f.mu.Lock()
	overtake, delay := t.f.overtake, t.f.delay
	t.f.overtake = nil
	t.f.commits++
	before := t.f.down || t.f.before > 0
	if t.f.before > 0 {
		t.f.before--
	}
	after := !before && (t.f.cut || t.f.after > 0)
	cut := after && t.f.cut
	if after && !cut {
		t.f.after--
	}
	t.f.mu.Unlock()

	if overtake != nil {
		overtake()
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if before {
		return t.busy()
	}
	err := do()
	if err != nil || !after {
		return err
	}
	if cut {
		t.f.order(func() { t.f.cut, t.f.down = false, true })
	}
	return &fsm.AmbiguousError{Machine: t.machine, Err: ErrInjected}
}
