package fsm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// spoiled makes a held parcel lose its holder in the store.
func spoiled(t *testing.T, store *memstore.Store, held outcome) {
	t.Helper()
	bad := held.Record
	bad.Rev++
	bad.Holder = fsm.Optional[string]{}
	row := storetest.Encode(&bad)
	table, err := store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	w := &driver.Write{Prev: held.Ref(), PrevState: bad.State, Row: &row, Event: held.Events[0]}
	w.Event.Rev, w.Event.RequestID = bad.Rev, ""
	if err := table.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// A record that recovery cannot load is reported, and the effects of all others
// are delivered.
func TestQuarantineDoesNotHoldUpDelivery(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, storetest.Schema(), fixed())
	dispatched(t, m, nil)
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p2"))))
	sent := must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p3"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s3", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	spoiled(t, store, sent)

	var delivered []string
	again, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
			delivered = append(delivered, p.ID)
			return nil
		}), fixed())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Startup(t.Context()); !errors.Is(err, fsm.ErrQuarantined) {
		t.Errorf("Startup: %v, want ErrQuarantined", err)
	}
	if _, err := again.Deliver(t.Context()); err != nil || len(delivered) != 1 || delivered[0] != "p3" {
		t.Errorf("delivered %v, %v, want p3", delivered, err)
	}
}

// An effect whose record cannot be loaded is not performed: what follows it
// would be refused, so that it would be repeated for ever.
func TestQuarantineKeepsTheEffect(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	quarantined := false
	d := storetest.Descriptor(storetest.Schema())
	d.Check = func(p *storetest.Parcel) []fsm.Violation {
		if quarantined {
			return []fsm.Violation{{Rule: "sound", Must: true}}
		}
		return storetest.Check(p)
	}
	performed := 0
	m, err := fsm.NewMachine(t.Context(), store, d, effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { performed++; return nil }), fixed())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	quarantined = true
	if n, err := m.Deliver(t.Context()); n != 0 || performed != 0 || !errors.Is(err, fsm.ErrQuarantined) {
		t.Errorf("delivered %d, performed %d, %v, want nothing and ErrQuarantined", n, performed, err)
	}
}

// A clock that is set back does not make one round of delivery repeat a failing
// effect.
func TestClockSetBackWhileDelivering(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	now, tries := start, 0
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
			tries++
			now = start.Add(-24 * time.Hour)
			if tries > 3 {
				return nil
			}
			return errLost
		}), fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	if n, err := m.Deliver(t.Context()); n != 0 || tries != 1 || !errors.Is(err, errLost) {
		t.Errorf("delivered %d in %d tries, %v, want one failed try", n, tries, err)
	}
}

// A sweep tells of an atomic effect that fails because another machine refuses.
func TestSweepTellsOfEffects(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{{Name: "charge", Atomic: true}}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
			return &fsm.Refusal{Code: fsm.ErrGuard, Machine: "other", Guard: "solvent"}
		}), fixed())
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	if n, err := m.Sweep(t.Context()); n != 0 || !errors.Is(err, fsm.ErrEffect) {
		t.Errorf("swept %d, %v, want the effect's error", n, err)
	}
}

// An effect that ends the engine's transaction is told so, and what it took back
// is not followed by anything.
func TestEffectEndsTheTransaction(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(tx *memstore.Tx) error{
		"commit":   func(tx *memstore.Tx) error { return tx.Commit(context.Background()) },
		"rollback": func(tx *memstore.Tx) error { tx.Rollback(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore()
			open(t, store, storetest.Schema())
			ends := true
			m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
				func(_ context.Context, tx fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
					if ends {
						return end(store.Transaction(tx))
					}
					return nil
				}), fixed())
			if err != nil {
				t.Fatal(err)
			}
			out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
			if _, err := m.Apply(t.Context(), out, storetest.Bill(meta("r"))); !errors.Is(err, fsm.ErrEffect) {
				t.Errorf("got %v, want an error of the effect", err)
			}
			ends = false
			again := must(t)(m.Apply(t.Context(), out, storetest.Bill(meta("r"))))
			if again.Record.Rev != 2 || again.Replayed != (name == "commit") {
				t.Errorf("the same call again: %+v", again)
			}
			if list := findings(t, m); list != nil {
				t.Errorf("audit: %v", list)
			}
		})
	}
}
