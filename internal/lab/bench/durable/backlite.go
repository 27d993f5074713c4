package durable

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/mikestefanello/backlite"

	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
)

// task is what backlite is asked to keep.
type task struct{ URL string }

// Config names the queue.
func (task) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "bench", MaxAttempts: 1, Timeout: time.Minute}
}

// backliteLoad adds tasks to a queue of mikestefanello/backlite that nobody works
// on: one row in one transaction, which is less than the work of the others.
func backliteLoad(_ context.Context, path string) (measure.Load, func(), error) {
	db, err := sql.Open("sqlite", "file:"+path+"?"+settings)
	if err != nil {
		return measure.Load{}, nil, err
	}
	db.SetMaxOpenConns(1)
	client, err := backlite.NewClient(backlite.ClientConfig{DB: db, NumWorkers: 1, ReleaseAfter: time.Hour})
	if err == nil {
		err = client.Install()
	}
	if err != nil {
		return measure.Load{}, nil, errors.Join(err, db.Close())
	}
	client.Register(backlite.NewQueue(func(context.Context, task) error { return nil }))
	return measure.Load{Name: Backlite, Step: func(ctx context.Context, _ int) error {
		_, err := client.Add(task{URL: "https://example.com/"}).Ctx(ctx).Save()
		return err
	}}, func() { db.Close() }, nil
}
