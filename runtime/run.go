package fsm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

const (
	maxTries    = 12 // of one call: after a moved record, a busy store or a lost answer
	maxLookups  = 5  // of one lost answer, each with a fresh context
	lookupLimit = 5 * time.Second
	parting     = 100 * time.Millisecond // that an answer is waited for when the caller's context has ended
)

// unit is one transaction's worth of work.
type unit struct {
	// fast, when not nil, is the first try: one write without a transaction of
	// its own. With slow set nothing was tried, and the answer must come from try.
	fast func() (slow bool, err error)
	// joins says that fast also serves within a transaction of the caller's.
	joins bool
	// glance looks, after the first try met something, whether the answer stands
	// already: done says so. It locks nothing, for who asks again, or comes too late,
	// has nothing to write. Its error, when not done, is no answer.
	glance func(r driver.Reader) (done bool, err error)
	// try does the work in a transaction. again is false in the first try.
	try func(tx driver.Tx, again bool) error
	// find looks whether the work was done by a try whose answer was lost.
	find func(r driver.Reader) (bool, error)
	// blame makes an error of the call out of one that no try got past.
	blame func(err error) error
	// lost makes the error that says that nobody knows.
	lost func(err error) error
}

// run does the work until it is known what became of it: a moved record, a
// taken request id and a busy store lead to another try, a lost answer to a
// look into the log.
func (m *Machine[R]) run(ctx context.Context, u unit) error {
	if m.joined != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return m.runJoined(ctx, u)
	}
	if err := m.ready(ctx); err != nil {
		return err
	}
	return m.tries(m.begin(ctx), u)
}

// begin returns the context of a call, whose waits end together, unless it is part
// of one that has begun already.
func (m *Machine[R]) begin(ctx context.Context) context.Context {
	return call.Within(ctx, m.store.Patience())
}

// ready returns an error where no work may begin: the context has ended, or the
// call is within a transaction of the store.
func (m *Machine[R]) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return driver.Inside(ctx, m.store)
}

// tries is run from the first try on.
func (m *Machine[R]) tries(ctx context.Context, u unit) error {
	var last error
	var open error // of a try that may still land, for all that is known
	settled := func(err error) error {
		if open == nil || conclusive(err) {
			return err
		}
		var a *AmbiguousError
		if errors.As(open, &a) && a.Err != nil {
			open = a.Err
		}
		return u.lost(fmt.Errorf("%w; then: %w", open, err))
	}
	for n := range maxTries {
		if n > 1 {
			if err := pause(ctx, n); errors.Is(err, call.ErrOver) {
				break
			} else if err != nil {
				return settled(err)
			}
		}
		certain, err := m.attempt(ctx, &u, n)
		last = err
		var refused *Refusal
		switch {
		case err == nil:
			return nil
		case retriable(err):
			continue
		case errors.As(err, &refused) && refused.Code == ErrBusy && call.Err(ctx) == nil:
			continue
		case certain || refused != nil || !ambiguous(err):
			return settled(err)
		}
		open = err
		found, lookErr := m.resolve(ctx, u.find)
		if found {
			return nil
		}
		if lookErr != nil || ctx.Err() != nil {
			return u.lost(err)
		}
		// It is not there now. If it lands later, the next try meets it: a write
		// is conditional on the revision and on the request id.
	}
	var refused *Refusal
	if !retriable(last) && !errors.As(last, &refused) {
		return u.lost(last)
	}
	return settled(u.blame(last))
}

// conclusive reports whether a refusal of a later try says that an earlier one,
// whose answer was lost, will never land: the revision or the id that it was
// decided on is not free any more. Anything else leaves that open: a guard may
// fail now that held then, and a store that is poisoned or closed says nothing.
func conclusive(err error) bool {
	var refused *Refusal
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case ErrStale, ErrWrongState, ErrTerminal, ErrExists, ErrRequestReused:
		return true
	}
	return false
}

// attempt is one try. The error is certain when surely nothing was written.
func (m *Machine[R]) attempt(ctx context.Context, u *unit, n int) (certain bool, err error) {
	if n == 0 && u.fast != nil {
		slow, err := u.fast()
		switch {
		case slow:
		case retriable(err) && u.glance != nil:
			return m.glance(ctx, u, err)
		default:
			return false, err
		}
	}
	begun, ours := false, false
	err = m.table.Update(ctx, func(tx driver.Tx) error {
		err := u.try(tx, n > 0)
		begun, ours = true, err != nil
		return err
	})
	return ours || !begun, err
}

// glance gives the answer of a call whose first try met something, where it can be
// read, and otherwise what was met.
func (m *Machine[R]) glance(ctx context.Context, u *unit, met error) (certain bool, err error) {
	var done bool
	var answer error
	failed := m.table.View(ctx, func(r driver.Reader) error {
		done, answer = u.glance(r)
		return nil
	})
	if done && failed == nil {
		return true, answer
	}
	return false, met
}

// retriable reports whether err asks for another look at the store.
func retriable(err error) bool {
	var c *driver.ConflictError
	return errors.Is(err, driver.ErrMoved) || errors.Is(err, driver.ErrRequestTaken) || errors.Is(err, driver.ErrIDTaken) || errors.As(err, &c)
}

// ambiguous reports whether the work may have been done in spite of what a
// commit returned. Stores return the context's own error only when surely
// nothing was written.
func ambiguous(err error) bool {
	var a *AmbiguousError
	return errors.As(err, &a) ||
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, driver.ErrClosed)
}

// resolve looks for the work of a try whose answer was lost. It has a context of its
// own, and a short one when the caller's has ended.
func (m *Machine[R]) resolve(ctx context.Context, find func(driver.Reader) (bool, error)) (found bool, err error) {
	limit := lookupLimit
	if ctx.Err() != nil {
		limit = parting
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	ctx = call.Begin(ctx, limit)
	for n := range maxLookups {
		if n > 0 {
			if err := pause(ctx, n+2); err != nil {
				return false, err
			}
		}
		err = m.table.View(ctx, func(r driver.Reader) error {
			found, err = find(r)
			return err
		})
		if err == nil {
			return found, nil
		}
	}
	return false, err
}

// pause waits a little longer at each try, with jitter, so that those who met
// do not meet again.
func pause(ctx context.Context, n int) error {
	d := time.Millisecond << min(n, 7)
	return call.Nap(ctx, d/2+rand.N(d))
}

// unit returns the common part of the work for one call.
func (m *Machine[R]) unit(op *fsmimpl.Operation[R], id, requestID string) unit {
	return unit{
		blame: func(err error) error {
			var c *driver.ConflictError
			var effect *EffectError
			switch {
			case errors.As(err, &effect):
				return err
			case errors.As(err, &c):
				return m.notUnique(c, op, id, "")
			case errors.Is(err, driver.ErrRequestTaken):
				return m.refusal(ErrRequestReused, op, id, "")
			case errors.Is(err, driver.ErrIDTaken):
				return m.refusal(ErrExists, op, id, "")
			case errors.Is(err, driver.ErrMoved):
				r := m.refusal(ErrBusy, op, id, "")
				r.Cause = err
				return r
			}
			return err
		},
		lost: func(err error) error {
			var a *AmbiguousError
			if errors.As(err, &a) && a.Err != nil {
				err = a.Err
			}
			return &AmbiguousError{Machine: m.schema.Machine, ID: id, Operation: op.Name, RequestID: requestID, Err: err}
		},
	}
}
