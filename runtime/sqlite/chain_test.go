package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The chain goes on from what stands in the row, whoever has changed the log since: so the
// last event of a record, forged with all that is computed from it, is found after the next one.
func TestChainGoesOnFromTheRow(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"while the store is open": false, "and the store opened again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			store := open(t, path)
			m, err := openParcels(t, store)
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: "new", Actor: "ann"}, storetest.RegisterInput{ID: "p1", Lane: "a"}))
			if err != nil {
				t.Fatal(err)
			}
			note := func(i int) {
				t.Helper()
				request := storetest.Meta{RequestID: fmt.Sprint("note ", i), Actor: "ann"}
				if p, err = m.Apply(t.Context(), p, storetest.Annotate(request, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(i%2 == 0))); err != nil {
					t.Fatal(err)
				}
			}
			note(1)
			note(2)
			events := history(t, m, "p1")
			last := &events[len(events)-1]
			last.Actor = "eve"
			last.Sum = driver.Checksum(last)
			last.Chain = driver.Chained(events[len(events)-2].Chain, last)
			hand(t, path, fmt.Sprintf(`UPDATE "parcel_events" SET "actor" = 'eve', "checksum" = %d, "chain" = %d WHERE "id" = 'p1' AND "rev" = %d`, last.Sum, last.Chain, last.Rev))
			if again {
				store.Close()
				if m, err = openParcels(t, open(t, path)); err != nil {
					t.Fatal(err)
				}
			}
			note(3)
			var found []string
			for f, err := range audit.Run(t.Context(), m) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, f.Check)
			}
			if !slices.Equal(found, []string{"history"}) {
				t.Errorf("findings: %q, want that of the history", found)
			}
		})
	}
}

func history(t *testing.T, m *parcels, id string) (events []fsm.Event) {
	t.Helper()
	for e, err := range m.History(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
