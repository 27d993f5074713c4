package enginetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// What a generated file with adapters names.
type (
	// Engine is what of an opened machine the suites call, besides its operations.
	Engine[R any] = world.Engine[R]
	// Ways are further ways to call one operation.
	Ways[R any] = world.Ways[R]
	// Find is how the suites reach a look-up.
	Find[R any] = world.Find[R]
	// Holding is what a handle shows of its record.
	Holding[R any] = world.Holding[R]
)

// Working is how workers are made.
type Working[R any] struct {
	Pick, Beat string // the operations that claim and keep alive
	Deadline   string // the field that both set; empty when it is counted from updated_at
	New        func(actor string, o worker.Options, do Work[R]) (*worker.Worker[R], error)
}

// Work is what a worker is told to do with what it holds; nil for what it is not told.
type Work[R any] struct {
	Do      func(context.Context, *fsm.Held[R]) error
	Release func(context.Context, R) error
	Failed  func(context.Context, R, error) error
}

// Join adapts the method In of a machine.
func Join[M any](in func(context.Context, fsm.Joined) (*M, error)) func(context.Context, fsm.Joined) (any, error) {
	return func(ctx context.Context, tx fsm.Joined) (any, error) {
		m, err := in(ctx, tx)
		if m == nil {
			return nil, err
		}
		return m, err
	}
}

// Batch adapts the method Batch of a machine.
func Batch[M, R any](
	batch func(context.Context, func(*M) error) ([]fsm.Outcome[R], error),
) func(context.Context, func(any) error) ([]fsm.Outcome[R], error) {
	return func(ctx context.Context, collect func(any) error) ([]fsm.Outcome[R], error) {
		return batch(ctx, func(m *M) error { return collect(m) })
	}
}

// OneRecord is what a look-up over unique fields answers, as one that has pages.
func OneRecord[R any](r R, err error) ([]R, fsm.Page, error) {
	if errors.Is(err, fsm.ErrNotFound) {
		return nil, fsm.Page{}, nil
	}
	return []R{r}, fsm.Page{}, err
}

// All returns the values with these names.
func All[T fmt.Stringer](values []T, names []string) []T {
	var list []T
	for _, name := range names {
		list = append(list, fsmcases.Named(values, name))
	}
	return list
}

// ByName returns counts by the names of what was counted.
func ByName[T interface {
	comparable
	fmt.Stringer
}](counts map[T]int64, err error) (map[string]int64, error) {
	named := map[string]int64{}
	for v, n := range counts {
		named[v.String()] = n
	}
	return named, err
}
