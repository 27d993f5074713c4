package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// An effect that ends the engine's transaction is told so. The store goes on,
// and the same call finds out what there is.
func TestEffectEndsTheTransaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		end      func(*sql.Tx) error
		replayed bool
	}{
		{"rolled back and said nothing", func(tx *sql.Tx) error { return tx.Rollback() }, false},
		{"committed", func(tx *sql.Tx) error { return tx.Commit() }, true},
		{"rolled back and said so", func(tx *sql.Tx) error { return errors.Join(tx.Rollback(), errDisk) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := open(t, filepath.Join(t.TempDir(), "x.db"))
			schema := storetest.Schema()
			schema.SQL = generated(t, "parcel")
			if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
				t.Fatal(err)
			}
			ends := true
			effect := func(_ context.Context, tx fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
				if ends {
					return c.end(store.Transaction(tx))
				}
				return nil
			}
			m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema),
				map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": effect, "carry": effect, "notify": effect})
			if err != nil {
				t.Fatal(err)
			}
			out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: "p1", Lane: "a"}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Apply(t.Context(), out, storetest.Bill(storetest.Meta{RequestID: "r"})); !errors.Is(err, fsm.ErrEffect) {
				t.Errorf("got %v, want an error of the effect", err)
			}
			ends = false
			again, err := m.Apply(t.Context(), out, storetest.Bill(storetest.Meta{RequestID: "r"}))
			if err != nil || again.Record.Rev != 2 || again.Replayed != c.replayed {
				t.Errorf("the same call again: %+v, %v", again, err)
			}
			for f, err := range audit.Run(t.Context(), m) {
				t.Errorf("audit: %v, %v", f, err)
			}
		})
	}
}
