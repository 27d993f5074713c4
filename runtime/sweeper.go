package fsm

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
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
	return call.Each(ctx, every, func() {
		n, err := m.Sweep(ctx)
		if report != nil && ctx.Err() == nil {
			report(n, err)
		}
	})
}
