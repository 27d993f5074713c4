package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// ErrLost stands in the cause of the end of a work's context when the record is not the
// worker's any more. The cause is a *LostError.
var ErrLost = errors.New("the worker no longer holds the record")

// Why a record was lost: one of them stands in each *LostError.
var (
	// ErrMoved: it has left the states that the worker keeps alive; it was cancelled, or
	// the sweeper took it.
	ErrMoved = errors.New("it has left the state of the work")
	// ErrTaken: it is in such a state, but not as this worker left it. Another
	// worker has it, or somebody changed it in place.
	ErrTaken = errors.New("somebody else has taken or changed it")
	// ErrLeaseOver: nobody is known to have it, but the time of the lease is over.
	ErrLeaseOver = errors.New("its lease ended before the store gave an answer")
)

// LostError says that a record is not the worker's any more, and who has moved it.
type LostError struct {
	Machine   string
	ID        string
	Why       error  // ErrMoved, ErrTaken or ErrLeaseOver
	State     string // where the record is now, by its name in the specification; empty when not known
	Operation string // of the last call that changed it, as State
	Actor     string // of that call
	Err       error  // what the worker was answered; nil when there was no answer
}

// Error says what became of the record: "cancelled by ann: cancel".
func (e *LostError) Error() string {
	text := ErrLost.Error() + ": " + e.Why.Error()
	if e.State != "" {
		text += "; " + e.State + e.by()
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// by says who has moved the record.
func (e *LostError) by() string {
	if e.Operation == "" {
		return ""
	}
	return fmt.Sprintf(" by %s: %s", cmp.Or(e.Actor, "nobody named"), e.Operation)
}

// InState returns the machine, and the name of the state in which the record is now.
func (e *LostError) InState() (machine, state string) { return e.Machine, e.State }

// Unwrap returns ErrLost, why, and what the worker was answered.
func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Why, e.Err} }

// kind tells a move that somebody wanted from a loss.
func (e *LostError) kind() Kind {
	if errors.Is(e.Why, ErrMoved) && e.Operation != "" && e.Actor != driver.SystemActor {
		return Cancelled
	}
	return Lost
}

// fate is what became of a record since its worker last knew it.
type fate[R any] struct {
	h     *fsm.Held[R] // the record as the worker holds it, where it does
	ended bool         // the worker's own actor has ended its stay
	lost  *LostError   // it is not the worker's any more; nil while it is
	last  *LostError   // the last change
}

// fate reads what became of a record since a handle knew it. What the worker's own actor
// has done by other means than the handle, such as in a transaction of its own, is the
// worker's.
func (w *Worker[R]) fate(ctx context.Context, h *fsm.Held[R]) (fate[R], error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	at, d := h.Ref(), w.machine.Descriptor()
	var f fate[R]
	err := w.machine.Engine().Table.View(ctx, func(r driver.Reader) error {
		last := &LostError{Machine: d.Schema.Machine, ID: at.ID, Why: ErrMoved}
		f = fate[R]{h: h, last: last}
		row, err := r.Row(at.ID)
		if errors.Is(err, driver.ErrNotFound) { // it was purged
			last.Err, f.lost = err, last
			return nil
		}
		if err != nil {
			return err
		}
		rec, err := d.Decode(row)
		if err != nil {
			return err
		}
		last.State = d.Schema.StateName(row.State)
		if row.Rev == at.Rev {
			return nil
		}
		if w.do.Holds(&rec) {
			last.Why = ErrTaken
		}
		mine, foreign := true, false
		for e, err := range r.Events(at.ID, at.Rev+1) {
			if err != nil {
				return err
			}
			if e.RecordOnly() {
				continue
			}
			if e.Cause == "" { // else it follows from the call before
				last.Actor, last.Operation = e.Actor, w.operation(e.Operation)
				mine = e.Actor == w.actor
			}
			foreign = foreign || !mine
			then := row
			then.State = e.To
			if there, err := d.Decode(then); err != nil {
				return err
			} else if !foreign && !w.do.Holds(&there) {
				f.ended = true
				return nil
			}
		}
		if foreign {
			f.lost = last
			return nil
		}
		f.h = w.machine.Hold(rec, w.actor)
		return nil
	})
	return f, err
}

// lost looks what became of a record that was refused to its worker; nil where the worker
// itself has ended its stay.
func (w *Worker[R]) lost(ctx context.Context, h *fsm.Held[R], refused error) *LostError {
	f, err := w.fate(ctx, h)
	switch {
	case err != nil:
		return &LostError{Machine: w.machine.Schema().Machine, ID: h.Ref().ID, Why: ErrMoved, Err: refused}
	case f.ended:
		return nil
	case f.lost == nil: // its own actor has changed it by other means, or a rule refuses
		f.last.Why = ErrTaken
	}
	f.last.Err = refused
	return f.last
}

// leaseOver says that the time of a lease is over.
func (w *Worker[R]) leaseOver(id string, err error) *LostError {
	return &LostError{Machine: w.machine.Schema().Machine, ID: id, Why: ErrLeaseOver, Err: err}
}

// operation returns the name of an operation in the specification, by its stored word.
func (w *Worker[R]) operation(stored string) string {
	for _, op := range w.machine.Descriptor().Operations {
		if op.Stored == stored {
			return op.Name
		}
	}
	return stored
}

// refusedForGood reports whether an error says that the record has gone on
// without its holder.
func refusedForGood(err error) bool {
	var refused *fsm.Refusal
	var recorded *fsm.RecordedError
	passing := errors.Is(err, fsm.ErrAmbiguous) || errors.Is(err, fsm.ErrBusy) || errors.Is(err, fsm.ErrFull)
	return !passing && (errors.As(err, &refused) || errors.As(err, &recorded))
}
