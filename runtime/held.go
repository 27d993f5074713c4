package fsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Held is one record in the hands of one actor: the generated handles, a type
// per state, are made of it. It carries the revision along and makes the
// request ids: one for each operation of a handle, so that a call that is made
// again because its answer was lost replays. Any number of goroutines may use
// it; its calls run one after another, so a heartbeat and the end of the work
// do not make each other stale. A nil Held is empty, and its calls are refused.
//
// The methods that begin with Engine are for generated code.
type Held[R any] struct {
	machine *Machine[R]
	actor   string
	turn    chan struct{} // holds one token while a call runs

	mu   sync.Mutex
	out  Outcome[R]
	key  string           // what the request ids at this revision begin with; empty before the first
	open *fsmimpl.Call[R] // an EngineStay whose outcome is not known
	next *Held[R]         // what an EngineMove led to
}

// Hold returns a record as the actor holds it. It asks nothing of the store:
// whether the record is still so, and the actor may act, is what each operation
// finds out.
func (m *Machine[R]) Hold(rec R, actor string) *Held[R] {
	row := m.d.Encode(&rec)
	return m.HoldOutcome(m.outcome(rec, &row), actor)
}

// HoldOutcome is Hold for what a call led to.
func (m *Machine[R]) HoldOutcome(out Outcome[R], actor string) *Held[R] {
	return &Held[R]{machine: m, actor: actor, turn: make(chan struct{}, 1), out: out}
}

// Outcome returns what led to the record as it is held now: the newest call of
// this handle, or the one that the handle came from.
//
//go:noinline
func (h *Held[R]) Outcome() Outcome[R] {
	if h == nil {
		return Outcome[R]{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out
}

// Record returns the record as it is held now.
//
//go:noinline
func (h *Held[R]) Record() R { return h.Outcome().Record }

// Ref returns id and revision of the record as it is held now.
//
//go:noinline
func (h *Held[R]) Ref() driver.Ref { return h.Outcome().Ref() }

// Actor returns who holds the record.
func (h *Held[R]) Actor() string {
	if h == nil {
		return ""
	}
	return h.actor
}

// EngineCall returns what a handle says of a call of its own: the actor, and over it what
// the caller has given, of several values the last.
func (h *Held[R]) EngineCall(given []Call) Call { return said(h.Actor(), given) }

// EngineCall is what is said of a call by which an actor makes or picks a record. A call
// without a request id gets a new one.
func (m *Machine[R]) EngineCall(actor string, given []Call) Call {
	c := said(actor, given)
	if c.RequestID == "" && m.schema.RequestID != driver.Never {
		c.RequestID = driver.NewID()
	}
	return c
}

func said(actor string, given []Call) Call {
	all := Call{Actor: actor}
	for _, c := range given {
		all.RequestID = cmp.Or(c.RequestID, all.RequestID)
		all.Actor = cmp.Or(c.Actor, all.Actor)
		all.Reason = cmp.Or(c.Reason, all.Reason)
		if !c.At.IsZero() {
			all.At = c.At
		}
		if c.Labels != nil {
			all.Labels = c.Labels
		}
	}
	return all
}

// EngineNewest returns the handle that the moves of this one have led to; itself when
// there was none.
func (h *Held[R]) EngineNewest() *Held[R] {
	for h != nil {
		h.mu.Lock()
		next := h.next
		h.mu.Unlock()
		if next == nil {
			break
		}
		h = next
	}
	return h
}

// EngineMisfit is the answer where a record is in a state that a handle's type is not for.
func (h *Held[R]) EngineMisfit() error {
	if h == nil || h.machine == nil {
		return errEmpty
	}
	rec := h.Record()
	row, s := h.machine.d.Encode(&rec), h.machine.schema
	return fmt.Errorf("%s %q is in state %q, for which this call returns no handle; read it again", s.Machine, row.ID, s.StateName(row.State))
}

// errEmpty is the answer of a handle that nobody made.
var errEmpty = errors.New("the handle is empty; expected one that an operation or Hold has returned")

// EngineMove makes a call that leads to another handle. This one stays as it is, and
// the same call once more replays. A call without a request id has the handle's.
func (h *Held[R]) EngineMove(ctx context.Context, c fsmimpl.Call[R]) (*Held[R], error) {
	if h == nil {
		return nil, errEmpty
	}
	if err := h.begin(ctx); err != nil {
		return nil, err
	}
	defer h.end()
	if err := h.settle(ctx); err != nil {
		return nil, err
	}
	out, err := h.apply(ctx, c)
	if err != nil {
		return nil, err
	}
	next := h.machine.HoldOutcome(out, h.actor)
	h.mu.Lock()
	h.next = next
	h.mu.Unlock()
	return next, nil
}

// EngineStay makes a call that leaves the record in its state. The handle holds the
// new revision afterwards. A call whose outcome is unknown is made again before
// the next one, so that the handle knows its revision.
func (h *Held[R]) EngineStay(ctx context.Context, c fsmimpl.Call[R]) error {
	if h == nil {
		return errEmpty
	}
	if err := h.begin(ctx); err != nil {
		return err
	}
	defer h.end()
	if err := h.settle(ctx); err != nil {
		return err
	}
	return h.stay(ctx, c)
}

// begin waits for the handle's turn, which end gives back.
func (h *Held[R]) begin(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for another call of the same handle: %w", context.Cause(ctx))
	}
}

func (h *Held[R]) end() { <-h.turn }

// settle finds out what became of a call whose outcome is not known.
func (h *Held[R]) settle(ctx context.Context) error {
	if h.open == nil {
		return nil
	}
	if err := h.stay(ctx, *h.open); err != nil && h.open != nil {
		return err
	}
	return nil // it was applied, or is refused: the next call will tell whether the revision is right
}

// stay is Stay when nothing is open but the call itself.
func (h *Held[R]) stay(ctx context.Context, c fsmimpl.Call[R]) error {
	out, err := h.apply(ctx, c)
	if err != nil {
		h.open = nil
		if !unapplied(err) {
			h.open = &c
		}
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.out, h.key, h.open = out, "", nil
	return nil
}

// apply makes a call, under the handle's request id for it unless it has one. The turn is
// the call's, so what the handle holds stays as it is.
func (h *Held[R]) apply(ctx context.Context, c fsmimpl.Call[R]) (Outcome[R], error) {
	if c.RequestID == "" && h.machine.schema.RequestID != driver.Never {
		if h.key == "" {
			h.key = driver.NewID()
		}
		c.RequestID = h.key + "." + c.Operation.Stored
	}
	var at fsmimpl.Target = h
	if h.machine.batch != nil { // which makes the call when the turn is over
		at = h.Outcome()
	}
	out, err := h.machine.Apply(ctx, at, c)
	if err == nil && out.RecordOnly && !c.Operation.Leads() {
		was, d := h.Outcome(), h.machine.d
		from, to := d.Encode(&was.Record).State, d.Encode(&out.Record).State
		if from != to && !slices.Contains(c.Operation.Moves, fsmimpl.Move{From: from, To: to}) {
			return out, &RecordedError{
				Machine: h.machine.schema.Machine, ID: was.ref.ID, Operation: c.Operation.Name,
				Rev: out.ref.Rev, State: h.machine.schema.StateName(to),
			}
		}
	}
	return out, err
}

// RecordedError is the answer of a handle whose record has gone on, to a state that
// its call does not lead to and in which it is recorded only. The call stands in the
// log and has changed nothing. It is an ErrStale: the handle is of no use any more.
type RecordedError struct {
	Machine, ID, Operation string
	Rev                    int64 // of the record
	State                  string
}

// Error names the call and where the record is.
func (e *RecordedError) Error() string {
	return fmt.Sprintf("%s %q: %s: recorded only: %v, to state %s at revision %d", e.Machine, e.ID, e.Operation, ErrStale, e.State, e.Rev)
}

// Is reports whether target is ErrStale.
func (e *RecordedError) Is(target error) bool { return target == ErrStale }

// InState returns the machine, and the name of the state that the record has gone on to.
func (e *RecordedError) InState() (machine, state string) { return e.Machine, e.State }

// Retry returns ReadAgain.
func (e *RecordedError) Retry() Retry { return ReadAgain }

// unapplied reports whether an error says that the call has surely changed nothing.
func unapplied(err error) bool {
	var refused *Refusal
	var recorded *RecordedError
	return !errors.Is(err, ErrAmbiguous) && (errors.As(err, &refused) || errors.As(err, &recorded) || errors.Is(err, ErrBusy))
}
