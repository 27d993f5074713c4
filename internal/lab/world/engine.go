package world

import (
	"context"
	"iter"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Durable is one generated machine, opened on a store: everything goes by the methods of the
// generated package.
type Durable[R any] struct {
	Do   func(ctx context.Context, operation string, at fsm.Target, c oracle.Call) (fsm.Outcome[R], error)
	Core *fsm.Machine[R]
	*Engine[R]

	on func(machine any) *Durable[R]
}

// extended is a machine as the suites reach it. Without an engine, which only our own suites
// have, what is no operation goes by the core.
func extended[R any](d *oracle.Durable[R], engine func(machine any) *Engine[R]) *Durable[R] {
	e := &Engine[R]{
		Record: d.Core.Record, History: d.Core.History, Sweep: d.Core.Sweep, Startup: d.Core.Startup, Deliver: d.Core.Deliver,
	}
	if engine != nil {
		e = engine(d.Machine)
	}
	return &Durable[R]{
		Do: d.Do, Core: d.Core, Engine: e,
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
	Lookups    map[string]Find[R]                                              // by name
	// Batch makes the calls that collect makes, all or none.
	Batch func(ctx context.Context, collect func(machine any) error) ([]fsm.Outcome[R], error)
	// Join is the machine within a transaction of the caller's own.
	Join func(ctx context.Context, tx fsm.Joined) (machine any, err error)
	// Hold makes a handle of a record; nil for a machine without handles.
	Hold func(r R, actor string) Holding[R]
	// Bare opens the machine without its effects; nil for a machine without any.
	Bare func(ctx context.Context, store fsm.Store) error
	// Worker is an *enginetest.Working; nil for a machine that no workers run over. A user's
	// test does not know the type, so that it links no workers.
	Worker any
}

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
	Pick func(ctx context.Context, n int, c oracle.Call) ([]fsm.Outcome[R], error) // with `next`; n 0 is the form for one
	// Enter makes or picks by the machine as an actor has it; n 0 is the form for one.
	Enter func(ctx context.Context, n int, c oracle.Call) ([]fsm.Outcome[R], error)
	// Held calls by a handle, as the actor of which the call is made. End is the
	// state whose type the result has, or "recorded".
	Held func(ctx context.Context, h *fsm.Held[R], c oracle.Call) (out fsm.Outcome[R], end string, err error)
}

// Many makes one call on each target, or one creation for each call, in one transaction.
func (d *Durable[R]) Many(ctx context.Context, operation string, at []fsm.Target, calls []oracle.Call) ([]fsm.Outcome[R], error) {
	return d.Batch(ctx, func(machine any) error {
		in := d.on(machine)
		for i, c := range calls {
			if _, err := in.Do(ctx, operation, at[i], c); err != nil {
				return err
			}
		}
		return nil
	})
}

// In is the machine within a transaction of the caller's own.
func (d *Durable[R]) In(ctx context.Context, tx fsm.Joined) (*Durable[R], error) {
	machine, err := d.Join(ctx, tx)
	if machine == nil {
		return nil, err
	}
	return d.on(machine), err
}
