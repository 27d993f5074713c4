package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

type (
	machine = fsm.Machine[storetest.Parcel]
	handle  = fsm.Held[storetest.Parcel]
)

var (
	w1  = storetest.Meta{Actor: "w1"}
	w2  = storetest.Meta{Actor: "w2"}
	ann = storetest.Meta{Actor: "ann"}
)

// losses are the ways in which a record is lost, and how each is told.
var losses = []struct {
	name  string
	lease time.Duration
	do    func(ctx context.Context, p *place) error
	kind  string
	why   []error // one of them
	log   string
}{
	{"moved by a person", time.Hour, moved, "cancelled", []error{worker.ErrMoved}, `level=INFO msg="moved by ann: shelve"`},
	{"taken by another worker", time.Hour, taken, "lost", []error{worker.ErrMoved, worker.ErrTaken}, "level=WARN"}, // between the two steps it has moved
	{"its lease is over", 2 * time.Second, func(context.Context, *place) error { return nil }, "lost", []error{worker.ErrLeaseOver}, "level=WARN"},
}

func moved(ctx context.Context, p *place) error {
	_, err := p.other.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Shelve(ann, "s", "by ann"))
	return err
}

func taken(ctx context.Context, p *place) error {
	_, err := p.other.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Release())
	if err == nil {
		_, err = p.other.Pick(ctx, 1, storetest.Hold(w2, "a", time.Now().Add(time.Hour)))
	}
	return err
}

// A worker tells that a record is lost when it is, and why: long before a heartbeat, also
// without one, and also while the work goes on. No kind of loss is told as a failure, and
// none twice.
func TestLossIsToldAtOnce(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, opened func(*testing.T, func(fsm.Store) fsm.Store) *place) {
		for _, c := range losses {
			for _, heeds := range []bool{true, false} {
				for _, beats := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/heeds %v/beats %v", c.name, heeds, beats), func(t *testing.T) {
						t.Parallel()
						p, l := opened(t, plain), newTold()
						begun, let, cause := newSignal(), newSignal(), error(nil)
						do := funcs(p.m, func(ctx context.Context, _ *handle) error {
							begun.give()
							if heeds {
								<-ctx.Done()
							} else {
								let.wait(t)
							}
							cause = context.Cause(ctx)
							return cause
						}, never(t))
						if beats {
							do = beating(do)
						}
						if beats && c.lease < time.Hour { // no heartbeat is answered
							do.Beat = func(ctx context.Context, _ *handle, _ time.Time) error {
								<-ctx.Done()
								return ctx.Err()
							}
						}
						stop := run(t, p.m, l, do, worker.Options{Lease: c.lease, Beat: c.lease - time.Second})
						begun.wait(t)
						if err := c.do(t.Context(), p); err != nil {
							t.Fatal(err)
						}
						e := l.until(t, c.kind) // the work that heeds nothing still runs
						let.give()
						if err := stop(); err != nil {
							t.Errorf("Run: %v", err)
						}
						l.expect(t, "claimed", c.kind)
						lost := &worker.LostError{}
						if !errors.As(e.Err, &lost) || !errors.Is(cause, e.Err) || e.ID != "p1" || e.Took <= 0 {
							t.Errorf("told %+v; the context ended by %v", e, cause)
						}
						why := false
						for _, w := range c.why {
							why = why || errors.Is(cause, w)
						}
						if !why || !errors.Is(cause, worker.ErrLost) {
							t.Errorf("the context ended by %v, want one of %v", cause, c.why)
						}
						if c.kind == "cancelled" && !strings.Contains(cause.Error(), "shelved by ann: shelve") {
							t.Errorf("the context ended by %v, which does not say who", cause)
						}
						if log := l.logged(); !strings.Contains(log, c.log) || c.kind == "cancelled" && strings.Contains(log, "WARN") {
							t.Errorf("the log does not have %s alone:\n%s", c.log, log)
						}
					})
				}
			}
		}
	})
}

// A finish that is refused since somebody else has the record is told as what became of
// the record. Failed is not called.
func TestRefusedFinish(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, opened func(*testing.T, func(fsm.Store) fsm.Store) *place) {
		for _, c := range losses[:2] {
			for _, says := range []string{"its refusal", "nothing", "another error"} {
				t.Run(c.name+"/the work returns "+says, func(t *testing.T) {
					t.Parallel()
					p, l := opened(t, plain), newTold()
					stop := run(t, p.m, l, beating(funcs(p.m, func(ctx context.Context, h *handle) error {
						if err := c.do(context.WithoutCancel(ctx), p); err != nil {
							t.Error(err)
						}
						_, err := h.EngineMove(context.WithoutCancel(ctx), storetest.Shelve(w1, "s1", "done"))
						switch {
						case err == nil:
							t.Error("the finish is not refused")
						case says == "nothing":
							return nil
						case says == "another error":
							return errors.New("no paper")
						}
						return err
					}, never(t))), worker.Options{Lease: time.Hour})
					l.until(t, c.kind)
					if err := stop(); err != nil {
						t.Errorf("Run: %v", err)
					}
					l.expect(t, "claimed", c.kind)
				})
			}
		}
	})
}

// Work that finishes its record in a transaction of the caller's own is done, and nothing
// is said of it. What it does afterwards goes on.
func TestFinishInATransaction(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, opened func(*testing.T, func(fsm.Store) fsm.Store) *place) {
		for _, kind := range []string{"memstore", "database/sql", "pgx"} {
			for _, beats := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/beats %v", kind, beats), func(t *testing.T) {
					t.Parallel()
					p, l := opened(t, plain), newTold()
					in := p.joints[kind]
					if in == nil {
						t.Skip("this store has no such transactions")
					}
					do := funcs(p.m, func(ctx context.Context, h *handle) error {
						return in(ctx, func(in *machine) error {
							_, err := in.Apply(ctx, h, storetest.Shelve(w1, "s1", "done"))
							return err
						})
					}, never(t))
					if beats {
						do = beating(do)
					}
					stop := run(t, p.m, l, do, worker.Options{Lease: time.Hour})
					l.until(t, "done")
					if err := stop(); err != nil {
						t.Errorf("Run: %v", err)
					}
					l.expect(t, "claimed", "done")
					if log := l.logged(); log != "" {
						t.Errorf("the log says:\n%s", log)
					}
				})
			}
		}
	})
}

// Work that goes on after it has finished its record in a transaction is not told that
// it has lost it, neither by the announcement nor by a heartbeat. One that was rolled
// back has finished nothing.
func TestAfterTheTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, l := inMemory(t, plain), newTold()
		stop := run(t, p.m, l, beating(funcs(p.m, func(ctx context.Context, h *handle) error {
			err := p.joints["memstore"](ctx, func(in *machine) error {
				_, err := in.Apply(ctx, h, storetest.Shelve(w1, "s1", "done"))
				return err
			})
			time.Sleep(time.Hour)
			return errors.Join(err, context.Cause(ctx))
		}, never(t))), worker.Options{Lease: time.Minute})
		l.until(t, "claimed")
		time.Sleep(2 * time.Hour)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		l.expect(t, "claimed", "done")
	})
	synctest.Test(t, func(t *testing.T) {
		p, l, failed := inMemory(t, plain), newTold(), 0
		rolledBack := errors.New("rolled back")
		stop := run(t, p.m, l, beating(funcs(p.m, func(ctx context.Context, h *handle) error {
			return p.joints["memstore"](ctx, func(in *machine) error {
				_, err := in.Apply(ctx, h, storetest.Shelve(w1, "s1", "done"))
				return errors.Join(err, rolledBack)
			})
		}, func(error) { failed++ })), worker.Options{Lease: time.Minute})
		time.Sleep(time.Hour)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if l.expect(t, "claimed", "failed"); failed != 1 {
			t.Errorf("Failed was called %d times", failed)
		}
	})
}

// lossy is a store that loses the answer of a write, and then answers nothing for a time.
type lossy struct {
	fsm.Store
	lands bool         // whether the write was applied
	armed atomic.Bool  // the next write is the one
	deaf  atomic.Bool  // it answers nothing
	lost  func()       // is called when the answer is lost
	more  atomic.Int64 // questions until it answers again
}

type lossyTable struct {
	driver.Table
	s *lossy
}

var errLost = errors.New("the connection broke")

func (s *lossy) Table(schema *driver.Schema) (driver.Table, error) {
	table, err := s.Store.Table(schema)
	return &lossyTable{table, s}, err
}

// ask loses the answer of do, or does it.
func (s *lossy) ask(write bool, do func() error) error {
	if s.deaf.Load() {
		if s.more.Add(-1) == 0 {
			s.deaf.Store(false)
		}
		return &fsm.AmbiguousError{Err: errLost}
	}
	if !write || !s.armed.CompareAndSwap(true, false) {
		return do()
	}
	var err error
	if s.lands {
		err = do()
	}
	s.deaf.Store(true)
	s.lost()
	return errors.Join(err, &fsm.AmbiguousError{Err: errLost})
}

func (t *lossyTable) Commit(ctx context.Context, w *driver.Write) error {
	return t.s.ask(true, func() error { return t.Table.Commit(ctx, w) })
}

func (t *lossyTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	return t.s.ask(true, func() error { return t.Table.Update(ctx, f) })
}

func (t *lossyTable) View(ctx context.Context, f func(driver.Reader) error) error {
	return t.s.ask(false, func() error { return t.Table.View(ctx, f) })
}

func (t *lossyTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	return t.s.ask(false, func() error { return t.Table.Look(ctx, f) })
}

// A finish whose answer was lost is looked for before the work counts as failed, and as
// long as the store does not answer.
func TestFinishWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, opened func(*testing.T, func(fsm.Store) fsm.Store) *place) {
		for _, lands := range []bool{true, false} {
			for _, more := range []int64{0, 3} { // questions of the worker that have no answer either
				t.Run(fmt.Sprintf("landed %v/%d questions more", lands, more), func(t *testing.T) {
					t.Parallel()
					store, l := &lossy{lands: lands}, newTold()
					p := opened(t, func(s fsm.Store) fsm.Store {
						store.Store = s
						return store
					})
					var failed atomic.Int64
					stop := run(t, p.m, l, beating(funcs(p.m, func(ctx context.Context, h *handle) error {
						ctx, store.lost = context.WithCancel(ctx)
						store.armed.Store(true)
						_, err := h.EngineMove(ctx, storetest.Shelve(w1, "s1", "done"))
						if !errors.Is(err, fsm.ErrAmbiguous) {
							t.Errorf("the finish returned %v, want ErrAmbiguous", err)
						}
						store.more.Store(more)
						store.deaf.Store(more > 0)
						return err
					}, func(error) { failed.Add(1) })), worker.Options{Lease: time.Hour})
					end := map[bool]string{true: "done", false: "failed"}[lands]
					l.until(t, end)
					if err := stop(); err != nil {
						t.Errorf("Run: %v", err)
					}
					l.expect(t, "claimed", end)
					if n := failed.Load(); (n == 0) != lands {
						t.Errorf("Failed was called %d times", n)
					}
				})
			}
		}
	})
}

// Work that ignores the end of its context is told as stuck, and once more when it has
// returned. Its end is told once.
func TestStuckWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, l, let := inMemory(t, plain), newTold(), make(chan bool)
		stop := run(t, p.m, l, beating(funcs(p.m, func(context.Context, *handle) error {
			<-let
			return nil
		}, never(t))), worker.Options{Lease: time.Hour})
		l.until(t, "claimed")
		if err := moved(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		lost := l.until(t, "cancelled")
		stuck := l.until(t, "stuck")
		if stuck.ID != "p1" || !errors.Is(stuck.Err, lost.Err) || stuck.Took-lost.Took != 5*time.Second {
			t.Errorf("told %+v, after %+v", stuck, lost)
		}
		l.expect(t, "claimed", "cancelled", "stuck")
		close(let)
		l.until(t, "returned")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		l.expect(t, "claimed", "cancelled", "stuck", "returned")
	})
}

// Run does not wait for ever for work that ignores the end of its context: it returns
// soon after the grace, with the names of the records. The work keeps its lease while it
// goes on.
func TestRunLeavesStuckWork(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, l, let := inMemory(t, plain), newTold(), make(chan bool)
			stop := run(t, p.m, l, beating(funcs(p.m, func(ctx context.Context, h *handle) error {
				<-let
				_, err := h.EngineMove(context.WithoutCancel(ctx), storetest.Shelve(w1, "s1", "late"))
				return err
			}, never(t))), worker.Options{Lease: time.Minute, Grace: 3 * time.Minute})
			l.until(t, "claimed")
			want := []string{"claimed", "stuck"}
			if lost {
				if err := moved(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				l.until(t, "stuck")
				want = []string{"claimed", "cancelled", "stuck"}
			}
			begun := time.Now()
			err := stop()
			stuck := &worker.StuckError{}
			if !errors.As(err, &stuck) || !errors.Is(err, worker.ErrStuck) || strings.Join(stuck.IDs, " ") != "p1" || !strings.Contains(err.Error(), "p1") {
				t.Errorf("Run returned %v, want a StuckError that names p1", err)
			}
			if took := time.Since(begun); took < 3*time.Minute || took > 3*time.Minute+10*time.Second {
				t.Errorf("Run took %v, want the grace of three minutes, and a little more", took)
			}
			l.expect(t, want...)
			time.Sleep(time.Hour)
			if n, err := p.m.Sweep(t.Context()); n != 0 || err != nil {
				t.Errorf("swept %d, %v", n, err)
			}
			close(let)
			synctest.Wait()
			if want = append(want, "returned"); !lost {
				want = append(want, "done")
			}
			l.expect(t, want...)
		})
	}
}

// signal is given once and may be waited for.
type signal struct {
	c    chan struct{}
	once sync.Once
}

func newSignal() *signal { return &signal{c: make(chan struct{})} }

func (s *signal) give() { s.once.Do(func() { close(s.c) }) }

func (s *signal) wait(t *testing.T) {
	select {
	case <-s.c:
	case <-time.After(time.Minute):
		t.Error("nothing happened")
	}
}
