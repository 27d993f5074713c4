package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Upkeep says how often Run looks for what is due. The zero value is a good choice.
type Upkeep struct {
	// Sweep is the time between two sweeps for deadlines that are over, within a fifth of
	// it by chance; zero is 1 s.
	Sweep time.Duration
	// Deliver is the longest time until effects that are due are looked for; zero is
	// 250 ms. An effect that was asked for in this process is performed at once.
	Deliver time.Duration
	// Audit, when set, is made once in each AuditEvery: mostly audit.Logged of the machine,
	// which logs each finding. audit.HealthOf and the machine's observer tell how many there are.
	Audit func(ctx context.Context, log *slog.Logger) error
	// AuditEvery is the time between two audits, within a fifth of it by chance; zero is
	// an hour. An audit reads every record and its log.
	AuditEvery time.Duration
	// Log gets a record for each error, and is handed to Audit; nil is slog.Default().
	Log *slog.Logger
}

// Run does what a machine needs beside the calls of its users until ctx ends: it sweeps
// where an operation has a deadline, performs effects where one is performed after
// the commit, audits where the program says so, and runs the workers. Any number of
// processes may do so on one store.
//
// At the end the workers stop as Worker.Run says, and effects that are being performed
// are interrupted and due again. Run returns nil when all has stopped. It returns an
// error, after all has stopped, when its work would fail for ever: the store is closed,
// must be opened anew, or is not the machine's. Any other error is logged, and tried
// again. It does not call Startup, which is for one process that is alone.
func Run[R any](ctx context.Context, m *fsm.Machine[R], u Upkeep, workers ...*Worker[R]) error {
	u.Sweep = cmp.Or(u.Sweep, time.Second)
	u.Deliver = cmp.Or(u.Deliver, 250*time.Millisecond)
	u.AuditEvery = cmp.Or(u.AuditEvery, time.Hour)
	if min(u.Sweep, u.Deliver, u.AuditEvery) < time.Millisecond {
		return fmt.Errorf("%s: Run sweeps each %s, delivers each %s and audits each %s; expected at least 1ms each",
			m.Schema().Machine, u.Sweep, u.Deliver, u.AuditEvery)
	}
	if u.Log == nil {
		u.Log = slog.Default()
	}
	log := u.Log.With("machine", m.Schema().Machine)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	start := func(part func() error) {
		parts.Go(func() {
			if err := part(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				stop(err)
			}
		})
	}
	for _, w := range workers {
		start(func() error { return w.Run(ctx) })
	}
	if has(m, func(op *fsmimpl.Operation[R]) bool {
		return slices.ContainsFunc(op.Triggers, func(t fsmimpl.Trigger) bool { return !t.Startup })
	}) {
		start(func() error { return sweep(ctx, m, u.Sweep, log) })
	}
	if has(m, func(op *fsmimpl.Operation[R]) bool { return op.MayAsk(false) }) {
		start(func() error { return deliver(ctx, m, u.Deliver, log) })
	}
	if u.Audit != nil {
		start(func() error { return check(ctx, u, log) })
	}
	<-ctx.Done()
	parts.Wait()
	return errors.Join(errs...)
}

// has reports whether an operation of a machine is such a one.
func has[R any](m *fsm.Machine[R], is func(*fsmimpl.Operation[R]) bool) bool {
	return slices.ContainsFunc(m.Descriptor().Operations, is)
}

// sweep sweeps until ctx ends or it would fail for ever.
func sweep[R any](ctx context.Context, m *fsm.Machine[R], every time.Duration, log *slog.Logger) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var fatal error
	err := m.RunSweeper(ctx, every, func(_ int, err error) {
		if forGood(err) {
			fatal = err
			stop(err)
		} else if err != nil {
			log.ErrorContext(ctx, "sweep", "error", err)
		}
	})
	if fatal == nil && ctx.Err() == nil {
		return err
	}
	return fatal
}

// check audits until ctx ends or it would fail for ever.
func check(ctx context.Context, u Upkeep, log *slog.Logger) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var fatal error
	err := call.Each(ctx, u.AuditEvery, func() {
		err := u.Audit(ctx, log)
		switch {
		case err == nil, ctx.Err() != nil:
		case forGood(err):
			fatal = err
			stop(err)
		default:
			log.ErrorContext(ctx, "audit", "error", err)
		}
	})
	if fatal == nil && ctx.Err() == nil {
		return err
	}
	return fatal
}

// deliver performs effects until ctx ends or it would fail for ever.
func deliver[R any](ctx context.Context, m *fsm.Machine[R], every time.Duration, log *slog.Logger) error {
	bell, queue := m.Engine().Store.Bell(), m.Engine().Outbox
	ctx, end := context.WithCancel(ctx)
	defer func() {
		end()
		_, _ = m.Deliver(ctx) // it waits for what still runs
	}()
	for ctx.Err() == nil {
		mark := bell.Mark(queue)
		n, err := m.Deliver(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case forGood(err):
			return err
		case err != nil:
			log.ErrorContext(ctx, "deliver", "error", err)
			mark = bell.Mark(queue) // what failed is to have its pause
		case n > 0:
			continue // meanwhile there may be more
		}
		bell.Wait(ctx, queue, mark, every)
	}
	return nil
}

// forGood reports whether an error says that the same call would fail for ever.
func forGood(err error) bool {
	return errors.Is(err, fsm.ErrPoisoned) || errors.Is(err, fsm.ErrSchemaMismatch) || errors.Is(err, fsm.ErrClosed)
}
