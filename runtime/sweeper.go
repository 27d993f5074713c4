package fsm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// RunSweeper sweeps until ctx ends, at intervals of every with a jitter of up to
// a fifth less or more, so that several processes do not sweep in step. It
// sweeps first after one such wait. What a sweep returned is handed to report,
// which may be nil: an error is no reason to stop, the next sweep tries again.
// It returns the context's error.
//
// Any number of processes may run it on one store, and one of them may be killed
// at any time: each step is a transaction with a request id made of operation
// and revision, so it is taken once, by whoever comes first.
func (m *Machine[R]) RunSweeper(ctx context.Context, every time.Duration, report func(steps int, err error)) error {
	if every < time.Millisecond {
		return fmt.Errorf("%s: sweep every %s; expected at least 1ms", m.schema.Machine, every)
	}
	for {
		t := time.NewTimer(every - every/5 + rand.N(2*every/5+1))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		n, err := m.Sweep(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if report != nil {
			report(n, err)
		}
	}
}
