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
	"runtime/debug"
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
	// Concurrency is how many records are worked on at once; zero is 1.
	Concurrency int
	// Poll is the longest pause after a claim that found nothing, within a quarter of
	// it by chance; zero is 100 ms. Mostly the store wakes the worker before: at once in
	// its own process, within milliseconds in others over PostgreSQL. Poll finds what
	// nobody tells: a time that has come, what was written by SQL or by a process that
	// died, and what another transaction held at the time and left as it was.
	Poll time.Duration
	// Grace is how long work that has begun may go on once Run's context has
	// ended; zero is Lease, or a minute without one; below zero is no time at all.
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
	Took time.Duration // of the work, from claim to end; zero before the end
	Err  error         // nil unless the kind says that there is one
}

// Kind says what happened.
type Kind string

const (
	Claimed  Kind = "claimed"  // work begins
	Done     Kind = "done"     // the work has ended the record's stay with the worker
	Failed   Kind = "failed"   // the work returned an error or panicked; Err is it
	Lost     Kind = "lost"     // a heartbeat was refused: somebody else may have the record; Err says why
	Released Kind = "released" // the worker stopped before the work was done
	Idle     Kind = "idle"     // there was nothing to claim that nobody else holds
	Error    Kind = "error"    // the store did not answer as it should; Err is it
)

// ErrLost stands in the cause of the end of a work's context when the record is not the
// worker's any more. The cause is a *LostError.
var ErrLost = errors.New("the worker no longer holds the record")

// Why a record was lost: one of them stands in each *LostError.
var (
	// ErrMoved: it has left the states that the worker keeps alive; it was cancelled, or
	// the sweeper took it.
	ErrMoved = errors.New("it has left the state of the work")
	// ErrTaken: it is in such a state, but not as this worker left it. Another
	// worker has it, or somebody changed it in place.
	ErrTaken = errors.New("somebody else has taken or changed it")
	// ErrLeaseOver: nobody is known to have it, but the time of the lease is over.
	ErrLeaseOver = errors.New("its lease ended before a heartbeat was answered")
)

// LostError says that a record is not the worker's any more, and who has moved it.
type LostError struct {
	Machine   string
	ID        string
	Why       error  // ErrMoved, ErrTaken or ErrLeaseOver
	State     string // where the record is now, by its name in the specification; empty when not known
	Operation string // that changed it last, as State
	Actor     string // of that change
	Err       error  // what the heartbeat was answered; nil when there was no answer
}

// Error says what became of the record.
func (e *LostError) Error() string {
	text := ErrLost.Error() + ": " + e.Why.Error()
	if e.State != "" {
		text += fmt.Sprintf("; it is %s by %s of %q", e.State, e.Operation, e.Actor)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// InState returns the machine, and the name of the state in which the record is now.
func (e *LostError) InState() (machine, state string) { return e.Machine, e.State }

// Unwrap returns ErrLost, why, and what the heartbeat was answered.
func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Why, e.Err} }

// ErrStopping is the cause of the end of a work's context when the worker stops
// and its grace is over.
var ErrStopping = errors.New("the worker is stopping")

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
	// Failed writes down that the work failed. The handle is the newest.
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
// claimed and not begun, lets what has begun go on for the time of grace, ends the contexts of what is left with
// ErrStopping, waits until all work has returned, and returns nil. An error of
// the store is logged and tried again; Run returns one only when the same call
// would fail for ever: the store is closed, must be opened anew, or is not the
// machine's.
func (w *Worker[R]) Run(ctx context.Context) error {
	hard, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	free := make(chan struct{}, w.opt.Concurrency)
	for range w.opt.Concurrency {
		free <- struct{}{}
	}
	var wg sync.WaitGroup
	err := w.claim(ctx, free, func(h *fsm.Held[R], asked time.Time) {
		wg.Go(func() {
			defer func() { free <- struct{}{} }()
			if ctx.Err() != nil && w.do.Release != nil { // its claim was answered as the worker stopped
				w.release(hard, h)
				w.observe(Event{Kind: Released, ID: h.Ref().ID, Err: ErrStopping})
				return
			}
			w.work(hard, h, asked)
		})
	})
	var grace *time.Timer
	if w.opt.Grace > 0 {
		grace = time.AfterFunc(w.opt.Grace, func() { cancel(ErrStopping) })
		defer grace.Stop()
	} else {
		cancel(ErrStopping)
	}
	wg.Wait()
	return err
}

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

// work works on one record.
func (w *Worker[R]) work(ctx context.Context, h *fsm.Held[R], asked time.Time) {
	id := h.Ref().ID
	log := func() *slog.Logger { return w.opt.Log.With("id", id) }
	began := time.Now()
	w.observe(Event{Kind: Claimed, ID: id})
	end := func(kind Kind, err error) {
		w.observe(Event{Kind: kind, ID: id, Took: time.Since(began), Err: err})
	}

	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	still := func() {}
	switch {
	case w.do.Beat != nil:
		still = w.beats(ctx, h, asked, lose)
		defer still() // also when the work ends its goroutine
	case w.opt.Lease > 0:
		over := time.AfterFunc(time.Until(asked.Add(w.opt.Lease)), func() { lose(w.leaseOver(id, nil)) })
		defer over.Stop()
	}
	err := w.guarded(working, h)
	still()

	last := h.EngineNewest()
	rec := last.Record()
	ours := w.do.Holds(&rec)
	after := context.WithoutCancel(ctx)
	switch cause := context.Cause(working); {
	case err == nil && !ours:
		end(Done, nil)
	case errors.Is(cause, ErrLost):
		log().WarnContext(ctx, "the record was lost while it was worked on", "cause", cause, "error", err)
		end(Lost, cause)
	case errors.Is(cause, ErrStopping) && ours && err != nil:
		log().InfoContext(ctx, "stopped before the work was done", "error", err)
		if w.do.Release != nil {
			w.release(after, last)
		}
		end(Released, err)
	default:
		if err == nil {
			err = ErrUnfinished
		}
		if ours {
			switch failed := w.do.Failed(after, last, err); {
			case failed != nil && refusedForGood(failed):
				log().WarnContext(ctx, "the record was lost while it was worked on", "cause", failed, "error", err)
				end(Lost, w.lost(after, id, failed))
				return
			case failed != nil:
				log().ErrorContext(ctx, "the failure was not recorded", "error", failed)
			}
		}
		log().WarnContext(ctx, "the work failed", "error", err)
		end(Failed, err)
	}
}

// release hands a record back.
func (w *Worker[R]) release(ctx context.Context, h *fsm.Held[R]) {
	if err := w.do.Release(ctx, h); err != nil {
		w.opt.Log.ErrorContext(ctx, "release", "id", h.Ref().ID, "error", err)
	}
}

// guarded runs the work and makes an error of a panic.
func (w *Worker[R]) guarded(ctx context.Context, h *fsm.Held[R]) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &fsm.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return w.do.Work(ctx, h)
}

// beats lets a goroutine extend the lease from the first beat on: most work is over before.
// still ends it, and waits for a beat that has begun.
func (w *Worker[R]) beats(ctx context.Context, h *fsm.Held[R], asked time.Time, lose context.CancelCauseFunc) (still func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	first := time.AfterFunc(time.Until(asked.Add(w.opt.Beat)), func() {
		defer close(ended)
		w.beat(context.WithoutCancel(ctx), h, asked, stop, lose)
	})
	return sync.OnceFunc(func() {
		close(stop)
		if !first.Stop() {
			<-ended
		}
	})
}

// beat extends the lease, which was asked for at a time, until stop is closed, or
// loses the record. An answer that did not come is no refusal: as long as the lease
// may last it is asked for again.
func (w *Worker[R]) beat(ctx context.Context, h *fsm.Held[R], asked time.Time, stop <-chan struct{}, lose context.CancelCauseFunc) {
	until := asked.Add(w.opt.Lease)
	for {
		next := asked.Add(w.opt.Beat)
		if next.After(until) { // the last beat failed: at the end of the lease the work is told
			next = until
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		last := h.EngineNewest()
		rec := last.Record()
		if !w.do.Holds(&rec) {
			return // it has come to its end
		}
		asked = time.Now()
		if !w.do.Beats(&rec) { // the work has yet to bring it to where it is kept alive
			until = asked.Add(w.opt.Lease)
			continue
		}
		bounded, cancel := context.WithDeadline(ctx, until)
		over := context.AfterFunc(bounded, func() { lose(w.leaseOver(last.Ref().ID, nil)) })
		err := w.do.Beat(bounded, last, w.now().Add(w.opt.Lease))
		over()
		cancel()
		switch {
		case err == nil:
			until = asked.Add(w.opt.Lease)
		case h.EngineNewest() != last: // the work went on meanwhile; its handle beats at once
			asked = asked.Add(-w.opt.Beat)
		case refusedForGood(err):
			lose(w.lost(ctx, last.Ref().ID, err))
			return
		case !time.Now().Before(until):
			lose(w.leaseOver(last.Ref().ID, err))
			return
		}
	}
}

// leaseOver says that the time of a lease is over.
func (w *Worker[R]) leaseOver(id string, err error) *LostError {
	return &LostError{Machine: w.machine.Schema().Machine, ID: id, Why: ErrLeaseOver, Err: err}
}

// lost looks what became of a record that was refused to its worker.
func (w *Worker[R]) lost(ctx context.Context, id string, refused error) *LostError {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.opt.Lease, time.Minute))
	defer cancel()
	e := &LostError{Machine: w.machine.Schema().Machine, ID: id, Why: ErrMoved, Err: refused}
	rec, err := w.machine.Record(ctx, id)
	if err == nil && w.do.Holds(&rec) {
		e.Why = ErrTaken
	}
	for event, err := range w.machine.History(ctx, id) {
		if err != nil {
			return e
		}
		if !event.RecordOnly() {
			e.Actor, e.Operation, e.State = event.Actor, w.operation(event.Operation), w.machine.Schema().StateName(event.To)
		}
	}
	return e
}

// operation returns the name of an operation in the specification, by its stored word.
func (w *Worker[R]) operation(stored string) string {
	for _, op := range w.machine.Descriptor().Operations {
		if op.Stored == stored {
			return op.Name
		}
	}
	return stored
}

// refusedForGood reports whether an error says that the record has gone on
// without its holder.
func refusedForGood(err error) bool {
	var refused *fsm.Refusal
	var recorded *fsm.RecordedError
	return (errors.As(err, &refused) || errors.As(err, &recorded)) && !errors.Is(err, fsm.ErrAmbiguous) && !errors.Is(err, fsm.ErrBusy)
}

func (w *Worker[R]) observe(e Event) {
	if w.opt.Observe != nil {
		w.opt.Observe(e)
	}
}
