package fsmcases

import (
	"context"
	"fmt"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Durable is one generated machine, opened on a store.
type Durable[R any] struct {
	// Do makes a call on the record that at names. Where at is nil it makes a record, or
	// lets the machine pick one. A *NotOfferedError says that there is no such method.
	Do      func(ctx context.Context, operation string, at fsm.Target, c Call) (fsm.Outcome[R], error)
	Record  func(ctx context.Context, id string) (R, error)
	Startup func(ctx context.Context) (int, error)
	Deliver func(ctx context.Context) (int, error)

	Core    *fsm.Machine[R]
	Machine any                           // of the package's own type
	On      func(machine any) *Durable[R] // the same for another one of that type
}

// NotOfferedError says that a package has no method for an operation.
type NotOfferedError struct{ Operation string }

func (e *NotOfferedError) Error() string { return "the package offers no " + e.Operation }

// Opened makes what a test file's Open returns: the machine whose operations call calls.
func Opened[M, R any](
	core func(M) *fsm.Machine[R],
	call func(context.Context, M, string, fsm.Target, Call) (fsm.Outcome[R], error),
) func(M, error) (*Durable[R], error) {
	var over func(machine any) *Durable[R]
	over = func(machine any) *Durable[R] {
		m := machine.(M)
		engine := core(m)
		return &Durable[R]{
			Do: func(ctx context.Context, operation string, at fsm.Target, c Call) (fsm.Outcome[R], error) {
				return call(ctx, m, operation, at, c)
			},
			Record: engine.Record, Startup: engine.Startup, Deliver: engine.Deliver,
			Core: engine, Machine: m, On: over,
		}
	}
	return func(m M, err error) (*Durable[R], error) {
		if err != nil {
			return nil, err
		}
		return over(m), nil
	}
}

// One returns the outcome of a call on each that fits, where one record does.
func One[R any](outs []fsm.Outcome[R], err error) (fsm.Outcome[R], error) {
	switch {
	case err != nil:
		return fsm.Outcome[R]{}, err
	case len(outs) != 1:
		return fsm.Outcome[R]{}, fmt.Errorf("%d records took the step, want one", len(outs))
	}
	return outs[0], nil
}
