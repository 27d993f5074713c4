package claims_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/claims/desk"
	"github.com/fsmgen/fsmgen/internal/lab/claims/seat"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// server opens a store of one program on a server's database.
func server(t testing.TB, dsn string) *sqlstore.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, postgres.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// meet makes two calls at once, the second one a little later in each round than in the one before.
func meet(round int, first, second func()) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	wg.Go(func() { <-start; first() })
	wg.Go(func() {
		<-start
		time.Sleep(time.Duration(round%20) * 60 * time.Microsecond)
		second()
	})
	close(start)
	wg.Wait()
}

// rounds is how often calls meet: anomalies that are possible happened in a tenth of them, and more.
func rounds() int {
	if campaign.On() {
		return 600
	}
	return 60
}

// Where records come into a group without a count, what several counts or calls of one transaction rest on holds
// together: some order of the calls explains what each did.
func TestCountsOfOpenGroups(t *testing.T) {
	t.Parallel()
	store := server(t, pgtest.DSN(t))
	if err := seat.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := seat.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, by := t.Context(), fsm.Call{Actor: "ann"}
	submit := func(id, tenant, run string, rank int64) seat.Outcome {
		out, err := m.Submit(ctx, id+run, seat.SubmitInput{Tenant: tenant + run, Run: run, Rank: rank}, by)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	rush := func(out seat.Outcome) seat.Outcome {
		out, err := m.Rush(ctx, out, by)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	expected := func(err error) {
		if err != nil && !errors.Is(err, fsm.ErrGuard) && !errors.Is(err, fsm.ErrNothingToDo) && !errors.Is(err, fsm.ErrBusy) {
			t.Error(err)
		}
	}
	both := func(first, second seat.Outcome) error { // a call that counts nothing and one that counts, in one transaction
		_, err := m.Batch(ctx, func(in *seat.Machine) error {
			if _, err := in.Rush(ctx, first, by); err != nil {
				return err
			}
			_, err := in.Sit(ctx, second, by)
			return err
		})
		return err
	}
	for i := range rounds() {
		var passed error
		run := fmt.Sprint("r", i)
		active, waits := rush(submit("a", "x", run, 1)), submit("b", "x", run, 2)
		meet(i, func() {
			if _, err := m.Pause(ctx, active, by); err != nil {
				t.Error(err)
			}
		}, func() { _, passed = m.Sit(ctx, waits, by) })
		if expected(passed); passed == nil {
			t.Errorf("round %d: one sat down beside one that was running, and then paused, all the time", i)
		}

		run = fmt.Sprint("s", i)
		var one, other error
		c, d, e, f := submit("c", "y", run, 1), submit("d", "x", run, 1), submit("e", "x", run, 1), submit("f", "y", run, 1)
		meet(0, func() { one = both(c, d) }, func() { other = both(e, f) })
		expected(one)
		if expected(other); one == nil && other == nil {
			t.Errorf("round %d: two batches passed, each before the other", i)
		}

		run = fmt.Sprint("t", i)
		moves := rush(submit("g", "y", run, 9))
		submit("h", "x", run, 1)
		submit("i", "y", run, 2)
		var taken []seat.Outcome
		meet(i, func() {
			taken, one = m.TakeN(ctx, 2, seat.TakeInput{Of: run}, by)
		}, func() { _, other = m.HandOn(ctx, moves, seat.HandOnInput{Tenant: "x" + run}, by) })
		expected(one)
		if expected(other); len(taken) == 2 {
			t.Errorf("round %d: a pick took a record of two tenants, of which one had one at each moment", i)
		}
	}
}

// A job is never leased beside an execution that is active and then committed: two guards count it, of which each looks
// at one of the two.
func TestLeaseBesideACommit(t *testing.T) {
	t.Parallel()
	store := server(t, pgtest.DSN(t))
	if err := execution.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := execution.Open(t.Context(), store, applied{})
	if err != nil {
		t.Fatal(err)
	}
	n, until := 0, time.Now().Add(time.Hour)
	call := func() fsm.Call { n++; return fsm.Call{Actor: "ann", RequestID: fmt.Sprint("r", n)} }
	for i := range rounds() {
		job := fmt.Sprint("j", i)
		first, err := m.Lease(t.Context(), "a"+job, execution.LeaseInput{JobID: job, LeaseExpiresAt: until}, call())
		if err == nil {
			first, err = m.Start(t.Context(), first, call())
		}
		if err != nil {
			t.Fatal(err)
		}
		var committed, leased error
		ends, begins := call(), call()
		meet(i, func() {
			_, committed = m.Commit(t.Context(), first, execution.CommitInput{}, ends)
		}, func() {
			_, leased = m.Lease(t.Context(), "b"+job, execution.LeaseInput{JobID: job, LeaseExpiresAt: until}, begins)
		})
		if committed != nil || leased == nil {
			t.Errorf("round %d: committed: %v, leased: %v", i, committed, leased)
		}
	}
}

type applied struct{}

// ApplyResult does nothing.
func (applied) ApplyResult(context.Context, *sql.Tx, execution.Execution, string, fsm.Event) error {
	return nil
}

// Where a lock is enough, no limit is passed: three programs claim and finish at once, and count when all rest.
func TestCountsUnderLocks(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	var machines []*desk.Machine
	for range 3 {
		store := server(t, dsn)
		if err := desk.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		m, err := desk.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, m)
	}
	random, by := rand.New(rand.NewPCG(1, 2)), fsm.Call{Actor: "ann"}
	full := 0
	for round := range rounds() / 4 {
		for i := range 12 {
			in := desk.SubmitInput{Tenant: fmt.Sprint("t", random.IntN(3)), Queue: fmt.Sprint("q", random.IntN(2))}
			if _, err := machines[0].Submit(t.Context(), fmt.Sprintf("p%d-%d", round, i), in, by); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for worker := range 9 {
			m := machines[worker%3]
			wg.Go(func() {
				for i := range 4 {
					outs, err := m.ClaimN(t.Context(), 1+(worker+i)%2, by)
					if err != nil && !errors.Is(err, fsm.ErrNothingToDo) && !errors.Is(err, fsm.ErrBusy) {
						t.Error(err)
					}
					for j, out := range outs {
						if (worker+i+j)%3 != 0 {
							continue
						}
						if _, err := m.Finish(t.Context(), out, by); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		tenants, queues := map[string]int{}, map[string]int{}
		var running []desk.Case
		for p, err := range machines[0].List(t.Context(), desk.StateRunning) {
			if err != nil {
				t.Fatal(err)
			}
			tenants[p.Tenant]++
			queues[p.Queue]++
			running = append(running, p)
		}
		for name, n := range tenants {
			if n > 2 {
				t.Errorf("round %d: %d of tenant %s are running, want 2 at most", round, n, name)
			}
			if n == 2 {
				full++
			}
		}
		for name, n := range queues {
			if n > 3 {
				t.Errorf("round %d: %d of queue %s are running, want 3 at most", round, n, name)
			}
		}
		for _, p := range running[:len(running)/2] {
			if _, err := machines[0].Finish(t.Context(), p, by); err != nil {
				t.Fatal(err)
			}
		}
	}
	if full == 0 {
		t.Error("no limit was reached")
	}
}
