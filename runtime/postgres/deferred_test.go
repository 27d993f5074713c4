package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// What the schema refuses at the commit only, after the server has counted the
// rows of the statement, is refused: alone and among others, who get theirs.
func TestRefusedAtTheCommit(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	store, err := postgres.Open(t.Context(), pgtest.DSN(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	tab, err := store.Table(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(id, operation string) *driver.Write {
		t.Helper()
		out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "a"}))
		if err != nil {
			t.Fatal(err)
		}
		next := out.Record
		next.State, next.Rev = "held", 2
		next.Holder, next.Due = fsm.Some("ann"), fsm.Some(time.Now().UTC().Truncate(time.Microsecond))
		before, row := storetest.Encode(&out.Record), storetest.Encode(&next)
		w := &driver.Write{Prev: out.Record.Ref(), PrevState: "waiting", Row: &row}
		for i := range row.Values {
			if row.Values[i] != before.Values[i] {
				w.Changed = append(w.Changed, i)
			}
		}
		w.Event = fsm.Event{ID: id, Rev: 2, Operation: operation, Name: operation, From: "waiting", To: "held", At: row.UpdatedAt, Actor: "ann",
			RequestN: -1, Fingerprint: "f", Inputs: fsm.MustJSON("{}"), Changes: fsm.MustJSON("{}"), Version: 1}
		for e, err := range m.History(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			w.Event.Sum = -driver.Chained(e.Chain, &w.Event) // the chain becomes 0, so that the triggers look
		}
		return w
	}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, fsm.ErrInvariant) {
			t.Errorf("got %v, want that the schema refuses the event", err)
		}
	}
	refused(tab.Commit(t.Context(), hold("alone", "send")))
	refused(tab.Update(t.Context(), func(tx fsm.Tx) error { return tx.Write(hold("inside", "send")) }))
	const callers = 40
	writes, errs := make([]*driver.Write, callers), make([]error, callers)
	for i := range writes {
		writes[i] = hold(fmt.Sprintf("p%02d", i), map[bool]string{true: "send", false: "hold"}[i%10 == 3])
	}
	var group sync.WaitGroup
	for i, w := range writes {
		group.Go(func() { errs[i] = tab.Commit(t.Context(), w) })
	}
	group.Wait()
	for i, err := range errs {
		if i%10 == 3 {
			refused(err)
		} else if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	err = tab.View(t.Context(), func(r driver.Reader) error {
		n, err := r.Count(driver.Query{States: []string{"held"}})
		if n != callers-callers/10 {
			t.Errorf("%d parcels are held, want %d", n, callers-callers/10)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
