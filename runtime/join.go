package fsm

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Joined is a transaction of the caller's own, in the store of a machine: what
// Machine.In works in. Join makes one of the store's own kind. For another kind, such
// as one of another driver for the same database, a program fills it in.
type Joined struct {
	Store driver.Store
	// Adopt returns the transaction as the store's one for a machine.
	Adopt func(ctx context.Context, s *driver.Schema) (driver.Tx, error)
	// Foreign says that it is of another kind than the store's own. A machine with
	// atomic effects refuses it, since these take the store's own kind.
	Foreign bool
}

// Join names a transaction that the caller has begun in a store and will commit
// or roll back: a *sql.Tx of a store over database/sql, a *memstore.Tx.
func Join[T any](store driver.Transactional[T], tx T) Joined {
	return Joined{Store: store, Adopt: func(ctx context.Context, s *driver.Schema) (driver.Tx, error) { return store.Adopt(ctx, s, tx) }}
}

// ErrJoined is what a joined machine answers to what cannot be part of a
// transaction, such as Sweep.
var ErrJoined = errors.New("not within a transaction of the caller's own")

// joined is the transaction that a machine works in.
type joined struct {
	tx     driver.Tx
	now    *call.Now
	around context.Context // of In
	left   left            // for others, once it is committed
}

// In returns the machine within a transaction of the caller's own. What it
// writes stands when the caller commits, with all that the caller writes there,
// or not at all. What it reads is what the transaction sees. It is for one
// goroutine and of no use after the end of the transaction.
//
// THE CALLER OWNS THE COMMIT, and with it three duties that Apply has otherwise:
//
//   - Look at Outcome.Replayed (and Existing). When it is set, the call was done
//     by an earlier transaction, and so was what the caller does beside it: it
//     must not be done again.
//   - An error of the commit is ambiguous: it may have happened. Make the same
//     transaction again, with the same request ids; what was done is replayed.
//     A call without a request id cannot be found again.
//   - An error takes back what its call wrote, and nothing else: after a *Refusal
//     the transaction may go on. Roll it back after ErrBusy, and make it again; and
//     after an error of the store, as of a lost connection.
//
// The caller may set savepoints, release them and go back to them between calls, in
// any order: nothing of a call stays open.
//
// Do not decide by List, Count or a group what you write: another transaction may change
// those records before yours commits. Move a counter in one record instead; in an atomic
// effect such reads are refused (ErrUnlocked).
//
// An effect function that runs in the machine's own transaction (atomic: true)
// has none of these; prefer it where it serves. Nothing is run again here, so
// two transactions that meet are told ErrBusy or ErrStale.
func (m *Machine[R]) In(ctx context.Context, tx Joined) (*Machine[R], error) {
	if err := m.unbatched("In"); err != nil {
		return nil, err
	}
	switch {
	case m.joined != nil:
		return nil, fmt.Errorf("%s: the machine is already in a transaction: %w", m.schema.Machine, ErrJoined)
	case tx.Adopt == nil:
		return nil, fmt.Errorf("%s: no transaction was given; expected one made by Join", m.schema.Machine)
	case reflect.TypeOf(m.store).Comparable() && tx.Store != m.store:
		return nil, fmt.Errorf("%s: the transaction is one of another store than the machine's", m.schema.Machine)
	}
	for _, op := range m.d.Operations {
		effect := op.Ask(func(e *fsmimpl.EffectInfo[R]) bool { return e.Atomic })
		if tx.Foreign && effect != nil {
			return nil, fmt.Errorf("%s: the effect %s of %s takes part in the store's own kind of transaction; hand in one of that kind",
				m.schema.Machine, effect.Name, op.Name)
		}
	}
	now := &call.Now{Context: ctx}
	adopted, err := tx.Adopt(now, m.schema)
	if err != nil {
		return nil, err
	}
	now.Context = context.WithoutCancel(ctx)
	in := m.shared()
	in.table, in.joined = joinedTable{m.table, adopted, now}, &joined{tx: adopted, now: now, around: context.WithoutCancel(ctx)}
	return in, nil
}

// runJoined does the work once, in the caller's transaction.
func (m *Machine[R]) runJoined(ctx context.Context, u unit) error {
	defer m.joined.now.During(ctx)()
	if u.joins && u.fast != nil {
		if slow, err := u.fast(); !slow {
			return err
		}
	}
	tx := m.joined.tx
	err := tx.Part(func() error { return u.try(tx, false) })
	if err == nil {
		return nil
	}
	var over *passedOver
	if errors.As(err, &over) { // Pick would go on with another record for ever
		err = over.err
	}
	return u.blame(err)
}

// alone refuses what runs transactions of its own.
func (m *Machine[R]) alone(what string) error {
	if err := m.unbatched(what); err != nil {
		return err
	}
	if m.joined == nil {
		return nil
	}
	return fmt.Errorf("%s: %s runs transactions of its own: %w", m.schema.Machine, what, ErrJoined)
}

// joinedTable is a table within one transaction.
type joinedTable struct {
	driver.Table
	tx  driver.Tx
	now *call.Now
}

// Commit makes a write part of the transaction.
func (t joinedTable) Commit(_ context.Context, w *driver.Write) error { return t.tx.Write(w) }

// View reads what the transaction sees.
func (t joinedTable) View(ctx context.Context, f func(driver.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer t.now.During(ctx)()
	return f(t.tx)
}

// Look is View.
func (t joinedTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	return t.View(ctx, f)
}

// UpdateMany runs f in the transaction. Where that writes no more than one record at a
// time, f gets an error for an answer.
func (t joinedTable) UpdateMany(ctx context.Context, f func(driver.ManyTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	many, ok := t.tx.(driver.ManyTx)
	if !ok {
		return errOneByOne
	}
	return t.tx.Part(func() error { return f(many) })
}

var errOneByOne = errors.New("the transaction writes one record at a time")

// Update runs f in the transaction.
func (t joinedTable) Update(ctx context.Context, f func(driver.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer t.now.During(ctx)()
	return f(t.tx)
}
