package fsm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Deliver performs the effects that are due and returns how many it performed.
// Each is performed at least once: a crash between the effect and the note that
// it was performed leads to another delivery with the same key. An effect that
// fails waits, longer each time, and holds back no other; its error is joined
// into the error at the end, inside an *EffectError. The step that `then` asks
// for is taken in the transaction that removes the delivery. Where there is
// one, a delivery whose record has left the revision meanwhile is dropped.
//
// Within one process no delivery is performed twice at a time; processes that
// deliver from one store may meet.
func (m *Machine[R]) Deliver(ctx context.Context) (int, error) {
	if err := m.alone("Deliver"); err != nil {
		return 0, err
	}
	if m.recovers && !m.started.Load() {
		return 0, fmt.Errorf("deliver %s: call Startup first: recovery runs before delivery", m.schema.Machine)
	}
	now := m.now()
	performed := 0
	var errs []error
	for {
		batch, err := m.claim(ctx, now)
		if err != nil {
			return performed, errors.Join(append(errs, err)...)
		}
		if len(batch) == 0 {
			return performed, errors.Join(errs...)
		}
		n, err := m.deliverAll(ctx, batch, now)
		performed += n
		errs = append(errs, err)
		var failed *EffectError
		if err != nil && !errors.As(err, &failed) {
			return performed, errors.Join(errs...)
		}
	}
}

// deliveryBatch is how many deliveries one goroutine takes at once, besides the
// places of those that others have in hand.
const deliveryBatch = 16

// claim reads due deliveries and takes those that no other goroutine of this
// process has. Reading and taking are one step: what another one has settled
// meanwhile is either still taken or no longer read.
func (m *Machine[R]) claim(ctx context.Context, now time.Time) (batch []Delivery, err error) {
	m.flight.Lock()
	defer m.flight.Unlock()
	limit := deliveryBatch + len(m.inFlight)
	err = m.table.View(ctx, func(r Reader) error {
		due, err := r.Outbox(now, limit)
		for _, d := range due {
			if !m.inFlight[Ref{d.ID, d.Rev}] {
				batch = append(batch, d)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, d := range batch {
		m.inFlight[Ref{d.ID, d.Rev}] = true
	}
	return batch, nil
}

// unclaim gives deliveries back.
func (m *Machine[R]) unclaim(batch ...Delivery) {
	m.flight.Lock()
	defer m.flight.Unlock()
	for _, d := range batch {
		delete(m.inFlight, Ref{d.ID, d.Rev})
	}
}

// deliverAll performs a batch. Its error joins the *EffectErrors; any other
// error ends it and comes alone. now is when the round began.
func (m *Machine[R]) deliverAll(ctx context.Context, batch []Delivery, now time.Time) (performed int, err error) {
	var errs []error
	for i, d := range batch {
		ok, err := m.deliver(ctx, d, batch[i:], now)
		if ok {
			performed++
		}
		var failed *EffectError
		if err != nil && !errors.As(err, &failed) {
			m.unclaim(batch[i:]...)
			return performed, err
		}
		m.unclaim(d)
		errs = append(errs, err)
	}
	return performed, errors.Join(errs...)
}

// deliver performs one effect. performed is true when it ran and all that
// follows was written. Any error but an *EffectError is one of the store. If
// the effect panics, the deliveries of rest are given back.
func (m *Machine[R]) deliver(ctx context.Context, d Delivery, rest []Delivery, now time.Time) (performed bool, err error) {
	returned := false
	defer func() {
		if !returned {
			m.unclaim(rest...)
		}
	}()
	performed, err = m.perform(ctx, d, now)
	returned = true
	return performed, err
}

func (m *Machine[R]) perform(ctx context.Context, d Delivery, now time.Time) (performed bool, err error) {
	job, err := m.delivery(ctx, d)
	if err != nil {
		return false, err
	}
	if job.obsolete {
		return false, m.settle(ctx, d, nil)
	}
	cause := job.err
	if cause == nil {
		cause = m.effect(ctx, nil, job.op, job.rec, d.Key, job.event)
	}
	if cause == nil {
		err := m.settle(ctx, d, job.op)
		if err == nil {
			return true, nil
		}
		var refused *Refusal
		var effect *EffectError
		if !errors.As(err, &effect) && (!errors.As(err, &refused) || refused.Code == CodeBusy) {
			return false, err
		}
		cause = err // what follows is refused, or its own effect failed: tell and try again later
	}
	due := m.now()
	if due.Before(now) {
		due = now // the clock went back: else this round would find it due again and again
	}
	due = due.Add(m.wait(d.Attempts))
	if later := (*LaterError)(nil); errors.As(cause, &later) && later.Until.After(due) {
		due = Time(later.Until)
	}
	err = m.table.Update(ctx, func(tx Tx) error { // not when ctx ended: interrupted is not failed, it stays due
		return tx.Postpone(d.ID, d.Rev, due, shortText(cause.Error()))
	})
	if err != nil {
		// The cause is told, not wrapped: it may hold an *EffectError of its own,
		// and this is an error of the store.
		return false, fmt.Errorf("postpone effect %s of %q after %s: %w", d.Effect, d.ID, cause.Error(), err)
	}
	return false, &EffectError{
		Machine: m.schema.Machine, ID: d.ID, Effect: d.Effect, Key: d.Key, Rev: d.Rev, Err: cause,
	}
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
	op       *Operation[R]
	rec      R // as of the delivery's revision
	event    Event
	obsolete bool
	err      error // why it cannot be performed
}

// delivery reads what a delivery is about.
func (m *Machine[R]) delivery(ctx context.Context, d Delivery) (deliveryJob[R], error) {
	var job deliveryJob[R]
	err := m.table.View(ctx, func(r Reader) error {
		row, err := r.Row(d.ID)
		if errors.Is(err, ErrNotFound) {
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
		if job.event.Rev != d.Rev || job.op == nil || job.op.Effect == nil || job.op.Effect.Name != d.Effect {
			job.err = fmt.Errorf("no operation of this specification has the effect %s at revision %d", d.Effect, d.Rev)
			return nil
		}
		if job.op.Then != "" {
			job.obsolete = row.Rev != d.Rev
			if !job.obsolete { // what follows needs a sound record, or the effect would be repeated for ever
				job.rec, job.err = m.load(m.byName[job.op.Then], &row)
			}
			return nil
		}
		if row.Rev != d.Rev {
			if row, _, err = m.rowAt(r, d.ID, d.Rev, nil); err != nil {
				job.err = err
				return nil
			}
		}
		job.rec, job.err = m.d.Decode(row)
		return nil
	})
	return job, err
}

// settle removes a delivery and, with an op that has one, takes the step of
// `then`, in one transaction.
func (m *Machine[R]) settle(ctx context.Context, d Delivery, op *Operation[R]) error {
	if op == nil || op.Then == "" {
		return m.table.Update(ctx, func(tx Tx) error { return tx.Settle(d.ID, d.Rev) })
	}
	next := m.byName[op.Then]
	requestID := systemID(next, d.Rev)
	if m.options.observe == nil {
		_, err := m.settleThen(ctx, d, op, next, requestID)
		return err
	}
	call := Observed{Operation: next.Name, ID: d.ID, RequestID: requestID, Actor: SystemActor, Calls: 1}
	_, err := watched(ctx, m, call, func(ctx context.Context) ([]Event, error) {
		return m.settleThen(ctx, d, op, next, requestID)
	}, func(events []Event) Observation { return Observation{Events: events} })
	return err
}

// settleThen is settle for an op with a `then`. It returns the events of what
// followed, none where the record has moved on or an earlier try had done it.
func (m *Machine[R]) settleThen(ctx context.Context, d Delivery, op, next *Operation[R], requestID string) ([]Event, error) {
	var events []Event
	u := m.unit(next, d.ID, requestID)
	u.try = func(tx Tx, _ bool) error {
		events = nil
		row, err := tx.Row(d.ID) // before its delivery, as everybody locks them
		if err := tx.Settle(d.ID, d.Rev); err != nil {
			return err
		}
		if errors.Is(err, ErrNotFound) || err == nil && row.Rev != d.Rev {
			return nil // it has moved on: what would follow has no place any more
		}
		if err != nil {
			return err
		}
		rec, err := m.load(next, &row)
		if err != nil {
			return err
		}
		at := m.now()
		s, err := m.thenStep(ctx, tx, op, &row, rec, origin{at: at, requestID: requestID})
		if err != nil {
			return err
		}
		_, events, err = m.follow(ctx, tx, s, at, false)
		return err
	}
	u.find = func(r Reader) (bool, error) {
		known, err := r.Request(d.ID, requestID)
		return len(known) > 0, err
	}
	err := m.run(ctx, u)
	return events, err
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
