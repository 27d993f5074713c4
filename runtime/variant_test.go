package fsm_test

import (
	"context"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A machine without recovery delivers without it.
func TestDeliverWithoutRecovery(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) { op.Triggers = nil },
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil))
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Send(meta(""))))
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil {
		t.Errorf("%d effects were delivered, %v; want one, without Startup", n, err)
	}
}

// Values to look for a record by are of no use without a rule that finds it.
func TestDedupeWithoutItsRule(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	schema.Uniques = nil
	m := open(t, newStore(), schema)
	for _, id := range []string{"p1", "p2"} {
		input := in(id)
		input.Label = fsm.Some("same")
		call := storetest.Register(meta(""), input)
		call.Peers = func(*storetest.Parcel, string) []driver.PeerQuery { return nil } // so that it is no single write
		if out := must(t)(m.Create(t.Context(), call)); out.Existing || out.Record.ID != id {
			t.Errorf("got %+v, want a record %s", out, id)
		}
	}
}

// A system operation that is recorded only leaves the record at its revision,
// so the same call again is the same request.
func TestSystemOperationRecordedOnly(t *testing.T) {
	t.Parallel()
	store := newStore()
	var m *machine
	call := storetest.Release()
	call.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
		return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true}, nil
	}
	open(t, store, storetest.Schema())
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(ctx context.Context, tx fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
			for _, again := range []bool{false, true} {
				out, err := storetest.In(t, m, store, tx).Apply(ctx, fsm.Ref{ID: "p1"}, call)
				if err != nil || out.Replayed != again || !out.RecordOnly || out.Current != (fsm.Ref{ID: "p1", Rev: 1}) {
					t.Errorf("got %+v, %v; want it recorded, and Replayed %t", out, err, again)
				}
			}
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	other := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p2"))))
	must(t)(m.Apply(t.Context(), other, storetest.Bill(meta(""))))
	n := 0
	for _, err := range m.History(t.Context(), "p1") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("got %d events, want 2: the second call is the first", n)
	}
}
