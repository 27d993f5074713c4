package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Faulty is a store whose commits get lost on the way there or on the way back.
type Faulty struct {
	fsm.Store
	Rate float64 // of commits that meet a fault
	Bug  Bug
	Deaf bool // whoever is told that an outcome is unknown finds out nothing by itself
	late sync.WaitGroup
}

// Bug is something that a store does wrong on purpose.
type Bug uint8

// The planted bugs.
const (
	NoBug            Bug = iota
	BlindWrite           // a write whose record has moved is written over what is there
	ForgottenRequest     // the request id of one write in ten is not in the log
)

var errCut = errors.New("the connection was cut")

// callKey marks the context of a call whose connection is gone for good: it
// finds out nothing by itself.
type callKey struct{}

// Call returns the context for one call.
func Call(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, new(gone)) }

type gone struct {
	mu sync.Mutex
	is bool
}

func (g *gone) set() {
	g.mu.Lock()
	g.is = true
	g.mu.Unlock()
}

func isGone(ctx context.Context) bool {
	g, _ := ctx.Value(callKey{}).(*gone)
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.is
}

// Wait waits for the commits that land late.
func (f *Faulty) Wait() { f.late.Wait() }

// Table returns the faulty table.
func (f *Faulty) Table(s *driver.Schema) (driver.Table, error) {
	t, err := f.Store.Table(s)
	if err != nil {
		return nil, err
	}
	return &faultyTable{t, f}, nil
}

type faultyTable struct {
	driver.Table
	f *Faulty
}

// fault decides what happens to one commit: 0 nothing, 1 it never gets there,
// 2 its answer gets lost, 3 it gets there late.
func (t *faultyTable) fault(ctx context.Context) int {
	if rand.Float64() >= t.f.Rate {
		return 0
	}
	if g, _ := ctx.Value(callKey{}).(*gone); g != nil && rand.IntN(2) == 0 {
		g.set()
	}
	return 1 + rand.IntN(3)
}

func (t *faultyTable) Commit(ctx context.Context, w *driver.Write) error {
	if isGone(ctx) {
		return &fsm.AmbiguousError{Err: errCut}
	}
	if t.f.Bug == ForgottenRequest && rand.IntN(10) == 0 && w.Prev.Rev != 0 {
		w.Event.RequestID = ""
		w.Event.Sum = driver.Checksum(&w.Event)
	}
	switch t.fault(ctx) {
	case 1:
		return &fsm.AmbiguousError{Err: errCut}
	case 2:
		if err := t.commit(ctx, w); err != nil {
			return err
		}
		return &fsm.AmbiguousError{Err: errCut}
	case 3:
		late := *w
		t.f.late.Go(func() {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			_ = t.Table.Commit(context.WithoutCancel(ctx), &late) // nobody hears the answer
		})
		return &fsm.AmbiguousError{Err: errCut}
	}
	return t.told(ctx, t.commit(ctx, w))
}

// told lets nobody ask again who is deaf.
func (t *faultyTable) told(ctx context.Context, err error) error {
	if g, _ := ctx.Value(callKey{}).(*gone); g != nil && t.f.Deaf && Unknown(err) {
		g.set()
	}
	return err
}

func (t *faultyTable) commit(ctx context.Context, w *driver.Write) error {
	err := t.Table.Commit(ctx, w)
	if t.f.Bug != BlindWrite || !errors.Is(err, driver.ErrMoved) || w.Row == nil {
		return err
	}
	return t.Table.Update(ctx, func(tx fsm.Tx) error {
		row, err := tx.Row(w.Prev.ID)
		if err != nil {
			return err
		}
		w.Prev.Rev, w.PrevState, w.Old = row.Rev, row.State, nil
		w.Row.Rev, w.Event.Rev, w.Event.From = row.Rev+1, row.Rev+1, row.State
		w.Event.Sum = driver.Checksum(&w.Event)
		return tx.Write(w)
	})
}

func (t *faultyTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	if isGone(ctx) {
		return &fsm.AmbiguousError{Err: errCut}
	}
	switch t.fault(ctx) {
	case 1:
		return &fsm.AmbiguousError{Err: errCut}
	case 2:
		if err := t.Table.Update(ctx, f); err != nil {
			return err
		}
		return &fsm.AmbiguousError{Err: errCut}
	}
	return t.told(ctx, t.Table.Update(ctx, f))
}

func (t *faultyTable) View(ctx context.Context, f func(driver.Reader) error) error {
	if isGone(ctx) {
		return errCut
	}
	return t.Table.View(ctx, f)
}

func (t *faultyTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	if isGone(ctx) {
		return errCut
	}
	return t.Table.Look(ctx, f)
}
