package fsmtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Tx is a transaction that a caller has begun by itself.
type Tx struct {
	Joined   fsm.Joined
	Commit   func() error
	Rollback func() error
}

// Begin begins a transaction of the caller's own in a store.
type Begin func(ctx context.Context) (Tx, error)

// BeginSQL begins transactions in a database, which must be the store's.
func BeginSQL(store driver.Transactional[*sql.Tx], db *sql.DB) Begin {
	return func(ctx context.Context) (Tx, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return Tx{}, err
		}
		return Tx{Joined: fsm.Join(store, tx), Commit: tx.Commit, Rollback: tx.Rollback}, nil
	}
}

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

// joined runs every operation within a transaction of the caller's own: what is
// done is seen there and nowhere else, is gone after a rollback, stands after a
// commit, and is found again by the same transaction made once more.
func (s *suite[R]) joined(t *testing.T, st Store) {
	if st.Shared == nil {
		t.Skip("the store has no transactions of a caller's own")
	}
	var begin Begin
	h := s.newHarness(t, Store{Name: st.Name, Open: func(t *testing.T) fsm.Store {
		store, b := st.Shared(t)
		begin = b
		return store
	}})
	// A machine that does not join waits for the caller's transaction for ever.
	ctx, cancel := context.WithTimeout(h.ctx, 20*time.Second)
	defer cancel()
	h.ctx = ctx
	h.strangers(st)
	calls := h.joinable()
	alone := h.d
	for _, end := range []string{"rolled back", "committed", "made again"} {
		what := "in a transaction that is " + end
		before, ran := h.w.clone(), len(h.fx.done())
		tx, err := begin(ctx)
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		t.Cleanup(func() { _ = tx.Rollback() }) // where the test fails
		if h.d, err = alone.In(ctx, tx.Joined); err != nil {
			t.Fatalf("In: %v", err)
		}
		h.notJoined(tx)
		for _, c := range calls {
			if end == "made again" && c.call.RequestID == "" && c.o.By != "system" {
				continue // nothing could be found again by
			}
			for _, again := range []string{"", ", again"} {
				if c.o.creates {
					h.create(what+again, c.o, c.call)
				} else {
					h.call(what+again, c.o, c.at, c.call)
				}
				if t.Failed() {
					t.Fatalf("the transaction ends at %s", c.o.Name)
				}
				if c.call.RequestID == "" && c.o.By != "system" {
					break
				}
			}
		}
		h.seen(what)
		h.unseen(what, before, alone)
		how := tx.Commit
		if end == "rolled back" {
			how, h.w, h.known = tx.Rollback, before, nil
			h.fx.settle(ran, 0)
		}
		if err := how(); err != nil {
			t.Fatalf("%s: its end: %v", what, err)
		}
		h.d = alone
		h.same("after a transaction that is " + end)
	}
	s.durableCount++
}

// strangers offers what is no transaction of the machine's store.
func (h *harness[R]) strangers(st Store) {
	h.t.Helper()
	if d, err := h.d.In(h.ctx, fsm.Joined{}); err == nil || d != nil {
		h.t.Errorf("In without a transaction: %v, want an error and no machine", err)
	}
	store, begin := st.Shared(h.t)
	if err := h.s.d.Migrate(h.ctx, store); err != nil { // it holds the machine too
		h.t.Fatalf("Migrate: %v", err)
	}
	tx, err := begin(h.ctx)
	if err != nil {
		h.t.Fatalf("begin: %v", err)
	}
	defer func() { _ = tx.Rollback() }()
	if d, err := h.d.In(h.ctx, tx.Joined); err == nil || d != nil {
		h.t.Errorf("In with a transaction of another store: %v, want an error and no machine", err)
	}
}

// notJoined asks a joined machine for what runs transactions of its own.
func (h *harness[R]) notJoined(tx Tx) {
	h.t.Helper()
	if d, err := h.d.In(h.ctx, tx.Joined); !errors.Is(err, fsm.ErrJoined) || d != nil {
		h.t.Errorf("In of a joined machine: %v, want ErrJoined", err)
	}
	for name, call := range map[string]func(context.Context) (int, error){"Sweep": h.d.Sweep, "Startup": h.d.Startup, "Deliver": h.d.Deliver} {
		if call == nil {
			continue
		}
		if n, err := call(h.ctx); n != 0 || !errors.Is(err, fsm.ErrJoined) {
			h.t.Errorf("%s of a joined machine: %d, %v, want ErrJoined", name, n, err)
		}
	}
}

// joinedCall is one call of a caller's transaction.
type joinedCall struct {
	o    *operation
	at   fsm.Ref
	call Call
}

// joinable seeds a record for each operation, and returns the calls that can be
// made one after the other.
func (h *harness[R]) joinable() []joinedCall {
	h.t.Helper()
	var calls []joinedCall
	for i, o := range h.m.operations {
		c, ok := h.m.goodAlone(o)
		if !ok || !h.exported(o) {
			continue
		}
		c.row.ID = fmt.Sprintf("joined-%d", i+1)
		c.call.ID = c.row.ID
		if !h.m.apart(o, &c, i+1) && len(calls) > 0 {
			continue
		}
		if o.By == "system" {
			c.call.Reason = ""
		} else {
			c.call.RequestID = h.requestID()
		}
		if !o.creates {
			h.seed(c.row)
		}
		calls = append(calls, joinedCall{o, fsm.Ref{ID: c.row.ID, Rev: 1}, c.call})
	}
	trial := h.w.clone()
	return slices.DeleteFunc(calls, func(c joinedCall) bool {
		if c.o.creates {
			return trial.create(c.o, h.timed(c.call)).code != ""
		}
		return trial.call(c.o, c.at.ID, c.at.Rev, h.timed(c.call)).code != ""
	})
}

// seen reads everything back in the transaction.
func (h *harness[R]) seen(what string) {
	h.t.Helper()
	ids := map[string][]string{}
	for _, id := range sortedKeys(h.w.rows) {
		want := h.w.rows[id]
		r, err := h.d.Record(h.ctx, id)
		if err != nil {
			h.t.Errorf("%s: Record(%s): %v", what, id, err)
		} else if d := h.m.diffRows(want, h.s.d.Descriptor.Encode(&r)); d != "" {
			h.t.Errorf("%s: Record(%s): %s", what, id, d)
		}
		name := h.m.stateOf(want.State).Name
		ids[name] = append(ids[name], id)
		var events []fsm.Event
		for e, err := range h.d.History(h.ctx, id) {
			if err != nil {
				h.t.Fatalf("%s: History(%s): %v", what, id, err)
			}
			events = append(events, e)
		}
		h.sameLog(what, id, h.w.logs()[id], events)
	}
	var names []string
	for _, st := range h.m.stateOrder {
		names = append(names, st.Name)
	}
	h.listed(ids, nil, names)
}

// unseen reads from outside what the transaction has changed: as it was before,
// or not at all until the transaction ends.
func (h *harness[R]) unseen(what string, before *world, alone *Durable[R]) {
	h.t.Helper()
	for _, id := range sortedKeys(h.w.rows) {
		was, there := before.rows[id]
		if there && was.Rev == h.w.rows[id].Rev {
			continue
		}
		ctx, cancel := context.WithTimeout(h.ctx, 50*time.Millisecond)
		r, err := alone.Record(ctx, id)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return // the store makes everybody else wait
		case !there && errors.Is(err, fsm.ErrNotFound):
		case !there || err != nil:
			h.t.Errorf("%s: from outside Record(%s) is %v, %v; want what was there before", what, id, h.s.d.Descriptor.Encode(&r), err)
		default:
			if d := h.m.diffRows(was, h.s.d.Descriptor.Encode(&r)); d != "" {
				h.t.Errorf("%s: from outside: Record(%s): %s", what, id, d)
			}
		}
	}
}
