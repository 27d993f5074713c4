package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// A trigger of the users' on the table of records may raise, now or at the commit, or
// suppress the change of a row. The calls on its record are refused for good, those of
// others that are committed with them are not, and each record stays what its log makes of it.
func TestTriggersOfUsersStopOneRecord(t *testing.T) {
	t.Parallel()
	_, db, begin := ground(t)
	_, m := begin()
	if _, err := db.Exec(`CREATE FUNCTION raises() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'mine'; END $$;
		CREATE FUNCTION suppresses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`); err != nil {
		t.Fatal(err)
	}
	create := func(id string) (fsm.Outcome[storetest.Parcel], error) {
		return m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: id}))
	}
	hold := func(p fsm.Outcome[storetest.Parcel]) error {
		_, err := m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{RequestID: "hold", Actor: "ann"}, "a", time.Now().Add(time.Hour)))
		return err
	}
	for round, c := range []struct{ trigger, runs string }{
		{"TRIGGER mine BEFORE", "FOR EACH ROW WHEN (NEW.id LIKE 'bad%') EXECUTE FUNCTION raises()"},
		{"TRIGGER mine AFTER", "FOR EACH ROW WHEN (NEW.id LIKE 'bad%') EXECUTE FUNCTION raises()"},
		{"CONSTRAINT TRIGGER mine AFTER", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.id LIKE 'bad%') EXECUTE FUNCTION raises()"},
		{"TRIGGER mine BEFORE", "FOR EACH ROW WHEN (NEW.id LIKE 'bad%') EXECUTE FUNCTION suppresses()"},
	} {
		held, err := create(fmt.Sprint("bad", round))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(fmt.Sprintf(`CREATE %s INSERT OR UPDATE ON "parcel" %s`, c.trigger, c.runs)); err != nil {
			t.Fatal(err)
		}
		refused := func(call string, err error) {
			t.Helper()
			var r *fsm.Refusal
			if !errors.As(err, &r) || r.Code != fsm.ErrDenied {
				t.Errorf("%s %s: %s: %v, want it denied", c.trigger, c.runs, call, err)
			}
		}
		var calls sync.WaitGroup
		for i := range 8 { // they wait for each other, so some are one statement
			calls.Go(func() {
				good, err := create(fmt.Sprint("good", round, "-", i))
				if err == nil {
					err = hold(good)
				}
				if err != nil {
					t.Errorf("%s %s: another record: %v", c.trigger, c.runs, err)
				}
			})
		}
		calls.Go(func() { refused("a move", hold(held)) })
		calls.Go(func() {
			_, err := create(fmt.Sprint("bad new", round))
			refused("a creation", err)
		})
		calls.Wait()
		if _, err := db.Exec(`DROP TRIGGER mine ON "parcel"`); err != nil {
			t.Fatal(err)
		}
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("%v, %v", f, err)
	}
}
