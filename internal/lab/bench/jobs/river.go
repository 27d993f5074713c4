package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/ours"
)

// args is the work of a job of River's.
type args struct {
	URL string `json:"url"`
}

// Kind names the work.
func (args) Kind() string { return "bench" }

type nothing struct {
	river.WorkerDefaults[args]
	w *worked
}

// Work does nothing; that the job is complete in the database is told by an event.
func (n *nothing) Work(context.Context, *river.Job[args]) error { n.w.begin(); return nil }

// connections of all processes: of 10, 20, 30 and 60 for each, these are the best for one process and for four.
const connections = 40

type theirs struct {
	client *river.Client[pgx.Tx]
	pool   *pgxpool.Pool
	stop   func() error
}

func openRiver(ctx context.Context, c child.Config, w *worked) (queue, error) {
	config, err := pgxpool.ParseConfig(c.Address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections / max(c.Processes, 1))
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: ours.Quiet()})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return nil, err
	}
	q := &theirs{pool: pool, stop: func() error { return nil }}
	// A client sends and answers one notification in a FetchCooldown. The default, a tenth of a second, would leave
	// what is inserted meanwhile to be found by polling, each second.
	with := &river.Config{ID: c.Name, Logger: ours.Quiet(), FetchCooldown: river.FetchCooldownMin}
	if c.Callers > 0 {
		with.Workers = river.NewWorkers()
		river.AddWorker(with.Workers, &nothing{w: w})
		with.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.Callers}}
	}
	if q.client, err = river.NewClient(driver, with); err != nil || c.Callers == 0 {
		return q, err
	}
	done, unsubscribe := q.client.SubscribeConfig(&river.SubscribeConfig{ChanSize: 1 << 20,
		Kinds: []river.EventKind{river.EventKindJobCompleted}})
	go func() {
		for range done {
			w.done.Add(1)
		}
	}()
	if err := q.client.Start(ctx); err != nil {
		return nil, err
	}
	q.stop = func() error { unsubscribe(); return q.client.Stop(ctx) }
	return q, nil
}

func (q *theirs) insert(ctx context.Context) error {
	_, err := q.client.Insert(ctx, args{URL: "https://example.com/"}, nil)
	return err
}

func (q *theirs) close() error {
	err := q.stop()
	q.pool.Close()
	return err
}
