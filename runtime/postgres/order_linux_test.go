package postgres_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// Batches over the same records in any order, as references and as held records,
// beside single calls and heartbeats of several programs, all come to their end.
// The server ends no deadlock, for there is none.
func TestBatchesInAnyOrder(t *testing.T) {
	t.Parallel()
	const programs, callers, rounds, records = 3, 4, 6, 12
	dsn := pgtest.DSN(t)
	met := deadlocks(t, dsn)
	ms := make([]machine, programs)
	for i := range ms {
		ms[i], _ = parcels(t, dsn, postgres.WithMaxSessions(callers))
	}
	calls := make([]fsmimpl.Call[storetest.Parcel], records)
	for i := range calls {
		calls[i] = storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: fmt.Sprintf("p%02d", i), Lane: "a"})
	}
	if _, err := ms[0].CreateMany(t.Context(), calls); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range programs * callers {
		m, random := ms[w%programs], rand.New(rand.NewPCG(1, uint64(w)))
		all.Go(func() {
			for range rounds {
				var items []fsmimpl.Item[storetest.Parcel]
				for _, p := range random.Perm(records) {
					items = append(items, fsmimpl.Item[storetest.Parcel]{At: fsm.Ref{ID: fmt.Sprintf("p%02d", p)}, Call: storetest.Bill(storetest.Meta{})})
				}
				if _, err := m.ApplyMany(t.Context(), items); err != nil {
					t.Errorf("caller %d: %v", w, err)
				}
				if _, err := m.Apply(t.Context(), items[0].At, storetest.Bill(storetest.Meta{})); err != nil {
					t.Errorf("caller %d, alone: %v", w, err)
				}
			}
		})
	}
	all.Wait()
	if n := met(); n != 0 {
		t.Errorf("the server ended %d deadlocks", n)
	}
	moves := int64(0)
	for p, err := range ms[0].List(t.Context(), driver.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		moves += p.Moves
	}
	if want := int64(programs * callers * rounds * (records + 1)); moves != want {
		t.Errorf("%d calls were made, want %d", moves, want)
	}
}

// deadlocks returns how many the server has ended in the database since.
func deadlocks(t *testing.T, dsn string) func() int {
	t.Helper()
	ask := func() (n int) {
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow(`SELECT pg_stat_force_next_flush(), deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(new(any), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := ask()
	return func() int { return ask() - before }
}
