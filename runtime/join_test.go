package fsm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// listed is a store that cannot be compared.
type listed struct {
	*memstore.Store
	_ []int
}

// In says what is wrong with the transaction that it is given.
func TestInRefuses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, other := newStore(), newStore()
	m := open(t, store, storetest.Schema(), fixed())
	open(t, other, storetest.Schema(), fixed()) // both hold the machine
	in := func(store *memstore.Store) *memstore.Tx {
		tx, err := store.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tx.Rollback)
		return tx
	}
	own, strange := in(store), in(other)
	for words, tx := range map[string]fsm.Joined{
		"no transaction was given": {},
		"one of another store":     fsm.Join(other, strange),
		"store's own kind of trans": {Store: store, Foreign: true, Adopt: func(ctx context.Context, s *driver.Schema) (fsm.Tx, error) {
			return store.Adopt(ctx, s, own)
		}},
	} {
		if joined, err := m.In(ctx, tx); joined != nil || err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, %v; want an error with %q", joined, err, words)
		}
	}
	if _, err := m.In(ctx, fsm.Join(store, own)); err != nil {
		t.Errorf("a transaction of its own store: %v", err)
	}
}

// plainly opens the machine without its atomic effect, which takes every kind of
// transaction.
func plainly(t *testing.T, store fsm.Store) *machine {
	t.Helper()
	open(t, store, storetest.Schema(), fixed())
	plain := *storetest.Descriptor(storetest.Schema())
	plain.Operations = slices.DeleteFunc(slices.Clone(plain.Operations), func(op *fsmimpl.Operation[storetest.Parcel]) bool {
		return op.MayAsk(true)
	})
	m, err := fsm.NewMachine(t.Context(), store, &plain, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// joinedBy joins a transaction of the store, as another one that hook makes of it.
func joinedBy(t *testing.T, m *machine, store *memstore.Store, hook func(fsm.Tx) fsm.Tx) *machine {
	t.Helper()
	tx, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Rollback)
	joined, err := m.In(t.Context(), fsm.Joined{Store: store, Foreign: true, Adopt: func(ctx context.Context, s *driver.Schema) (fsm.Tx, error) {
		adopted, err := store.Adopt(ctx, s, tx)
		return hook(adopted), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// A transaction of another kind does for a machine whose effects are delivered.
func TestInByAnotherKind(t *testing.T) {
	t.Parallel()
	store := newStore()
	joined := joinedBy(t, plainly(t, store), store, func(tx fsm.Tx) fsm.Tx { return tx })
	must(t)(joined.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
}

// A pick in a caller's transaction cannot take back what it wrote for one record
// and go on with the next: its caller hears why that one was refused.
func TestPickInATransaction(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := plainly(t, store)
	waiting(t, m, "p1", "p2")
	joined := joinedBy(t, m, store, func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, write: func(*driver.Write) error { return &driver.ConflictError{Rule: "one_per_slot"} }}
	})
	_, err := joined.Pick(t.Context(), 1, storetest.Hold(meta(""), "a", start))
	if !errors.Is(err, storetest.ErrSlotTaken) || errors.Is(err, fsm.ErrJoined) {
		t.Errorf("got %v, want ErrSlotTaken", err)
	}
	if _, err := joined.Pick(t.Context(), 1, storetest.Hold(meta(""), "a", start)); !errors.Is(err, storetest.ErrSlotTaken) {
		t.Errorf("the next call: %v, want ErrSlotTaken", err)
	}
}

// A store that cannot be compared is taken at its word.
func TestInOfAStoreThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	store := listed{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	tx, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	joined, err := m.In(t.Context(), fsm.Join[*memstore.Tx](store, tx))
	if err != nil {
		t.Fatal(err)
	}
	must(t)(joined.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
}

// A call that failed half done is taken back, and the transaction goes on.
func TestCallAfterOneThatFailed(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := plainly(t, store)
	p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	failed := errors.New("no room")
	joined := joinedBy(t, m, store, func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, write: func(w *driver.Write) error {
			if w.Prev.ID == "p1" {
				return tx.Write(w)
			}
			return failed
		}}
	})
	if _, err := joined.Create(t.Context(), storetest.Register(meta("r"), in("p2"))); !errors.Is(err, failed) {
		t.Fatalf("got %v, want the error of the write", err)
	}
	must(t)(joined.Apply(t.Context(), p, note("s", "x")))
}
