package fsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Deliver performs the effects that are due and returns how many it performed.
// Each is performed at least once: a crash between the effect and the note that
// it was performed leads to another delivery with the same key. An effect that
// fails or panics waits, longer each time; its error is joined into the error at
// the end, inside an *EffectError. The step that `then` asks for is taken in the
// transaction that removes the delivery. Where there is one, a delivery whose
// record has left the revision before it was performed is dropped; one whose record
// left it meanwhile is dropped too, and reported as ErrMovedOn. An effect that gave up,
// see GiveUp, is reported with a *GiveUpError in its *EffectError, and the step that
// `failed` asks for is taken in the transaction that removes the delivery.
//
// An effect is claimed before it is performed: for the time of a lease nobody
// else has it, in this process or another one, and one whose process has died is
// due again when that is over. After three quarters of the lease an effect's context
// ends, and one that does not return then counts as failed.
//
// Each effect name has lanes of its own, so what hangs or fails under one name delays
// none of another. Within a name, deliveries that were not tried yet go before those
// that were. See WithDelivery.
//
// Deliver returns when all that was due at its begin is done. Meanwhile it takes what
// becomes due. Of that, and after an error of the store, some effects may still run when
// it returns. Its context is theirs, and the next call of Deliver counts them. A call
// whose context has ended waits for them.
func (m *Machine[R]) Deliver(ctx context.Context) (int, error) {
	if err := m.alone("Deliver"); err != nil {
		return 0, err
	}
	m.compare(ctx)
	if m.recovers && m.started.Load() != started {
		return 0, fmt.Errorf("deliver %s: call Startup first: recovery runs before delivery", m.schema.Machine)
	}
	r := m.rounds.take()
	if r == nil {
		r = &round[R]{m: m, done: make(chan delivered), lanes: map[string]*lane{}}
	}
	r.call++
	r.begin, r.own, r.performed, r.failed = m.now(), 0, 0, nil
	err := r.run(ctx)
	if ctx.Err() != nil {
		err = errors.Join(err, r.rest())
		for other := m.rounds.take(); other != nil; other = m.rounds.take() {
			other.call, other.performed, other.failed = other.call+1, 0, nil
			err = errors.Join(err, other.rest())
			r.performed += other.performed
			r.failed = append(r.failed, other.failed...)
		}
	}
	if r.running > 0 {
		m.rounds.put(r)
	}
	return r.performed, errors.Join(append(r.failed, err)...)
}

// claim takes at most as many deliveries that are due of each effect as free says.
func (m *Machine[R]) claim(ctx context.Context, now time.Time, free map[string]int) (batch []driver.Delivery, err error) {
	until := time.Time{}
	u := m.unit(nil, "", "")
	u.lost = func(err error) error { return &AmbiguousError{Machine: m.schema.Machine, Err: err} }
	u.try = func(tx driver.Tx, _ bool) error {
		batch, until = nil, m.notBefore(now).Add(m.options.lease)
		for _, name := range slices.Sorted(maps.Keys(free)) {
			list, err := tx.Claim(name, now, until, free[name])
			if err != nil {
				return err
			}
			batch = append(batch, list...)
		}
		return nil
	}
	u.find = func(r driver.Reader) (bool, error) { return claimed(r, batch, until) }
	if err := m.run(ctx, u); err != nil {
		return nil, err
	}
	return batch, nil
}

// notBefore returns the clock's time, or that one where the clock was set back: else
// a round would find what it has postponed due again and again.
func (m *Machine[R]) notBefore(begin time.Time) time.Time {
	if now := m.now(); now.After(begin) {
		return now
	}
	return begin
}

// claimed reports whether a claim whose answer was lost has landed. It was one transaction: the first
// delivery that is still there speaks for all.
func claimed(r driver.Reader, batch []driver.Delivery, until time.Time) (bool, error) {
	for _, d := range batch {
		now, err := r.Delivery(d.ID, d.Rev, d.N)
		if errors.Is(err, driver.ErrNotFound) { // its record has left the state, or another program has performed it
			continue
		}
		return now.Attempts == d.Attempts && now.Due.Equal(until), err
	}
	return false, nil
}

// perform performs one effect that was claimed. performed is true when it ran and
// all that follows was written. Any error but an *EffectError is one of the store,
// or the context's. begin is when the round began.
func (m *Machine[R]) perform(ctx context.Context, d driver.Delivery, begin time.Time) (performed bool, err error) {
	job, err := m.delivery(ctx, d)
	if err != nil {
		m.release(ctx, d)
		return false, err
	}
	if job.obsolete {
		m.ends.forget(d)
		if err := m.settle(ctx, d, nil, ""); err != nil && !errors.Is(err, ErrOvertaken) {
			return false, err
		}
		return false, nil
	}
	cause, again := job.err, time.Time{}
	if cause == nil {
		if job.effect.Spent(d.Attempts - 1) {
			return false, m.giveUp(ctx, d, begin, &job, lastError(d))
		}
		again, cause = m.inTime(ctx, d, job)
	}
	ends := job.err == nil && (job.effect.Spent(d.Attempts) || job.effect.Failed != "" && gives(cause))
	if !ends { // it has given up no more
		m.ends.forget(d)
	}
	if cause == nil {
		err := m.settle(ctx, d, &job, "")
		for wait := m.options.lease / 64; ends && unsaid(err) && wait < m.options.lease/2; wait *= 2 {
			select { // it is performed, and no try is left to say so
			case <-ctx.Done():
			case <-time.After(wait):
				err = m.settle(ctx, d, &job, "")
			}
		}
		if err == nil {
			m.ends.forget(d)
			return true, nil
		}
		if errors.Is(err, ErrOvertaken) || errors.Is(err, ErrMovedOn) {
			m.ends.forget(d)
			return false, m.failure(d, err)
		}
		if ofStore(err) {
			m.release(ctx, d)
			return false, err
		}
		cause = err // what follows is refused, or its own effect failed: tell and try again later
	}
	if ctx.Err() != nil { // interrupted is not failed
		if again.IsZero() { // the effect has returned; while it runs on, it keeps its lease
			m.release(ctx, d)
		}
		return false, ctx.Err()
	}
	if ends && again.IsZero() { // one that runs on has its lease; then it has no try left
		return false, m.giveUp(ctx, d, begin, &job, cause)
	}
	due := m.dueAgain(d, begin)
	if due.Before(again) {
		due = again
	}
	if later := (*LaterError)(nil); errors.As(cause, &later) && later.Until.After(due) {
		due = driver.Time(later.Until)
	}
	return false, m.postpone(ctx, d, due, shortText(cause.Error()), cause)
}

// dueAgain is when a delivery that failed is due again.
func (m *Machine[R]) dueAgain(d driver.Delivery, begin time.Time) time.Time {
	return m.notBefore(begin).Add(m.wait(d.Attempts - 1))
}

// postpone lets a delivery wait that failed for a cause, of which the text is stored.
func (m *Machine[R]) postpone(ctx context.Context, d driver.Delivery, due time.Time, text string, cause error) error {
	err := m.table.Update(ctx, func(tx driver.Tx) error {
		_, err := tx.Postpone(d.ID, d.Rev, d.N, d.Attempts, due, text)
		return err
	})
	if err != nil {
		// The cause is told, not wrapped: it may hold an *EffectError of its own,
		// and this is an error of the store.
		return fmt.Errorf("postpone effect %s of %q after %s: %w", d.Effect, d.ID, cause.Error(), err)
	}
	return m.failure(d, cause)
}

func (m *Machine[R]) failure(d driver.Delivery, cause error) *EffectError {
	return &EffectError{Machine: m.schema.Machine, ID: d.ID, Effect: d.Effect, Key: d.Key, Rev: d.Rev, Err: cause}
}

// ErrOvertaken is the failure of an effect that was performed when its lease was
// over and somebody else had claimed it: it is performed once more.
var ErrOvertaken = errors.New("the effect took longer than its lease, and was claimed by another delivery")

// ErrMovedOn is the failure of an effect that was performed while its record left the
// revision that asked for it: what follows the effect is not recorded, and the
// effect is not due again.
var ErrMovedOn = errors.New("the effect was performed, but its record has moved on meanwhile: what follows it was not recorded")

// ErrTooSlow is the failure of an effect that did not return in its time, and the
// cause of the end of its context.
var ErrTooSlow = errors.New("the effect did not return within its part of the lease")

// inTime runs an effect for its part of the lease. A panic is its failure. One that
// goes on after the end of its context is left alone: its failure is ErrTooSlow, and
// it is not due before its lease is over.
func (m *Machine[R]) inTime(ctx context.Context, d driver.Delivery, job deliveryJob[R]) (again time.Time, cause error) {
	lease := m.options.lease
	ctx, cancel := context.WithTimeoutCause(ctx, lease/4*3, ErrTooSlow)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		returned := false
		defer func() {
			if !returned {
				result <- &PanicError{Value: recover(), Stack: debug.Stack()}
			}
		}()
		err := m.effect(ctx, nil, job.op, job.effect, job.rec, d.Key, job.event)
		returned = true
		result <- err
	}()
	select {
	case err := <-result:
		return again, err
	case <-ctx.Done():
	}
	patience := time.NewTimer(lease / 8) // for an effect that heeds its context
	defer patience.Stop()
	select {
	case err := <-result:
		return again, err
	case <-patience.C:
		return d.Due, context.Cause(ctx)
	}
}

// release gives a delivery back that was claimed and not tried, or is not known to
// be settled. If that fails too, the end of the lease does it.
func (m *Machine[R]) release(ctx context.Context, d driver.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.options.lease/8)
	defer cancel()
	_ = m.table.Update(ctx, func(tx driver.Tx) error {
		_, err := tx.Postpone(d.ID, d.Rev, d.N, d.Attempts, m.now(), d.LastError)
		return err
	})
}

// LaterError is what an effect returns that was told when to come again: it is not
// tried before Until, however soon WithBackoff would have it. How far off that may
// be is for the effect to bound; nothing else does.
type LaterError struct {
	Until time.Time
	Err   error
}

// Error says what went wrong, and until when the effect waits.
func (e *LaterError) Error() string {
	return fmt.Sprintf("%v; not before %s", e.Err, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns what went wrong.
func (e *LaterError) Unwrap() error { return e.Err }

// wait returns how long a delivery waits after one more failure.
func (m *Machine[R]) wait(attempts int) time.Duration {
	d := m.options.backoff
	for range attempts {
		if d *= 2; d >= m.options.longest {
			return m.options.longest
		}
	}
	return d
}

// deliveryJob is what is needed to perform a delivery.
type deliveryJob[R any] struct {
	op       *fsmimpl.Operation[R]
	effect   *fsmimpl.EffectInfo[R]
	rec      R // as of the delivery's revision
	event    driver.Event
	obsolete bool
	err      error // why it cannot be performed
}

// delivery reads what a delivery is about.
func (m *Machine[R]) delivery(ctx context.Context, d driver.Delivery) (deliveryJob[R], error) {
	var job deliveryJob[R]
	err := m.table.View(ctx, func(r driver.Reader) error {
		row, err := r.Row(d.ID)
		if errors.Is(err, driver.ErrNotFound) {
			job.obsolete = true
			return nil
		}
		if err != nil {
			return err
		}
		for e, err := range r.Events(d.ID, d.Rev) {
			if err != nil {
				return err
			}
			job.event = e
			break
		}
		job.op = m.byStored[job.event.Operation]
		if job.op != nil {
			job.effect = job.op.Ask(func(e *fsmimpl.EffectInfo[R]) bool { return !e.Atomic && e.Name == d.Effect })
		}
		if job.event.Rev != d.Rev || job.effect == nil {
			job.err = fmt.Errorf("no operation of this specification has the effect %s at revision %d", d.Effect, d.Rev)
			return nil
		}
		if job.effect.Waits() {
			job.obsolete = row.Rev != d.Rev
			if !job.obsolete { // what follows needs a sound record, or the effect would be repeated without end
				job.rec, job.err = m.load(m.byName[cmp.Or(job.effect.Then, job.effect.Failed)], &row)
			}
			return nil
		}
		if row.Rev != d.Rev {
			if row, _, err = inspect.RowAt(m.schema, r, d.ID, d.Rev, nil); err != nil {
				job.err = err
				return nil
			}
		}
		job.rec, job.err = m.d.Decode(row)
		return nil
	})
	return job, err
}

// settle removes a delivery and, with a job whose effect has one, takes the step of
// `then` or, with the problem of an effect that gave up, of `failed`, in one transaction.
// It returns ErrOvertaken where the delivery was no longer the caller's, and ErrMovedOn
// where the record had left the delivery's revision.
func (m *Machine[R]) settle(ctx context.Context, d driver.Delivery, job *deliveryJob[R], problem string) error {
	step := ""
	switch {
	case job == nil:
	case problem != "":
		step = job.effect.Failed
	default:
		step = job.effect.Then
	}
	if step == "" {
		return m.remove(ctx, d, job != nil && job.effect.Waits())
	}
	next := m.byName[step]
	requestID := systemID(next, d.Rev)
	call := Observed{Operation: next.Name, ID: d.ID, RequestID: requestID, Actor: driver.SystemActor, Calls: 1}
	_, err := m.rung(watched(ctx, m, call, func(ctx context.Context) (Outcome[R], error) {
		out, err := m.settleThen(ctx, d, job.op, next, requestID, problem)
		if problem != "" && ctx.Err() == nil { // before an observer is told
			m.ends.note(d, err, m.now())
		}
		return out, err
	}, seenOne))
	return err
}

// remove removes a delivery that nothing follows. One that waits goes with its revision.
func (m *Machine[R]) remove(ctx context.Context, d driver.Delivery, waits bool) error {
	held, gone := false, false
	err := m.table.Update(ctx, func(tx driver.Tx) error {
		gone = false
		if waits {
			row, err := tx.Row(d.ID)
			if err != nil && !errors.Is(err, driver.ErrNotFound) {
				return err
			}
			gone = err != nil || row.Rev != d.Rev
		}
		var err error
		held, err = tx.Settle(d.ID, d.Rev, d.N, d.Attempts)
		return err
	})
	if err == nil && !held && !gone {
		err = ErrOvertaken
	}
	return err
}

// settleThen is settle for an effect of op that next follows, for the problem when it gave up. It returns the outcome of what
// followed, without events where an earlier try had done it. The record is locked
// before the delivery, as by every write.
func (m *Machine[R]) settleThen(
	ctx context.Context, d driver.Delivery, op, next *fsmimpl.Operation[R], requestID, problem string,
) (out Outcome[R], err error) {
	var instead error // why nothing follows
	u := m.unit(next, d.ID, requestID)
	u.try = func(tx driver.Tx, _ bool) error {
		instead, out = nil, Outcome[R]{}
		row, gone := tx.Row(d.ID)
		if gone != nil && !errors.Is(gone, driver.ErrNotFound) {
			return gone
		}
		held, err := tx.Settle(d.ID, d.Rev, d.N, d.Attempts)
		if err != nil {
			return err
		}
		if gone != nil || row.Rev != d.Rev { // it has moved on, which took the delivery along
			instead = ErrMovedOn
			if !held {
				known, err := tx.Request(d.ID, requestID)
				if len(known) > 0 { // another delivery took the step
					instead = ErrOvertaken
				}
				return err
			}
			return nil
		}
		if !held {
			instead = ErrOvertaken
			return nil
		}
		rec, err := m.load(next, &row)
		if err != nil {
			return err
		}
		if len(next.Recorded) > 0 { // a trigger may have asked for the step at this revision, and it was recorded only
			if known, err := tx.Request(d.ID, requestID); err != nil || len(known) > 0 {
				return err
			}
		}
		at := m.now()
		return m.planning(ctx, func(ctx context.Context) error {
			s, err := m.thenStep(ctx, tx, op, next, &row, rec, origin{event: driver.Event{At: at, RequestID: requestID}, problem: problem})
			if err != nil {
				return err
			}
			last, events, err := m.follow(ctx, tx, s, at, origin{})
			if err == nil {
				out = m.outcome(last.rec, &last.row, events...)
			}
			return err
		})
	}
	u.find = func(r driver.Reader) (bool, error) {
		known, err := r.Request(d.ID, requestID)
		if len(known) > 0 {
			instead = nil
		}
		return len(known) > 0, err
	}
	if err := m.run(ctx, u); err != nil {
		return out, err
	}
	return out, instead
}

// shortText makes a text that every store takes out of an error's.
func shortText(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "�"), "�")
	if len(s) <= 1000 {
		return s
	}
	s = s[:1000]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
