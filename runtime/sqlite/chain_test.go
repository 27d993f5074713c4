package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// Who forges the last event of a record and all that is computed from it is found by
// the next event, when the store that wrote the one before is still open: it knows the
// chain. A store that was opened since takes what stands in the log.
func TestForgedEndOfALog(t *testing.T) {
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
			last.Sum = fsm.Checksum(last)
			last.Chain = fsm.Chained(events[len(events)-2].Chain, last)
			hand(t, path, fmt.Sprintf(`UPDATE "parcel_events" SET "actor" = 'eve', "sum" = %d, "chain" = %d WHERE "id" = 'p1' AND "rev" = %d`, last.Sum, last.Chain, last.Rev))
			if again {
				store.Close()
				if m, err = openParcels(t, open(t, path)); err != nil {
					t.Fatal(err)
				}
			}
			note(3)
			var found []string
			for f, err := range m.Audit(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, f.Check)
			}
			want := []string{fsm.CheckHistory}
			if again {
				want = nil
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
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
