package fsm

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Observed is what an Observer is told when a call on a machine begins, a run of an
// effect, an audit, or a look at a clock or at the end of the log.
type Observed struct {
	Machine   string
	Operation string // by its name in the specification
	Effect    string // of the operation, by its name there: set when it is a run of the effect
	Audit     bool   // it is an audit of all records, without an operation
	Log       bool   // it looks at what the log holds back, without an operation
	Clock     bool   // it compares the clocks of the process and of the database, without an operation
	ID        string // of the record; empty where the engine picks it, makes it, or there are several
	RequestID string // of the caller; empty without one, and where there are several. Of an effect: its key
	Actor     string // empty without one, and where there are several
	Calls     int    // how many calls share the transaction: 1, more for the Many forms; 0 for anything else
}

// Observation is what an Observer is told at the end.
type Observation struct {
	// Events are those that the call wrote, in their order, which is none for a
	// call that was refused, replayed, or found what it would have made. They
	// must not be changed.
	Events []driver.Event
	// Replayed is how many of the calls were known: their first outcome was
	// returned and nothing written.
	Replayed int
	// Findings are how many findings of each check an audit had: of all checks, with 0
	// where nothing was found. It is nil for anything else, and for an audit that was ended early.
	Findings map[string]int64
	// Skew is how far the database's clock is ahead of the process's, where they were
	// compared: below zero it is behind, 0 where it is close enough.
	Skew time.Duration
	// Lag is the age of the oldest event that is committed and that Log and Watch hold back, and
	// HeldBy who has the transaction that they wait for; 0 and empty where nothing is held back.
	Lag    time.Duration
	HeldBy string
	// Err is the error that the caller gets.
	Err error
}

// Outcome says in a word how the call ended: "ok", "replayed", the code of a refusal ("stale"), or "error".
func (o *Observation) Outcome() string {
	var r *Refusal
	switch {
	case o.Err == nil && o.Replayed > 0 && len(o.Events) == 0:
		return "replayed"
	case o.Err == nil:
		return "ok"
	case errors.Is(o.Err, ErrAmbiguous):
		return string(ErrAmbiguous)
	case errors.Is(o.Err, ErrEffect):
		return string(ErrEffect)
	case errors.As(o.Err, &r):
		return string(r.Code)
	}
	return "error"
}

// Fault reports whether the operator has to know how the call ended: its answer was lost, an effect failed, the store
// does not serve, or a record is in quarantine. Other refusals are answers.
func (o *Observation) Fault() bool {
	switch Code(o.Outcome()) {
	case ErrAmbiguous, ErrEffect, ErrQuarantined, ErrSchemaMismatch, ErrDenied, ErrPoisoned, ErrFull, ErrBusy, "error":
		return true
	}
	return false
}

// Observer is told when a call begins and when it ends, for metrics and traces.
// The context that it returns is the one that the store and the effects get, so
// what they do can be seen as part of the call; it must come from the one that is
// handed in. The function may be nil. Both are called by the goroutine that
// calls, and what they cost it pays.
//
// Observed are Apply, Create, Pick, their Many and In forms, and so every
// generated method that makes a transition, each step that Sweep and Startup
// take, each run of an effect, and each audit; also what Log and Watch hold back, where
// they end, once a second at most.
type Observer func(ctx context.Context, call Observed) (context.Context, func(Observation))

// WithObserver sets an Observer. With several, the first is the outermost.
func WithObserver(o Observer) Option {
	return func(opt *options) {
		first := opt.observe
		if first == nil || o == nil {
			if o != nil {
				opt.observe = o
			}
			return
		}
		opt.observe = func(ctx context.Context, call Observed) (context.Context, func(Observation)) {
			ctx, outer := first(ctx, call)
			ctx, inner := o(ctx, call)
			return ctx, func(end Observation) {
				if inner != nil {
					inner(end)
				}
				if outer != nil {
					outer(end)
				}
			}
		}
	}
}

// errPanicked is what the observer hears of a call that did not return.
var errPanicked = errors.New("the call panicked")

// watched makes a call, under the eyes of the observer when there is one. seen says
// what came of it.
func watched[R, T any](ctx context.Context, m *Machine[R], call Observed, do func(context.Context) (T, error), seen func(T) Observation) (T, error) {
	if m.options.observe == nil {
		return do(ctx)
	}
	call.Machine = m.schema.Machine
	ctx, end := m.options.observe(ctx, call)
	if end == nil {
		return do(ctx)
	}
	last := Observation{Err: errPanicked}
	defer func() { end(last) }()
	out, err := do(ctx)
	last = Observation{Err: err}
	if err == nil {
		last = seen(out)
	}
	return out, err
}

// observed describes one call.
func observed[R any](c *fsmimpl.Call[R], id string) Observed {
	o := Observed{ID: id, RequestID: c.RequestID, Actor: c.Actor, Calls: 1}
	if c.Operation != nil {
		o.Operation = c.Operation.Name
	}
	return o
}

// observedMany describes n calls in one transaction by the first of them.
func observedMany[R any](c *fsmimpl.Call[R], n int) Observed {
	o := observed(c, "")
	o.RequestID, o.Actor, o.Calls = "", "", n
	return o
}

// seenOne and seenMany tell of calls that returned no error.
func seenOne[R any](out Outcome[R]) Observation { return seenMany([]Outcome[R]{out}) }

func seenMany[R any](outs []Outcome[R]) Observation {
	var o Observation
	for i := range outs {
		switch {
		case outs[i].Replayed:
			o.Replayed++
		case !outs[i].Existing:
			o.Events = append(o.Events, outs[i].Events...)
		}
	}
	return o
}

// effect runs an effect of a step.
func (m *Machine[R]) effect(
	ctx context.Context, tx driver.Tx, op *fsmimpl.Operation[R], effect *fsmimpl.EffectInfo[R], rec R, key string, e driver.Event,
) error {
	run := m.effects[effect.Name]
	call := Observed{Operation: op.Name, Effect: effect.Name, ID: e.ID, RequestID: key, Actor: e.Actor}
	_, err := watched(ctx, m, call, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, run(ctx, tx, rec, key, e)
	}, func(struct{}) Observation { return Observation{} })
	return err
}

// observeAudit tells the observer of an audit.
func (m *Machine[R]) observeAudit(ctx context.Context) (context.Context, func(map[string]int64, error)) {
	end := func(Observation) {}
	if m.options.observe != nil {
		inner, told := m.options.observe(ctx, Observed{Machine: m.schema.Machine, Audit: true})
		if ctx = inner; told != nil {
			end = told
		}
	}
	return ctx, func(found map[string]int64, err error) { end(Observation{Findings: found, Err: err}) }
}
