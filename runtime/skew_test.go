package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	fsmworker "github.com/fsmgen/fsmgen/runtime/worker"
)

// off is the clock of a process that is so much ahead.
func off(by time.Duration) fsm.Option {
	return fsm.WithProcessClock(func() time.Time { return time.Now().Add(by) })
}

// Two workers whose clocks differ by far more than a lease lasts do each job once: on
// PostgreSQL both use the time of the database.
func TestWorkersWithWrongClocks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	for _, apart := range []time.Duration{2 * time.Minute, 10 * time.Minute} {
		t.Run(apart.String(), func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.DSN(t)
			const jobs = 20
			var mu sync.Mutex
			starts := map[string]int{}
			ended := 0
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var running sync.WaitGroup
			var machines []*lifecycle.Machine
			for i, by := range []time.Duration{-apart / 2, apart / 2} {
				store, err := postgres.Open(ctx, dsn, postgres.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { store.Close() })
				if i == 0 {
					if err := lifecycle.Migrate(ctx, store); err != nil {
						t.Fatal(err)
					}
				}
				var told []time.Duration
				m, err := lifecycle.Open(ctx, store, off(by), fsm.WithObserver(func(ctx context.Context, o fsm.Observed) (context.Context, func(fsm.Observation)) {
					if !o.Clock {
						return ctx, nil
					}
					return ctx, func(end fsm.Observation) { told = append(told, end.Skew) }
				}))
				if err != nil {
					t.Fatal(err)
				}
				if skew := audit.HealthOf(m).Skew; (skew+by).Abs() > time.Second || len(told) != 1 || told[0] != skew {
					t.Errorf("a clock that is %v ahead: health says %v, the observer was told %v", by, skew, told)
				}
				machines = append(machines, m)
			}
			for i := range jobs {
				if _, err := machines[i%2].Enqueue(ctx, fmt.Sprint("job", i), lifecycle.EnqueueInput{}, fsm.Call{RequestID: fmt.Sprint(i)}); err != nil {
					t.Fatal(err)
				}
			}
			for i, m := range machines {
				w, err := lifecycle.NewWorker(m, fmt.Sprint("w", i), lifecycle.WorkerConfig{
					Work: func(ctx context.Context, c lifecycle.ClaimedJob) error {
						mu.Lock()
						starts[c.Record().ID]++
						mu.Unlock()
						r, err := c.Start(ctx)
						if err != nil {
							return err
						}
						for _, other := range machines { // both sweepers find nothing that is over
							if n, err := other.Sweep(ctx); n != 0 || err != nil {
								return fmt.Errorf("a sweep took %d jobs away, %w", n, err)
							}
						}
						if _, err := r.Complete(ctx, lifecycle.CompleteInput{Result: fsm.MustJSON("1")}); err != nil {
							return err
						}
						mu.Lock()
						if ended++; ended == jobs {
							stop()
						}
						mu.Unlock()
						return nil
					},
					Failed: func(_ context.Context, c lifecycle.AnyJob, cause error) error {
						t.Errorf("%s: %v", c.Record().ID, cause)
						return nil
					},
					Options: fsmworker.Options{Lease: time.Minute, Log: slog.New(slog.DiscardHandler)},
				})
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() {
					if err := w.Run(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			for id, n := range starts {
				job, err := machines[0].Record(t.Context(), id)
				if err != nil || n != 1 || job.Attempt != 1 || job.State != lifecycle.StateSucceeded {
					t.Errorf("%s was begun %d times: %v in attempt %d, %v", id, n, job.State, job.Attempt, err)
				}
				if now := time.Now(); job.UpdatedAt.Sub(now).Abs() > time.Minute {
					t.Errorf("%s was updated at %v, and it is %v", id, job.UpdatedAt, now)
				}
			}
			if len(starts) != jobs {
				t.Errorf("%d of %d jobs were begun", len(starts), jobs)
			}
		})
	}
}

// A time far ahead of the machine's clock is refused, and one that has passed is taken.
func TestTimeFarAhead(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fsm.WithCallerTime())
	p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	for _, c := range []struct {
		at   time.Time
		want error
	}{
		{time.Now().AddDate(10, 0, 0), fsm.ErrInvalidInput},
		{time.Now().Add(25 * time.Hour), fsm.ErrInvalidInput},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), fsm.ErrInvalidInput},
		{time.Now().AddDate(-10, 0, 0), nil},
		{time.Now().Add(23 * time.Hour), nil},
	} {
		call := note("", "x")
		call.At = c.at
		if _, err := m.Apply(t.Context(), fsm.Ref{ID: p.Record.ID}, call); !errors.Is(err, c.want) {
			t.Errorf("at %v: got %v, want %v", c.at, err, c.want)
		}
	}
}

// A clock that differs by less than the bound is let be.
func TestMaxSkew(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	store, err := postgres.Open(t.Context(), pgtest.DSN(t), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		opts  []fsm.Option
		wrong bool
	}{
		{nil, false},
		{[]fsm.Option{off(time.Hour)}, true},
		{[]fsm.Option{off(time.Hour), fsm.WithMaxSkew(2 * time.Hour)}, false},
		{[]fsm.Option{off(time.Hour), fsm.WithCallerTime()}, false},
		{[]fsm.Option{off(time.Hour), fsm.WithClock(time.Now)}, false},
	} {
		m, err := lifecycle.Open(t.Context(), store, c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		if skew := audit.HealthOf(m).Skew; (skew != 0) != c.wrong {
			t.Errorf("with %d options: %v", len(c.opts), skew)
		}
	}
}
