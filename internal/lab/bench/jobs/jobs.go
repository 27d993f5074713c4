// Package jobs holds whole lives of jobs that do nothing: one is enqueued, claimed, begun
// and completed, by a pool of workers of ours and of River's, each as its documentation
// tells to run it. Inserters and workers are in the same process, as many of each.
package jobs

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
)

// queue is one side, in one process.
type queue interface {
	insert(ctx context.Context) error
	close() error
}

// worked is what the workers of a process tell.
type worked struct {
	done   atomic.Int64
	begun  chan int64 // when work begins, where somebody waits for it
	failed atomic.Pointer[error]
}

func (w *worked) begin() {
	select {
	case w.begun <- time.Now().UnixNano():
	default:
	}
}

func (w *worked) fail(err error) { w.failed.CompareAndSwap(nil, &err) }

func (w *worked) err() error {
	if p := w.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// opens are the sides by their names.
var opens = map[string]func(context.Context, child.Config, *worked) (queue, error){
	"ours": openOurs, "ours, riverjob": openModelled, "River": openRiver,
}

// Run serves as a process of as many inserters as workers.
func Run(ctx context.Context, c child.Config) error {
	w := &worked{begun: make(chan int64, 1)}
	q, err := opens[c.Side](ctx, c, w)
	if err != nil {
		return err
	}
	commands := map[string]child.Command{
		// insert makes so many jobs, and does not wait for it.
		"insert": func(argument string) (child.Answer, error) {
			n, err := strconv.ParseInt(argument, 10, 64)
			if err != nil {
				return child.Answer{}, err
			}
			var left atomic.Int64
			left.Store(n)
			for range c.Callers {
				go func() {
					for left.Add(-1) >= 0 {
						if err := q.insert(ctx); err != nil {
							w.fail(err)
							return
						}
					}
				}()
			}
			return child.Answer{Processor: child.Processor()}, nil
		},
		// count says how many jobs the workers of this process have completed.
		"count": func(string) (child.Answer, error) {
			return child.Answer{N: int(w.done.Load()), Processor: child.Processor()}, w.err()
		},
		// begun waits for the next job's begin.
		"begun": func(string) (child.Answer, error) {
			return child.Answer{At: <-w.begun}, w.err()
		},
	}
	return errors.Join(child.Serve(commands), q.close())
}

// Inserter makes jobs one at a time, in a process without workers.
type Inserter struct {
	Insert func(ctx context.Context) error
	Close  func() error
}

// NewInserter opens a side to insert alone: its Callers are none.
func NewInserter(ctx context.Context, c child.Config) (Inserter, error) {
	c.Callers = 0
	q, err := opens[c.Side](ctx, c, &worked{})
	if err != nil {
		return Inserter{}, err
	}
	return Inserter{q.insert, q.close}, nil
}

// runs lets something run until stop is called, which returns its error.
func runs(f func(ctx context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	var all sync.WaitGroup
	all.Go(func() { err = f(ctx) })
	return func() error { cancel(); all.Wait(); return err }
}
