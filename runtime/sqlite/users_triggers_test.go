package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// A trigger of the users' may stand in the way of one record in each way that SQL has, on
// each table of a write. Its calls are refused for good, those of others that are committed
// with them are not, and each record stays what its log makes of it.
func TestTriggersOfUsersStopOneRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parcels.db")
	m, err := openParcels(t, open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	db := foreign(t, path, settings)
	create := func(id string) (fsm.Outcome[storetest.Parcel], error) {
		return m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: id}))
	}
	hold := func(p fsm.Outcome[storetest.Parcel]) error {
		_, err := m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{RequestID: "hold", Actor: "ann"}, "a", time.Now().Add(time.Hour)))
		return err
	}
	round := 0
	for _, table := range []string{"parcel", "parcel_events"} {
		for _, when := range []string{"BEFORE", "AFTER"} {
			for _, what := range []string{"ABORT, 'mine'", "FAIL, 'mine'", "ROLLBACK, 'mine'", "IGNORE"} {
				round++
				name := fmt.Sprintf("%s %s %s", what, when, table)
				moving := "INSERT"
				if table == "parcel" {
					moving = "UPDATE"
				}
				held, err := create(fmt.Sprint("bad", round))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := db.Exec(fmt.Sprintf(`CREATE TRIGGER "mine" %s %s ON %q WHEN NEW."id" LIKE 'bad%%' BEGIN SELECT RAISE(%s); END;
					CREATE TRIGGER "mine_new" %[1]s INSERT ON %[3]q WHEN NEW."id" LIKE 'bad%%' BEGIN SELECT RAISE(%[4]s); END`, when, moving, table, what)); err != nil {
					t.Fatal(err)
				}
				refused := func(call string, err error) {
					t.Helper()
					var r *fsm.Refusal
					if when == "AFTER" && what == "IGNORE" && err == nil {
						return // it came too late to suppress anything
					}
					if !errors.As(err, &r) || r.Code != fsm.ErrDenied {
						t.Errorf("%s: %s: %v, want it denied", name, call, err)
					}
				}
				var calls sync.WaitGroup
				for i := range 8 { // they wait for each other, so some are one transaction
					calls.Go(func() {
						good, err := create(fmt.Sprint("good", round, "-", i))
						if err == nil {
							err = hold(good)
						}
						if err != nil {
							t.Errorf("%s: another record: %v", name, err)
						}
					})
				}
				calls.Go(func() { refused("a move", hold(held)) })
				calls.Go(func() {
					_, err := create(fmt.Sprint("bad new", round))
					refused("a creation", err)
				})
				calls.Wait()
				if _, err := db.Exec(`DROP TRIGGER "mine"; DROP TRIGGER "mine_new"`); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("%v, %v", f, err)
	}
}
