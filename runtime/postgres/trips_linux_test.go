package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// A pick looks with BEGIN and writes with COMMIT. Several calls on many records write with BEGIN, and commit when they have
// counted what was written.
func TestAPickIsTwoTrips(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newProxy(t, server)
	m, _ := parcels(t, p.dsn(), postgres.WithMaxSessions(1))
	const rounds = 100
	pick := func(id, lane string, n, want int) {
		t.Helper()
		outs, err := m.Pick(t.Context(), n, storetest.Hold(storetest.Meta{RequestID: id, Actor: "w"}, lane, time.Now().Add(time.Hour)))
		if errors.Is(err, fsm.ErrNothingToDo) {
			err = nil
		}
		if err != nil || len(outs) != want {
			t.Fatalf("%s: %d records, %v; want %d", id, len(outs), err, want)
		}
	}
	least := map[string]int{"make": 99, "one": 99, "three": 99, "nothing": 99}
	want := map[string]int{"make": 2, "one": 2, "three": 2}
	above := func() bool {
		for what := range want {
			if least[what] > want[what] {
				return true
			}
		}
		return false
	}
	for i := 0; i < rounds && above(); i++ { // the first one prepares; on a busy machine each may meet what the store does beside it
		note := func(what string, f func()) { least[what] = min(least[what], p.took(f)) }
		note("make", func() {
			calls := make([]fsmimpl.Call[storetest.Parcel], 4)
			for j := range calls {
				id := fmt.Sprint(i, "-", j)
				calls[j] = storetest.Register(storetest.Meta{RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: fmt.Sprint(i)})
			}
			if _, err := m.CreateMany(t.Context(), calls); err != nil {
				t.Fatal(err)
			}
		})
		note("one", func() { pick(fmt.Sprint("one ", i), fmt.Sprint(i), 1, 1) })
		note("three", func() { pick(fmt.Sprint("three ", i), fmt.Sprint(i), 3, 3) })
		note("nothing", func() { pick(fmt.Sprint("nothing ", i), "empty", 1, 0) })
	}
	for what := range want {
		if least[what] != want[what] {
			t.Errorf("%s: %d trips, want %d", what, least[what], want[what])
		}
	}
	t.Log(least)
}

// What a trigger of the users' does to one of the records of a pick, at its write or at the commit, is an error of the pick,
// and takes all of them back.
func TestAPickIsAllOrNone(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	m, _ := parcels(t, dsn)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE FUNCTION raises() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'mine'; END $$;
		CREATE FUNCTION suppresses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`); err != nil {
		t.Fatal(err)
	}
	for i, c := range []string{
		`CREATE TRIGGER mine BEFORE UPDATE ON "parcel" FOR EACH ROW WHEN (NEW.id LIKE '%b') EXECUTE FUNCTION suppresses()`,
		`CREATE TRIGGER mine BEFORE UPDATE ON "parcel" FOR EACH ROW WHEN (NEW.id LIKE '%b') EXECUTE FUNCTION raises()`,
		`CREATE CONSTRAINT TRIGGER mine AFTER UPDATE ON "parcel" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
			WHEN (NEW.id LIKE '%b') EXECUTE FUNCTION raises()`,
	} {
		lane := fmt.Sprint("lane", i)
		for _, id := range []string{"a", "b", "c"} {
			if _, err := registerIn(t.Context(), m, lane+id, lane); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Exec(c); err != nil {
			t.Fatal(err)
		}
		hold := func(request string, n int) ([]fsm.Outcome[storetest.Parcel], error) {
			return m.Pick(t.Context(), n, storetest.Hold(storetest.Meta{RequestID: request, Actor: "w"}, lane, time.Now().Add(time.Hour)))
		}
		var refused *fsm.Refusal
		if outs, err := hold("three "+lane, 3); !errors.As(err, &refused) || refused.Code != fsm.ErrDenied {
			t.Errorf("%s: %d records, %v; want it denied", c, len(outs), err)
		}
		for parcel, err := range m.List(t.Context(), driver.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if parcel.Lane == lane && parcel.Rev != 1 {
				t.Errorf("%s: %s was moved", c, parcel.ID)
			}
		}
		if _, err := db.Exec(`DROP TRIGGER mine ON "parcel"`); err != nil {
			t.Fatal(err)
		}
		if outs, err := hold("three "+lane, 3); err != nil || len(outs) != 3 || outs[0].Replayed {
			t.Errorf("%s: the same call without it: %d records, %v", c, len(outs), err)
		}
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}

// A call that ends does not wait for the answer to its rollback as long as a server that says nothing may take.
func TestEndOfACallEndsItsRollback(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	mine := errors.New("mine")
	f := func(tx fsm.Tx) error {
		if _, err := tx.Row("nobody"); !errors.Is(err, driver.ErrNotFound) {
			return err
		}
		return mine
	}
	for word, update := range map[string]func(tab driver.Table, ctx context.Context) error{
		"rollback\x00": func(tab driver.Table, ctx context.Context) error { return tab.Update(ctx, f) },
		"ROLLBACK\x00": func(tab driver.Table, ctx context.Context) error {
			return tab.(driver.Bulk).UpdateMany(ctx, func(tx driver.ManyTx) error { return f(tx) })
		},
	} {
		p := newProxy(t, server)
		_, tab := parcels(t, p.dsn())
		p.silenceAt(word)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		begun := time.Now()
		err := update(tab, ctx)
		cancel()
		if took := time.Since(begun); !errors.Is(err, mine) || !p.heard() || took > 10*time.Second {
			t.Errorf("%q: %v after %s, heard %t; want it when the context has ended", word, err, took, p.heard())
		}
	}
}
