package world

import (
	"context"
	"iter"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Durable is one generated machine, opened on a store: everything goes by the methods of the
// generated package.
type Durable[R any] struct {
	Do   func(ctx context.Context, operation string, at fsm.Target, c fsmcases.Call) (fsm.Outcome[R], error)
	Core *fsm.Machine[R]
	*Engine[R]

	on func(machine any) *Durable[R]
}

// extended is a machine as the suites reach it.
func extended[R any](d *fsmcases.Durable[R], engine func(machine any) *Engine[R]) *Durable[R] {
	return &Durable[R]{
		Do: d.Do, Core: d.Core, Engine: engine(d.Machine),
		on: func(machine any) *Durable[R] { return extended(d.On(machine), engine) },
	}
}

// Engine is what of an opened machine the suites call, besides its operations.
type Engine[R any] struct {
	Operations map[string]Ways[R] // by operation; without those that are not exported
	Record     func(ctx context.Context, id string) (R, error)
	List       func(ctx context.Context, states ...string) iter.Seq2[R, error] // by their names
	Count      func(ctx context.Context, states ...string) (map[string]int64, error)
	History    func(ctx context.Context, id string) iter.Seq2[fsm.Event, error]
	Probes     func(answer func(name string) (bool, error)) []fsmimpl.Probe[R] // nil without probes
	Sweep      func(ctx context.Context) (int, error)                          // nil when no trigger waits for a time
	Startup    func(ctx context.Context) (int, error)                          // nil when nothing runs at startup
	Deliver    func(ctx context.Context) (int, error)                          // nil without effects that are delivered
	Lookups    map[string]Find[R]                                              // by name; the inputs are the values of the fields
	// Batch makes the calls that collect makes, all or none.
	Batch func(ctx context.Context, collect func(machine any) error) ([]fsm.Outcome[R], error)
	// Join is the machine within a transaction of the caller's own.
	Join func(ctx context.Context, tx fsm.Joined) (machine any, err error)
	// Hold makes a handle of a record; nil for a machine without handles.
	Hold func(r R, actor string) Holding[R]
	// Bare opens the machine without its effects; nil for a machine without any.
	Bare func(ctx context.Context, store fsm.Store) error
	// Worker is an *enginetest.Working; nil for a machine that no workers run over.
	Worker any
}

// Find is how the suites reach a look-up: the values of its fields are the inputs of c.
type Find[R any] func(ctx context.Context, c fsmcases.Call, p fsm.Page) ([]R, fsm.Page, error)

// Holding is what a handle shows of its record.
type Holding[R any] struct {
	State  string // whose type the handle has
	Handle *fsm.Held[R]
	Record R
	Ref    fsm.Ref
	Target fsm.Target      // the handle itself; nil in a state without handles
	Fields map[string]bool // of each method that gives a field: whether it gives the record's value
}

// Ways are further ways to call one operation, besides Do.
type Ways[R any] struct {
	Pick func(ctx context.Context, n int, c fsmcases.Call) ([]fsm.Outcome[R], error) // with `next`; n 0 is the form for one; with `each`, n says nothing
	// Enter makes or picks by the machine as an actor has it; n 0 is the form for one.
	Enter func(ctx context.Context, n int, c fsmcases.Call) ([]fsm.Outcome[R], error)
	// Held calls by a handle, as the actor of which the call is made. End is the
	// state whose type the result has, or "recorded".
	Held func(ctx context.Context, h *fsm.Held[R], c fsmcases.Call) (out fsm.Outcome[R], end string, err error)
}

// Many makes calls in one transaction.
func (d *Durable[R]) Many(ctx context.Context, calls []interp.Call) ([]fsm.Outcome[R], error) {
	return d.Batch(ctx, func(machine any) error {
		in := d.on(machine)
		for _, c := range calls {
			if _, err := in.Do(ctx, c.Op.Name, Target(c), Sent(c)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Target is the record that a call names; nil where it makes one, or the store picks.
func Target(c interp.Call) fsm.Target {
	if len(c.Op.Creates) > 0 || c.ID == "" {
		return nil
	}
	return fsm.Ref{ID: c.ID, Rev: c.ExpectedRev}
}

// In is the machine within a transaction of the caller's own.
func (d *Durable[R]) In(ctx context.Context, tx fsm.Joined) (*Durable[R], error) {
	machine, err := d.Join(ctx, tx)
	if machine == nil {
		return nil, err
	}
	return d.on(machine), err
}
