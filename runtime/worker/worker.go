// Package worker claims records and works on them: it keeps a lease alive while the
// work goes on, and writes down how the work ended. Generated packages make one
// (New) where the machine has leases.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Options say how a worker runs. The zero value of each but Lease is a
// good choice.
type Options struct {
	// Lease is how long a claim lasts unless a heartbeat extends it. Where the machine
	// itself says how long, zero is that. Where nothing ends a claim, zero is no end; else
	// work that takes longer is told that it has lost its record.
	Lease time.Duration
	// Beat is the time between two heartbeats; zero is a third of Lease.
	Beat time.Duration
	// Concurrency is how many records are worked on at once; zero is 1. A goroutine that has
	// done its work takes the next record: work that locks its thread has to unlock it.
	Concurrency int
	// Poll is the longest pause after a claim that found nothing, within a quarter of
	// it by chance; zero is 100 ms. Mostly the store wakes the worker before: at once in
	// its own process, within milliseconds in others over PostgreSQL. Poll finds what
	// nobody tells: a time that has come, what was written by SQL or by a process that
	// died, and what another transaction held at the time and left as it was.
	Poll time.Duration
	// Grace is how long work that has begun may go on once Run's context has
	// ended; zero is Lease, or a minute without one; below zero is no time at all. Run
	// returns at most 5 s later.
	Grace time.Duration
	// Log gets a record for each end of work that is not a success, and for each
	// error of the store; nil is slog.Default().
	Log *slog.Logger
	// Observe, when set, is called for each thing that happens, for metrics. It
	// is called by several goroutines and must be quick.
	Observe func(Event)
}

// Event is one thing that happened to a worker.
type Event struct {
	Kind Kind
	ID   string        // of the record; empty for Idle and Error
	Took time.Duration // from the claim to now; zero for Claimed, Idle and Error, and where no work has begun
	Err  error         // nil unless the kind says that there is one
}

// Kind says what happened. After each Claimed there is one end: Done, Failed, Cancelled,
// Lost or Released. Cancelled and Lost are told at once, also while the work goes on; the
// others when it has returned. After each Stuck there is one Returned.
type Kind string

const (
	Claimed   Kind = "claimed"   // work begins
	Done      Kind = "done"      // the work has ended the record's stay with the worker
	Failed    Kind = "failed"    // the work returned an error or panicked; Err is it
	Cancelled Kind = "cancelled" // somebody, not the system, has moved the record to another state; Err is a *LostError
	Lost      Kind = "lost"      // the record is not the worker's any more for another reason; Err is a *LostError
	Released  Kind = "released"  // the worker stopped before the work was done
	Stuck     Kind = "stuck"     // the work still runs 5 s after its context has ended; Err is the cause of that end
	Returned  Kind = "returned"  // work that was stuck has returned, and its place is free
	Idle      Kind = "idle"      // there was nothing to claim that nobody else holds
	Error     Kind = "error"     // the store did not answer as it should; Err is it
)

// ErrStopping is the cause of the end of a work's context when the worker stops
// and its grace is over.
var ErrStopping = errors.New("the worker is stopping")

// ErrStuck stands in the error of a worker that has stopped while work still runs.
var ErrStuck = errors.New("the worker has stopped, but work still runs")

// StuckError names the records whose work still runs after its worker has stopped. It
// wraps ErrStuck.
type StuckError struct {
	Machine string
	IDs     []string // in order
}

// Error names the records.
func (e *StuckError) Error() string {
	return fmt.Sprintf("%s: %v: on %s", e.Machine, ErrStuck, strings.Join(e.IDs, ", "))
}

// Unwrap returns ErrStuck.
func (e *StuckError) Unwrap() error { return ErrStuck }

// ErrUnfinished is the failure of work that returned no error and left the
// record in a state that the worker has to keep alive.
var ErrUnfinished = errors.New("the work returned, but the record is still with the worker")

// Funcs are what a worker does; a generated New fills them in.
type Funcs[R any] struct {
	// Claim picks up to n records, to be held until the instant, with a request id that is new.
	Claim func(ctx context.Context, n int, until time.Time) ([]fsm.Outcome[R], error)
	// Beat extends what is held. Beats reports whether a record has to be. Both are nil
	// where nothing can be extended.
	Beat  func(ctx context.Context, h *fsm.Held[R], until time.Time) error
	Beats func(r *R) bool
	// Holds reports whether a record is still with the worker; nil is Beats.
	Holds func(r *R) bool
	// Lease is how long the machine itself lets a claim last; zero: Options say.
	Lease time.Duration
	// Work does the work and ends the record's stay with the worker.
	Work func(ctx context.Context, h *fsm.Held[R]) error
	// Failed writes down that the work failed, once the store was asked whether the record
	// is still the worker's. The handle is the newest.
	Failed func(ctx context.Context, h *fsm.Held[R], cause error) error
	// Release hands back what a stopping worker did not finish; nil leaves it to
	// the end of the lease.
	Release func(ctx context.Context, h *fsm.Held[R]) error
}

// Worker claims records and works on them. Run runs it.
type Worker[R any] struct {
	machine *fsm.Machine[R]
	now     func() time.Time // of the machine's clock
	actor   string
	bell    *driver.Bell // of the store
	queue   string       // by its name
	do      Funcs[R]
	opt     Options

	mu      sync.Mutex
	moved   []*job[R] // that may have been moved by somebody else
	looking bool      // at those that were
}

// New returns a worker of a machine that claims as the actor. Every worker
// that runs has an actor of its own, or two take each other's records for theirs.
func New[R any](m *fsm.Machine[R], actor string, do Funcs[R], opt Options) (*Worker[R], error) {
	if do.Work == nil || do.Failed == nil {
		return nil, errors.New("worker: Work and Failed are required")
	}
	if do.Beats == nil && (do.Holds == nil || do.Beat != nil) {
		return nil, errors.New("worker: Beats is required with Beat, and one of Beats and Holds always")
	}
	if opt.Lease == 0 {
		opt.Lease = do.Lease
	}
	if opt.Lease < 0 || opt.Lease == 0 && do.Beat != nil {
		return nil, fmt.Errorf("worker: Lease is %v; expected how long a claim lasts without a heartbeat", opt.Lease)
	}
	if do.Lease > 0 && opt.Lease > do.Lease {
		return nil, fmt.Errorf("worker: Lease is %v; expected at most %v, for which the machine lets a claim last", opt.Lease, do.Lease)
	}
	if do.Holds == nil {
		do.Holds = do.Beats
	}
	if opt.Beat == 0 {
		opt.Beat = opt.Lease / 3
	}
	if do.Beat != nil && (opt.Beat <= 0 || opt.Beat >= opt.Lease) {
		return nil, fmt.Errorf("worker: Beat is %v; expected more than nothing and less than the lease of %v", opt.Beat, opt.Lease)
	}
	if opt.Concurrency == 0 {
		opt.Concurrency = 1
	}
	if opt.Concurrency < 0 {
		return nil, fmt.Errorf("worker: Concurrency is %d; expected at least 1", opt.Concurrency)
	}
	if opt.Poll <= 0 {
		opt.Poll = 100 * time.Millisecond
	}
	if opt.Grace == 0 {
		opt.Grace = cmp.Or(opt.Lease, time.Minute)
	}
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	opt.Log = opt.Log.With("machine", m.Schema().Machine, "actor", actor)
	return &Worker[R]{machine: m, now: m.Engine().Now, bell: m.Engine().Store.Bell(), queue: m.Schema().Table,
		actor: actor, do: do, opt: opt}, nil
}

// Run claims and works until ctx ends. Then it claims nothing more, hands back what was
// claimed and not begun, and lets what has begun go on for the time of grace. It ends the
// contexts of what is left with ErrStopping, waits 5 s for that, and returns nil. Where
// work still runs, it returns a *StuckError instead, which names the records. That work is
// left alone: its goroutines go on and keep its leases alive as long as the process lives.
//
// An error of the store is logged and tried again. Run returns one only when the same call
// would fail for ever: the store is closed, must be opened anew, or is not the machine's.
//
// A record that somebody moves while the worker holds it ends its work's context within a
// second, also without a heartbeat, where the store tells of it: from the same process
// always, from others over PostgreSQL without a pooler. Elsewhere the next heartbeat finds
// it. For each such move the worker reads the record once, and at most ten times a second
// those that moved; what nobody moves costs nothing.
func (w *Worker[R]) Run(ctx context.Context) error {
	hard, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	free := make(chan struct{}, w.opt.Concurrency)
	for range w.opt.Concurrency {
		free <- struct{}{}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	running := map[*job[R]]bool{}
	idle, next := 0, make(chan *job[R]) // goroutines that stay, and what they wait for
	ended := func(j *job[R], stays int) {
		mu.Lock()
		delete(running, j)
		idle += stays
		mu.Unlock()
		free <- struct{}{}
	}
	do := func(j *job[R]) {
		exits := true
		defer func() {
			if exits { // the work has ended its goroutine
				ended(j, 0)
			}
		}()
		if ctx.Err() != nil && w.do.Release != nil { // its claim was answered as the worker stopped
			w.release(hard, j.h)
			w.observe(Event{Kind: Released, ID: j.id, Err: ErrStopping})
		} else {
			j.work(hard)
		}
		exits = false
		ended(j, 1)
	}
	take := func(h *fsm.Held[R], asked time.Time) {
		j := w.job(h, asked)
		mu.Lock()
		running[j] = true
		waits := idle > 0
		if waits {
			idle--
		}
		mu.Unlock()
		if waits {
			next <- j
			return
		}
		wg.Go(func() {
			for ok := true; ok; j, ok = <-next {
				do(j)
			}
		})
	}
	err := func() error {
		defer close(next) // those that are idle end, whatever a claim does
		return w.claim(ctx, free, take)
	}()
	var grace *time.Timer
	if w.opt.Grace > 0 {
		grace = time.AfterFunc(w.opt.Grace, func() { cancel(ErrStopping) })
		defer grace.Stop()
	} else {
		cancel(ErrStopping)
	}
	all := make(chan struct{})
	go func() {
		wg.Wait()
		close(all)
	}()
	select {
	case <-all:
		return err
	case <-hard.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-all:
		return err
	case <-late.C:
	}
	mu.Lock()
	defer mu.Unlock()
	stuck := &StuckError{Machine: w.machine.Schema().Machine}
	for j := range running {
		j.stuck(ErrStopping)
		stuck.IDs = append(stuck.IDs, j.id)
	}
	if stuck.IDs == nil {
		return err
	}
	slices.Sort(stuck.IDs)
	w.opt.Log.ErrorContext(ctx, "the worker stops while work still runs", "ids", stuck.IDs)
	return errors.Join(err, stuck)
}

// patience is how long work may go on once its context has ended: then it is stuck.
const patience = 5 * time.Second

// claim hands records to start, as many as there are free places, until ctx ends,
// and when it asked for them: their leases count from then.
func (w *Worker[R]) claim(ctx context.Context, free chan struct{}, start func(h *fsm.Held[R], asked time.Time)) error {
	for ctx.Err() == nil {
		n := w.places(ctx, free)
		if n == 0 {
			return nil
		}
		asked, mark := time.Now(), w.bell.Mark(w.queue)
		outs, err := w.claimSome(ctx, n)
		if w.opt.Lease > 0 && time.Since(asked) >= w.opt.Lease { // somebody else may have them by now
			for _, out := range outs {
				w.observe(Event{Kind: Lost, ID: out.Current.ID, Err: w.leaseOver(out.Current.ID, nil)})
			}
			outs = nil
		}
		for range n - len(outs) {
			free <- struct{}{}
		}
		for _, out := range outs {
			start(w.machine.HoldOutcome(out, w.actor), asked)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, fsm.ErrNothingToDo):
			w.observe(Event{Kind: Idle})
		case ctx.Err() != nil:
			return nil
		case forGood(err):
			return err
		default:
			w.observe(Event{Kind: Error, Err: err})
			w.opt.Log.ErrorContext(ctx, "claim", "error", err)
			mark = w.bell.Mark(w.queue) // the store is to have its pause
		}
		w.bell.Wait(ctx, w.queue, mark, w.pause())
	}
	return nil
}

// claimSome picks up to n records. A claim that has no answer in half of the lease
// is of no use: what it might yet get had little time left.
func (w *Worker[R]) claimSome(ctx context.Context, n int) ([]fsm.Outcome[R], error) {
	if w.opt.Lease > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.opt.Lease/2)
		defer cancel()
	}
	w.machine.Engine().Compare(ctx) // before the lease is counted from now
	return w.do.Claim(call.Worker(ctx), n, w.now().Add(w.opt.Lease))
}

// places takes one free place, waiting for it, and all others that are free.
func (w *Worker[R]) places(ctx context.Context, free chan struct{}) int {
	select {
	case <-free:
	case <-ctx.Done():
		return 0
	}
	for n := 1; ; n++ {
		select {
		case <-free:
		default:
			return n
		}
	}
}

// pause returns the time of Poll, a quarter more or less by chance, so that workers
// who started together do not ask together.
func (w *Worker[R]) pause() time.Duration {
	d := w.opt.Poll
	if quarter := int64(d / 4); quarter > 0 {
		d += time.Duration(rand.Int64N(2*quarter) - quarter)
	}
	return d
}

// release hands a record back.
func (w *Worker[R]) release(ctx context.Context, h *fsm.Held[R]) {
	if err := w.do.Release(ctx, h); err != nil {
		w.opt.Log.ErrorContext(ctx, "release", "id", h.Ref().ID, "error", err)
	}
}

func (w *Worker[R]) observe(e Event) {
	if w.opt.Observe != nil {
		w.opt.Observe(e)
	}
}
