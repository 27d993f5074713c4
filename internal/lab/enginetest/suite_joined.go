package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// joined runs every operation within a transaction of the caller's own: what is
// done is seen there and nowhere else, is gone after a rollback, stands after a
// commit, and is found again by the same transaction made once more.
func joined[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	if st.Shared == nil {
		t.Skip("the store has no transactions of a caller's own")
	}
	var begin world.Begin
	h := s.NewHarness(t, world.Store{Name: st.Name, Open: func(t *testing.T) fsm.Store {
		store, b := st.Shared(t)
		begin = b
		return store
	}})
	// A machine that does not join waits for the caller's transaction for ever.
	ctx, cancel := context.WithTimeout(h.Ctx, 20*time.Second)
	defer cancel()
	h.Ctx = ctx
	strangers(h, st)
	calls := joinable(h)
	alone := h.D
	for _, end := range []string{"rolled back", "committed", "made again"} {
		what := "in a transaction that is " + end
		before, ran := h.W.Clone(), len(h.Fx.Done())
		tx, err := begin(ctx)
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		t.Cleanup(func() { _ = tx.Rollback() }) // where the test fails
		if h.D, err = alone.In(ctx, tx.Joined); err != nil {
			t.Fatalf("In: %v", err)
		}
		notJoined(h, tx)
		for _, c := range calls {
			nameless := c.RequestID == "" && c.Op.By != spec.BySystem // nothing could be found again by
			if end == "made again" && nameless {
				continue
			}
			h.Call(what, c)
			if !nameless {
				h.Call(what+", again", c)
			}
			if t.Failed() {
				t.Fatalf("the transaction ends at %s", c.Op.Name)
			}
		}
		seen(h, what)
		unseen(h, what, before, alone)
		how := tx.Commit
		if end == "rolled back" {
			how, h.W, h.Known = tx.Rollback, before, nil
			h.Fx.Performed = h.Fx.Performed[:ran]
		}
		if err := how(); err != nil {
			t.Fatalf("%s: its end: %v", what, err)
		}
		h.D = alone
		h.Same("after a transaction that is " + end)
	}
	s.DurableCount++
}

// strangers offers what is no transaction of the machine's store.
func strangers[R any](h *world.Harness[R], st world.Store) {
	h.T.Helper()
	if d, err := h.D.In(h.Ctx, fsm.Joined{}); err == nil || d != nil {
		h.T.Errorf("In without a transaction: %v, want an error and no machine", err)
	}
	store, begin := st.Shared(h.T)
	if err := h.S.D.Migrate(h.Ctx, store); err != nil { // it holds the machine too
		h.T.Fatalf("Migrate: %v", err)
	}
	tx, err := begin(h.Ctx)
	if err != nil {
		h.T.Fatalf("begin: %v", err)
	}
	defer func() { _ = tx.Rollback() }()
	if d, err := h.D.In(h.Ctx, tx.Joined); err == nil || d != nil {
		h.T.Errorf("In with a transaction of another store: %v, want an error and no machine", err)
	}
}

// notJoined asks a joined machine for what runs transactions of its own.
func notJoined[R any](h *world.Harness[R], tx world.Tx) {
	h.T.Helper()
	if d, err := h.D.In(h.Ctx, tx.Joined); !errors.Is(err, fsm.ErrJoined) || d != nil {
		h.T.Errorf("In of a joined machine: %v, want ErrJoined", err)
	}
	for name, call := range map[string]func(context.Context) (int, error){"Sweep": h.D.Sweep, "Startup": h.D.Startup, "Deliver": h.D.Deliver} {
		if call == nil {
			continue
		}
		if n, err := call(h.Ctx); n != 0 || !errors.Is(err, fsm.ErrJoined) {
			h.T.Errorf("%s of a joined machine: %d, %v, want ErrJoined", name, n, err)
		}
	}
}

// joinable seeds a record for each operation, and returns the calls that can be
// made one after the other.
func joinable[R any](h *world.Harness[R]) []interp.Call {
	h.T.Helper()
	var calls []interp.Call
	for i, o := range h.M.Operations {
		c, ok := h.S.Cases.GoodAlone(o)
		if !ok || !exported(h.M, o) {
			continue
		}
		if call, ok := placed(h, c, fmt.Sprintf("joined-%d", i+1), fmt.Sprint(" #", i)); ok {
			calls = append(calls, call)
		}
	}
	trial := h.W.Clone()
	return slices.DeleteFunc(calls, func(c interp.Call) bool { return trial.Do(h.Timed(c)).Refusal != nil })
}

// seen reads everything back in the transaction.
func seen[R any](h *world.Harness[R], what string) {
	h.T.Helper()
	ids := map[string][]string{}
	for _, id := range sortedKeys(h.W.Records) {
		readBack(h, what, id)
		state := h.W.Records[id].State.Name
		ids[state] = append(ids[state], id)
	}
	var names []string
	for _, st := range h.M.States {
		names = append(names, st.Name)
	}
	listed(h, ids, nil, names)
}

// readBack reads a record and its log.
func readBack[R any](h *world.Harness[R], what, id string) {
	h.T.Helper()
	r, err := h.D.Record(h.Ctx, id)
	if err != nil {
		h.T.Errorf("%s: Record(%s): %v", what, id, err)
	} else if d := world.DiffRow(h.M, h.W.Records[id], h.S.D.Descriptor.Encode(&r)); d != "" {
		h.T.Errorf("%s: Record(%s): %s", what, id, d)
	}
	var events []fsm.Event
	for e, err := range h.D.History(h.Ctx, id) {
		if err != nil {
			h.T.Fatalf("%s: History(%s): %v", what, id, err)
		}
		events = append(events, e)
	}
	h.SameLog(what, id, events)
}

// unseen reads from outside what the transaction has changed: as it was before,
// or not at all until the transaction ends.
func unseen[R any](h *world.Harness[R], what string, before *world.World, alone *world.Durable[R]) {
	h.T.Helper()
	for _, id := range sortedKeys(h.W.Records) {
		was, there := before.Records[id]
		if there && was.Rev == h.W.Records[id].Rev {
			continue
		}
		ctx, cancel := context.WithTimeout(h.Ctx, 50*time.Millisecond)
		r, err := alone.Record(ctx, id)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return // the store makes everybody else wait
		case !there && errors.Is(err, fsm.ErrNotFound):
		case !there || err != nil:
			h.T.Errorf("%s: from outside Record(%s) is %v, %v; want what was there before", what, id, h.S.D.Descriptor.Encode(&r), err)
		default:
			if d := world.DiffRow(h.M, was, h.S.D.Descriptor.Encode(&r)); d != "" {
				h.T.Errorf("%s: from outside: Record(%s): %s", what, id, d)
			}
		}
	}
}
