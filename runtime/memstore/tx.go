package memstore

import (
	"context"
	"errors"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Tx is a transaction of a Store: what an atomic effect gets. It is for one
// goroutine.
type Tx struct {
	store *Store
	undo  []func()
	done  bool
}

// Put sets a value of the caller's own in the transaction; nil removes it. It
// stands for the tables that an application keeps beside the machine's.
func (tx *Tx) Put(key string, value any) {
	old, had := tx.store.values[key]
	tx.later(func() {
		if had {
			tx.store.values[key] = old
		} else {
			delete(tx.store.values, key)
		}
	})
	if value == nil {
		delete(tx.store.values, key)
		return
	}
	tx.store.values[key] = value
}

// Value returns what Put has put under key.
func (tx *Tx) Value(key string) any { return tx.store.values[key] }

// Commit makes the transaction stand, unless ctx has ended: then it is rolled back.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.done {
		return errors.New("memstore: the transaction has ended")
	}
	err := ctx.Err()
	wrote := len(tx.undo) > 0
	if err == nil && wrote {
		err = tx.store.fault(BeforeCommit)
	}
	if err != nil {
		tx.Rollback()
		return err
	}
	tx.undo = nil
	tx.end()
	if wrote {
		if err := tx.store.fault(AfterCommit); err != nil {
			return &fsm.AmbiguousError{Err: err}
		}
	}
	return nil
}

// Rollback takes everything back. After Commit it does nothing.
func (tx *Tx) Rollback() {
	if tx.done {
		return
	}
	tx.back(0)
	tx.end()
}

// back takes the changes back that were made since there were n.
func (tx *Tx) back(n int) {
	for i := len(tx.undo) - 1; i >= n; i-- {
		tx.undo[i]()
	}
	tx.undo = tx.undo[:n]
}

func (tx *Tx) end() {
	tx.done = true
	tx.store.release()
}

// later notes how to take back the change that is made next.
func (tx *Tx) later(undo func()) { tx.undo = append(tx.undo, undo) }
