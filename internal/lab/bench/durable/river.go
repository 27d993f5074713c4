package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Form is how many workers there are and how they ask.
type Form struct {
	Workers int
	Batches bool // made, claimed, started and completed many at a time
}

// Lives are the rates of whole job lives in one form.
type Lives struct {
	Form
	Ours  measure.Rate
	River measure.Rate
}

// River compares whole lives of jobs that do nothing: ours is enqueue, claim,
// start and complete, each a transition with its event and its request id; River's
// is insert, work and complete. A round is the given number of jobs, from the
// first insert until the last one is complete in the database. With batches, both
// insert a hundred at a time, and we claim, start and complete as many. Level is
// that of our tables; River has one of its own.
func River(ctx context.Context, dsn, level string, rounds, jobs int, forms []Form, f func(Lives)) error {
	m, store, err := openPostgres(ctx, dsn, level)
	if err != nil {
		return err
	}
	defer store.Close()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	config.MaxConns = sessions + 2 // River listens on one and elects on another
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("River's tables: %w", err)
	}
	for _, form := range forms {
		n := form.Workers
		l := Lives{Form: form, Ours: measure.Rate{Name: Ours}, River: measure.Rate{Name: "riverqueue/river"}}
		peer, err := newRiver(ctx, pool, n)
		if err != nil {
			return err
		}
		sides := []struct {
			rate *measure.Rate
			live func(context.Context, int, bool) error
		}{
			{&l.Ours, func(ctx context.Context, jobs int, batches bool) error { return ourLives(ctx, m, n, jobs, batches) }},
			{&l.River, peer.lives},
		}
		for round := -1; round < rounds; round++ { // the first one warms up
			for k := range sides {
				s := sides[(k+round+2)%2]
				begun := time.Now()
				if err := s.live(ctx, jobs, l.Batches); err != nil {
					return errors.Join(fmt.Errorf("%s with %d workers: %w", s.rate.Name, n, err), peer.stop())
				}
				if round >= 0 {
					s.rate.Rounds = append(s.rate.Rounds, float64(jobs)/time.Since(begun).Seconds())
				}
			}
		}
		if err := peer.stop(); err != nil {
			return err
		}
		f(l)
	}
	return nil
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

const batch = 100

// ourLives lets workers make jobs and bring them to their end until so many are
// through.
func ourLives(ctx context.Context, m *lifecycle.Machine, workers, jobs int, batches bool) error {
	var left atomic.Int64
	left.Store(int64(jobs))
	failed := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for failed[w] == nil {
				n := 1
				if batches {
					n = batch
				}
				if left.Add(-int64(n)) < 0 {
					return
				}
				if batches {
					failed[w] = manyLives(ctx, m, n)
				} else {
					failed[w] = Life(ctx, m)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

var (
	work   = fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))
	result = fsm.MustJSON(`{"status":200}`)
)

// Life brings one job from its making to its end: four transitions, single calls.
func Life(ctx context.Context, m *lifecycle.Machine) error {
	lease := time.Now().Add(time.Minute)
	if _, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{Payload: work}, fsm.Call{RequestID: driver.NewID()}); err != nil {
		return err
	}
	job, err := m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: driver.NewID(), Actor: worker})
	if err != nil {
		return err
	}
	if job, err = m.Start(ctx, job, fsm.Call{RequestID: "start", Actor: worker}); err != nil {
		return err
	}
	_, err = m.Complete(ctx, job, lifecycle.CompleteInput{Result: result}, fsm.Call{RequestID: "complete", Actor: worker})
	return err
}

func manyLives(ctx context.Context, m *lifecycle.Machine, n int) error {
	lease := time.Now().Add(time.Minute)
	_, err := m.Batch(ctx, func(m *lifecycle.Machine) error {
		for range n {
			_, err := m.Enqueue(ctx, "", lifecycle.EnqueueInput{Payload: work}, fsm.Call{RequestID: driver.NewID()})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n > 0 {
		jobs, err := m.ClaimNextN(ctx, n, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: driver.NewID(), Actor: worker})
		if errors.Is(err, fsm.ErrNothingToDo) {
			return nil // others claimed what we made, and bring it to its end
		}
		if err != nil {
			return err
		}
		if jobs, err = eachOf(ctx, m, jobs, func(m *lifecycle.Machine, j lifecycle.Outcome) error {
			_, err := m.Start(ctx, j, fsm.Call{RequestID: "start", Actor: worker})
			return err
		}); err != nil {
			return err
		}
		if _, err = eachOf(ctx, m, jobs, func(m *lifecycle.Machine, j lifecycle.Outcome) error {
			_, err := m.Complete(ctx, j, lifecycle.CompleteInput{Result: result}, fsm.Call{RequestID: "complete", Actor: worker})
			return err
		}); err != nil {
			return err
		}
		n -= len(jobs)
	}
	return nil
}

// eachOf makes one call for each job, in one transaction.
func eachOf(ctx context.Context, m *lifecycle.Machine, jobs []lifecycle.Outcome, call func(*lifecycle.Machine, lifecycle.Outcome) error) ([]lifecycle.Outcome, error) {
	return m.Batch(ctx, func(m *lifecycle.Machine) error {
		for _, j := range jobs {
			if err := call(m, j); err != nil {
				return err
			}
		}
		return nil
	})
}

// riverArgs is the work of a job of River's.
type riverArgs struct {
	URL string `json:"url"`
}

// Kind names the work.
func (riverArgs) Kind() string { return "bench" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
}

// Work does nothing.
func (riverWorker) Work(context.Context, *river.Job[riverArgs]) error { return nil }

// peer is a running client of River.
type peer struct {
	client  *river.Client[pgx.Tx]
	workers int
	done    <-chan *river.Event
	cancel  func()
}

func newRiver(ctx context.Context, pool *pgxpool.Pool, workers int) (*peer, error) {
	known := river.NewWorkers()
	river.AddWorker(known, &riverWorker{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:            quiet(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           known,
		FetchCooldown:     river.FetchCooldownMin, // as fast as it goes: the default looks ten times a second
		FetchPollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	p := &peer{client: client, workers: workers}
	p.done, p.cancel = client.SubscribeConfig(&river.SubscribeConfig{ChanSize: 1 << 20, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *peer) stop() error {
	p.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return p.client.Stop(ctx)
}

// lives inserts jobs, by as many callers as there are workers, and waits until the
// last one is complete.
func (p *peer) lives(ctx context.Context, jobs int, batches bool) error {
	var left atomic.Int64
	left.Store(int64(jobs))
	failed := make([]error, p.workers)
	var all sync.WaitGroup
	for w := range p.workers {
		all.Go(func() {
			for failed[w] == nil {
				if batches {
					if left.Add(-batch) < 0 {
						return
					}
					many := make([]river.InsertManyParams, batch)
					for i := range many {
						many[i] = river.InsertManyParams{Args: riverArgs{URL: "https://example.com/"}}
					}
					_, failed[w] = p.client.InsertManyFast(ctx, many)
					continue
				}
				if left.Add(-1) < 0 {
					return
				}
				_, failed[w] = p.client.Insert(ctx, riverArgs{URL: "https://example.com/"}, nil)
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for n := range jobs {
		select {
		case <-p.done:
		case <-limit.C:
			return fmt.Errorf("only %d of %d jobs are complete after two minutes", n, jobs)
		}
	}
	return nil
}
