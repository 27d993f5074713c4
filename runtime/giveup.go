package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// GiveUpError is what an effect returns that is not to be tried again. It stands also in the
// *EffectError of a delivery that has used up its tries.
type GiveUpError struct {
	Err error // why; nil: nobody said
}

// GiveUp ends the tries of an effect: the operation under `failed` runs, and the effect is not
// performed again for its key. For an effect without `failed`, and for an atomic one, it is an
// error like any other. It is an error also where err is nil.
func GiveUp(err error) error { return &GiveUpError{err} }

// Error says that the effect gave up, and why.
func (e *GiveUpError) Error() string {
	if e.Err == nil {
		return "gave up"
	}
	return "gave up: " + e.Err.Error()
}

// Unwrap returns why.
func (e *GiveUpError) Unwrap() error { return e.Err }

// gives reports whether an effect itself gave up. What another machine says of its own effects is
// an error like any other.
func gives(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it goes along the chain itself
	case nil, *EffectError:
		return false
	case *GiveUpError:
		return true
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), gives)
	}
	return gives(errors.Unwrap(err))
}

// errNoEnd is why an effect gave up none of whose tries said how it ended.
var errNoEnd = errors.New("no try came to an end")

// gaveUp makes what an effect says that gave up for a cause.
func gaveUp(cause error) *GiveUpError {
	if e := (*GiveUpError)(nil); gives(cause) && errors.As(cause, &e) {
		return e
	}
	return &GiveUpError{cause}
}

// problemText is the error that the operation under `failed` is told: it is never empty.
func problemText(cause error) string {
	if e, ok := cause.(*GiveUpError); ok { //nolint:errorlint // what is around one says more
		cause = e.Err
	}
	if cause != nil {
		if text := shortText(cause.Error()); text != "" {
			return text
		}
	}
	return "no reason was given"
}

// lastError is the error of the try before a delivery without a try left.
func lastError(d driver.Delivery) error {
	if d.LastError == "" {
		return errNoEnd
	}
	return errors.New(d.LastError)
}

// giveUp takes the step of `failed` for an effect that gave up, in the transaction that
// removes its delivery. Where that is refused, the delivery stays, without a try left.
func (m *Machine[R]) giveUp(ctx context.Context, d driver.Delivery, begin time.Time, job *deliveryJob[R], cause error) error {
	d.LastError = problemText(cause)
	err := m.settle(ctx, d, job, d.LastError)
	switch {
	case err == nil, errors.Is(err, ErrMovedOn):
		return m.failure(d, gaveUp(cause))
	case errors.Is(err, ErrOvertaken):
		return m.failure(d, err)
	case ofStore(err):
		m.release(ctx, d)
		return err
	case ctx.Err() != nil:
		m.release(ctx, d)
		return ctx.Err()
	}
	cause = fmt.Errorf("%w; then %s failed, so the delivery stays: %w", gaveUp(cause), job.effect.Failed, err)
	return m.postpone(ctx, d, m.dueAgain(d, begin), d.LastError, cause)
}

// ofStore reports whether an error of a step says nothing of it, but of the store.
func ofStore(err error) bool {
	var refused *Refusal
	var effect *EffectError
	return !errors.As(err, &effect) && (!errors.As(err, &refused) || refused.Code == ErrBusy || refused.Code == ErrFull)
}

// unsaid reports whether the store did not take what became of an effect, and may take it later.
func unsaid(err error) bool {
	return err != nil && !errors.Is(err, ErrOvertaken) && !errors.Is(err, ErrMovedOn) && ofStore(err)
}

// problemCall makes the call of an operation under `failed`.
func problemCall[R any](op *fsmimpl.Operation[R], rec *R, at time.Time, problem string) (fsmimpl.Call[R], error) {
	if problem != "" && op.GaveUp != nil {
		return op.GaveUp(problem), nil
	}
	return op.System(rec, at)
}

// refusedEnds remembers the deliveries that gave up and whose `failed` was refused.
type refusedEnds struct {
	mu   sync.Mutex
	seen map[endKey]refusedEnd
}

type endKey struct {
	id     string
	rev, n int64
}

type refusedEnd struct {
	effect string
	at     time.Time
}

// mostEnds is how many are remembered at most.
const mostEnds = 10_000

// note remembers what became of the step under `failed`: it stays until the step is taken, or nobody
// is to take it any more. An error of the store says nothing.
func (r *refusedEnds) note(d driver.Delivery, err error, at time.Time) {
	switch {
	case err == nil, errors.Is(err, ErrMovedOn), errors.Is(err, ErrOvertaken):
		r.forget(d)
		return
	case ofStore(err):
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[endKey]refusedEnd{}
	}
	if len(r.seen) < mostEnds {
		r.seen[endKey{d.ID, d.Rev, d.N}] = refusedEnd{d.Effect, at}
	}
}

func (r *refusedEnds) forget(d driver.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, endKey{d.ID, d.Rev, d.N})
}

// refusedEnds counts them by effect. One that was not seen for long is another process's
// matter, or settled by it.
func (m *Machine[R]) refusedEnds() map[string]int64 {
	r := &m.ends
	r.mu.Lock()
	defer r.mu.Unlock()
	before := m.now().Add(-2 * (m.options.longest + m.options.lease))
	var found map[string]int64
	for key, e := range r.seen {
		if e.at.Before(before) {
			delete(r.seen, key)
			continue
		}
		if found == nil {
			found = map[string]int64{}
		}
		found[e.effect]++
	}
	return found
}
