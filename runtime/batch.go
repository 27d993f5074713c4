package fsm

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// batch holds the calls that Batch collects: creations, or calls on records.
type batch[R any] struct {
	made  []fsmimpl.Call[R]
	items []fsmimpl.Item[R]
	err   error // of the first call that cannot be part of it
}

// Batch makes all calls that collect makes on the machine it is given, in one
// transaction and in their order: all of them or none. It returns one outcome for
// each. The calls themselves return at once with a zero Outcome, since nothing is
// decided before collect returns; an error that collect returns ends the batch.
//
// A batch holds creations, or calls on records, and never both. A pick has its own
// form for many.
func (m *Machine[R]) Batch(ctx context.Context, collect func(*Machine[R]) error) ([]Outcome[R], error) {
	if m.batch != nil {
		return nil, m.unbatched("Batch")
	}
	in := m.shared()
	in.table, in.joined, in.batch = m.table, m.joined, &batch[R]{}
	b := in.batch
	if err := errors.Join(collect(in), b.err); err != nil {
		return nil, err
	}
	switch {
	case len(b.made) > 0 && len(b.items) > 0:
		return nil, fmt.Errorf("%s: a batch holds creations or calls on records, and this one both; make two", m.schema.Machine)
	case len(b.made) > 0:
		return m.CreateMany(ctx, b.made)
	}
	return m.ApplyMany(ctx, b.items)
}

// unbatched refuses what cannot be part of a batch.
func (m *Machine[R]) unbatched(what string) error {
	if m.batch == nil {
		return nil
	}
	err := fmt.Errorf("%s: %s cannot be part of a batch", m.schema.Machine, what)
	m.batch.err = errors.Join(m.batch.err, err)
	return err
}

// shared returns a machine that shares what does not depend on a transaction.
func (m *Machine[R]) shared() *Machine[R] {
	return &Machine[R]{
		d: m.d, schema: m.schema, store: m.store, effects: m.effects, options: m.options,
		byName: m.byName, byStored: m.byStored, indexed: m.indexed, worked: m.worked, leave: m.leave, recovers: m.recovers,
		quarantine: m.quarantine, health: m.health, skew: m.skew,
	}
}
