package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for i, level := range []string{"full", "checks"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			if i > 0 { // the generated tests run over it too
				campaign.Only(t)
			}
			storetest.Run(t, func(tb testing.TB) fsm.Store {
				return open(tb, filepath.Join(tb.TempDir(), "store.db"), sqlite.WithEnforce(level))
			}, storetest.WithSQL(generated(t, "parcel")))
		})
	}
}
