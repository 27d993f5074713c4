package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// The triggers that an older fsmgen made refuse an import, and Migrate replaces them.
func TestOldTriggersRefuseImports(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), pgtest.DSN(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	schema := storetest.Schema()
	now := parcelSQL(t)["postgres"]
	before := strings.Replace(now, `IF NEW."_chain" = 0 AND NEW."state" NOT IN`, `IF NEW."state" NOT IN`, 1)
	for i, text := range []string{before, now} {
		schema.SQL = map[string]string{"postgres": text}
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
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
