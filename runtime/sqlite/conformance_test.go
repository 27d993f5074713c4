package sqlite_test

import (
	"path/filepath"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"full", "checks"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(tb testing.TB) fsm.Store {
				return open(tb, filepath.Join(tb.TempDir(), "store.db"), sqlite.WithEnforce(level))
			}, storetest.WithSQL(generated(t, "parcel")))
		})
	}
}
