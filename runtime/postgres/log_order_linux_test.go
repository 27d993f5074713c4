package postgres_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// Batches of moves and events alone, of several programs and of the same records, come into the log of all
// records in the order of each record, and none is missing.
func TestTheLogHasTheOrderOfEachRecord(t *testing.T) {
	t.Parallel()
	const programs, writers, records, calls = 2, 32, 128, 200
	dsn := pgtest.DSN(t)
	ms := make([]machine, programs)
	for i := range ms {
		ms[i], _ = parcels(t, dsn, postgres.WithMaxSessions(writers/2))
	}
	made := make([]fsmimpl.Call[storetest.Parcel], records)
	for i := range made {
		made[i] = storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: fmt.Sprintf("p%03d", i), Lane: "a"})
	}
	if _, err := ms[0].CreateMany(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range programs * writers {
		m, random := ms[w%programs], rand.New(rand.NewPCG(1, uint64(w)))
		all.Go(func() {
			for range calls {
				call := storetest.Annotate(storetest.Meta{}, fsm.Optional[fsm.JSON]{}, fsm.Optional[string]{}, fsm.Some(true))
				if random.IntN(10) < 3 {
					call = storetest.Verify(storetest.Meta{}, -1, 0)
				}
				if _, err := m.Apply(t.Context(), fsm.Ref{ID: fmt.Sprintf("p%03d", random.IntN(records))}, call); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	all.Wait()
	type place struct{ rev, n int64 }
	last, events, after := map[string]place{}, 0, driver.Cursor("")
	read := func() {
		for e, err := range ms[0].Log(t.Context(), after) {
			if err != nil {
				t.Fatal(err)
			}
			if l := last[e.ID]; e.Rev < l.rev || e.Rev == l.rev && e.N <= l.n {
				t.Errorf("%s: %d.%d comes behind %d.%d", e.ID, e.Rev, e.N, l.rev, l.n)
			}
			last[e.ID], after = place{e.Rev, e.N}, e.Cursor
			events++
		}
	}
	want := records + programs*writers*calls
	for end := time.Now().Add(time.Minute); events < want && time.Now().Before(end); { // transactions of other tests hold the log back
		read()
	}
	if read(); events != want {
		t.Errorf("the log has %d events, want %d", events, want)
	}
}

// Calls on many records that are tried as one statement have its number from the first record on. An event alone of
// a later record waits for them, so it does not come behind the move of that record.
func TestAnEventAloneWaitsForCallsOnManyRecords(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	m, _ := parcels(t, dsn)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	items := make([]fsmimpl.Item[storetest.Parcel], 2)
	for i, id := range []string{"a", "b"} {
		out, err := registerIn(t.Context(), m, id, "lane")
		if err != nil {
			t.Fatal(err)
		}
		meta := storetest.Meta{RequestID: "note " + id}
		items[i].At, items[i].Call = out, storetest.Annotate(meta, fsm.Optional[fsm.JSON]{}, fsm.Optional[string]{}, fsm.Some(true))
	}
	if _, err := db.Exec(`CREATE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$;
		CREATE TRIGGER mine BEFORE UPDATE ON "parcel" FOR EACH ROW WHEN (NEW.id = 'a') EXECUTE FUNCTION sleeps()`); err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() {
		_, err := m.ApplyMany(t.Context(), items)
		end <- err
	}()
	for sleeps := false; !sleeps; {
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity, pg_sleep(0.01)
			WHERE datname = current_database() AND wait_event = 'PgSleep' AND pid <> pg_backend_pid()`).Scan(&sleeps); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Apply(t.Context(), fsm.Ref{ID: "b"}, storetest.Verify(storetest.Meta{RequestID: "verify"}, -1, 0)); err != nil {
		t.Error(err)
	}
	if err := <-end; err != nil {
		t.Error(err)
	}
	rev, n := int64(0), int64(0)
	for e, err := range m.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.ID == "b" {
			if e.Rev < rev || e.Rev == rev && e.N <= n {
				t.Errorf("%d.%d comes behind %d.%d", e.Rev, e.N, rev, n)
			}
			rev, n = e.Rev, e.N
		}
	}
	if rev != 2 {
		t.Errorf("the log ends at %d.%d", rev, n)
	}
}
