package world

import (
	"context"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Store is a store that the durable form is tested over, with the transactions of a caller.
type Store struct {
	Name string
	Open func(t *testing.T) fsm.Store
	// Shared opens an empty store too, and says how a caller begins a transaction of its own
	// in it; nil where nobody can.
	Shared func(t *testing.T) (fsm.Store, Begin)
}

// Memory is the store in memory, over which every generated package is tested.
var Memory = Store{fsmcases.Memory.Name, fsmcases.Memory.Open, sharedMemory}

// Tx is a transaction that a caller has begun by itself.
type Tx struct {
	Joined   fsm.Joined
	Commit   func() error
	Rollback func() error
}

// Begin begins a transaction of the caller's own in a store.
type Begin func(ctx context.Context) (Tx, error)

func sharedMemory(t *testing.T) (fsm.Store, Begin) {
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	return store, func(ctx context.Context) (Tx, error) {
		tx, err := store.Begin(ctx)
		if err != nil {
			return Tx{}, err
		}
		return Tx{
			Joined:   fsm.Join(store, tx),
			Commit:   func() error { return tx.Commit(ctx) },
			Rollback: func() error { tx.Rollback(); return nil },
		}, nil
	}
}
