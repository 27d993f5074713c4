package sqlite_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// The triggers that an older fsmgen made refuse an import, and Migrate replaces them.
func TestOldTriggersRefuseImports(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "store.db"))
	schema := storetest.Schema()
	schema.SQL = generated(t, "parcel")
	now := schema.SQL["sqlite"]
	before := regexp.MustCompile(`\n +AND NOT EXISTS [^\n]*'__import'[^\n]*`).ReplaceAllString(now, ";")
	for i, text := range []string{before, now} {
		schema.SQL["sqlite"] = text
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		m, err := joinParcels(t, store)
		if err != nil {
			t.Fatal(err)
		}
		p := storetest.Parcel{ID: "p1", State: "shelved", Lane: "a", Slot: fsm.Some("s")}
		_, err = m.Import(t.Context(), p, fsm.Call{Actor: "ann", Reason: "moves in"})
		if refused := errors.Is(err, fsm.ErrInvariant); refused != (i == 0) || i == 1 && err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}
