// Package load measures how stores behave when more is asked of them than they
// can do at once: on one hot record, when the disk does not answer, and for long.
package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Hot are callers who all want the same record, beside as many with a record each.
type Hot struct {
	One, Many measure.Rate
	Stale     float64 // of one: refusals for each heartbeat that succeeded
}

// Contend lets callers heartbeat one record, which each reads, decides on and, when
// another one was faster, reads again; and as many a record each that they hold.
func Contend(ctx context.Context, m *lifecycle.Machine, t measure.Turns) (Hot, error) {
	jobs, err := durable.Running(ctx, m, t.Callers+1)
	if err != nil {
		return Hot{}, err
	}
	hot := jobs[t.Callers]
	var stale, done atomic.Int64
	rates, err := measure.Rates(ctx, t,
		measure.Load{Name: "one", Step: func(ctx context.Context, c int) error {
			n, err := hot.Contend(ctx, m, c)
			stale.Add(n)
			done.Add(1)
			return err
		}},
		measure.Load{Name: "many", Step: func(ctx context.Context, c int) error { return jobs[c].Beat(ctx, m) }})
	if err != nil {
		return Hot{}, err
	}
	return Hot{rates[0], rates[1], float64(stale.Load()) / float64(done.Load())}, nil
}

// Stuck is what became of calls while the store could not write.
type Stuck struct {
	Calls     int
	Deadline  time.Duration // of each call
	Ended     int           // because the context did
	Busy      int           // refused, surely not applied
	Ambiguous int
	Done      int           // when it could write again
	Late      time.Duration // how long after their deadline 99 of 100 calls had returned, and
	Latest    time.Duration // all
	Heap      [2]uint64     // before, and at the most
	Left      int           // goroutines that are left behind
	Again     error         // of a call when the store could write again
}

// Block keeps another program's write lock on a SQLite file for a while, and
// makes many calls with a deadline meanwhile.
func Block(ctx context.Context, m *lifecycle.Machine, path string, calls int, blocked, deadline time.Duration) (Stuck, error) {
	s := Stuck{Calls: calls, Deadline: deadline}
	jobs, err := durable.Running(ctx, m, 1)
	if err != nil {
		return s, err
	}
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		return s, err
	}
	defer other.Close()
	runtime.GC()
	s.Heap[0] = heap()
	goroutines := runtime.NumGoroutine()
	lock, err := other.BeginTx(ctx, nil)
	if err != nil {
		return s, err
	}
	release := time.AfterFunc(blocked, func() { lock.Rollback() })
	defer release.Stop()
	late := make([]time.Duration, calls)
	failed := make([]error, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, deadline)
			defer cancel()
			begun := time.Now()
			_, failed[i] = m.Enqueue(ctx, "", lifecycle.EnqueueInput{}, fsm.Call{RequestID: fmt.Sprint("blocked ", i)})
			late[i] = max(0, time.Since(begun)-deadline)
		})
	}
	returned := make(chan struct{})
	go func() { all.Wait(); close(returned) }()
	for waiting := true; waiting; {
		s.Heap[1] = max(s.Heap[1], heap())
		select {
		case <-returned:
			waiting = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, err := range failed {
		var unknown *fsm.AmbiguousError
		switch {
		case err == nil:
			s.Done++
		case errors.As(err, &unknown):
			s.Ambiguous++
		case errors.Is(err, fsm.ErrBusy):
			s.Busy++
		case errors.Is(err, context.DeadlineExceeded):
			s.Ended++
		default:
			return s, fmt.Errorf("a call while the store could not write: %w", err)
		}
	}
	slices.Sort(late)
	s.Late, s.Latest = late[len(late)*99/100], late[len(late)-1]
	s.Again = jobs[0].Beat(ctx, m)
	for i := 0; i < 50 && runtime.NumGoroutine() > goroutines; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	s.Left = max(0, runtime.NumGoroutine()-goroutines)
	return s, nil
}

// Endured is what a long run showed.
type Endured struct {
	Lasted time.Duration
	Lives  int64
	Rates  [4]float64 // lives a second in each quarter
	Heap   [4]uint64  // the least in each quarter: what stays when the garbage is gone
	Found  int        // findings of the audit at the end
}

// Soak lets workers bring jobs to their end, beside a sweeper, for so long, and
// audits what is left.
func Soak(ctx context.Context, m *lifecycle.Machine, workers int, lasts time.Duration) (Endured, error) {
	e := Endured{Lasted: lasts}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begun := time.Now()
	quarter := func() int { return min(3, int(4*time.Since(begun)/lasts)) }
	var lives [4]atomic.Int64
	failed := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for time.Since(begun) < lasts && failed[w] == nil {
				failed[w] = durable.Life(ctx, m)
				lives[quarter()].Add(1)
			}
		})
	}
	sweeping, swept := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() { _ = m.Core().RunSweeper(sweeping, 100*time.Millisecond, nil) })
	returned := make(chan struct{})
	go func() { all.Wait(); close(returned) }()
	for working := true; working; {
		runtime.GC()
		q, now := quarter(), heap()
		if e.Heap[q] == 0 || now < e.Heap[q] {
			e.Heap[q] = now
		}
		select {
		case <-returned:
			working = false
		case <-time.After(lasts / 40):
		}
	}
	swept()
	sweeper.Wait()
	if err := errors.Join(failed...); err != nil {
		return e, err
	}
	for q := range lives {
		e.Lives += lives[q].Load()
		e.Rates[q] = float64(lives[q].Load()) / (lasts / 4).Seconds()
	}
	for _, err := range m.Audit(ctx) {
		if err != nil {
			return e, err
		}
		e.Found++
	}
	return e, nil
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
