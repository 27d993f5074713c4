package fsm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	fsmworker "github.com/fsmgen/fsmgen/runtime/worker"
)

// hands is a worker of parcels under test: what it claims, it holds for a
// minute, and sends.
type hands struct {
	m   *machine
	mu  sync.Mutex
	out strings.Builder // what was observed, without times
	log bytes.Buffer
}

func (w *hands) observe(e fsmworker.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Kind == fsmworker.Idle {
		return
	}
	fmt.Fprintf(&w.out, "%s %s", e.Kind, e.ID)
	if e.Err != nil {
		fmt.Fprintf(&w.out, ": %v", e.Err)
	}
	w.out.WriteByte('\n')
}

func (w *hands) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// start makes n parcels and a worker that holds what it claims for a minute.
func (w *hands) start(t *testing.T, store fsm.Store, n int, work func(ctx context.Context, h *handle) error, opt fsmworker.Options) *fsmworker.Worker[storetest.Parcel] {
	t.Helper()
	w.m = open(t, store, storetest.Schema())
	for i := range n {
		must(t)(w.m.Create(t.Context(), storetest.Register(meta(""), in(fmt.Sprintf("p%d", i+1)))))
	}
	opt.Lease, opt.Observe = time.Minute, w.observe
	opt.Log = slog.New(slog.NewTextHandler(w, nil))
	worker, err := fsmworker.New(w.m, "w1", fsmworker.Funcs[storetest.Parcel]{
		Claim: func(ctx context.Context, n int, until time.Time) ([]outcome, error) {
			return w.m.Pick(ctx, n, storetest.Hold(w1, "a", until))
		},
		Beat: func(ctx context.Context, h *handle, until time.Time) error {
			return h.EngineStay(ctx, storetest.Touch(w1, until))
		},
		Beats:  func(p *storetest.Parcel) bool { return p.State == "held" },
		Work:   work,
		Failed: func(ctx context.Context, h *handle, cause error) error { return w.send(ctx, h, "failed") },
		Release: func(ctx context.Context, h *handle) error {
			return w.send(ctx, h, "released")
		},
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return worker
}

// send ends a parcel's stay with the worker.
func (w *hands) send(ctx context.Context, h *handle, tag string) error {
	shelved, err := h.EngineMove(ctx, storetest.Shelve(w1, h.Ref().ID, tag))
	if err == nil {
		_, err = shelved.EngineMove(ctx, storetest.Send(w1))
	}
	return err
}

// run runs a worker for a while and returns what was observed, and how each
// parcel ended.
func (w *hands) run(t *testing.T, worker *fsmworker.Worker[storetest.Parcel], d time.Duration) (observed, ended string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	if err := worker.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	var list []string
	for p, err := range w.m.List(t.Context(), driver.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprint(p.ID, " ", p.State, " ", strings.Join(p.Tags.Items(), ","))))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String(), strings.Join(list, "\n")
}

func check(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Work longer than the lease keeps what it holds, as long as it runs, and ends
// it at the revision that the heartbeats have led to.
func TestWorkerKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		worker := w.start(t, newStore(), 1, func(ctx context.Context, h *handle) error {
			for range 10 {
				time.Sleep(time.Minute)
				if _, err := w.m.Sweep(ctx); err != nil {
					return err
				}
			}
			return w.send(ctx, h, "done")
		}, fsmworker.Options{})
		observed, ended := w.run(t, worker, 11*time.Minute)
		check(t, "observed", "claimed p1\ndone p1", observed)
		check(t, "parcels", "p1 sent done", ended)
		if got := strings.Count(names(t, w.m, "p1"), "touch"); got < 28 || got > 30 {
			t.Errorf("%d heartbeats in ten minutes, want one each 20 s", got)
		}
		check(t, "the log", "", w.log.String())
	})
}

// The lease counts from when it was asked for: a claim that had to wait is extended
// the sooner.
func TestWorkerWhoseClaimWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store := &hands{}, &wrapped{Store: newStore()}
		worker := w.start(t, store, 1, func(ctx context.Context, h *handle) error {
			for range 20 {
				time.Sleep(10 * time.Second)
				if _, err := w.m.Sweep(ctx); err != nil {
					return err
				}
			}
			return w.send(ctx, h, "done")
		}, fsmworker.Options{})
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if store.bulks.Load() == 1 {
				time.Sleep(25 * time.Second)
			}
			return table.Update(ctx, f)
		}
		observed, ended := w.run(t, worker, 4*time.Minute)
		check(t, "observed", "claimed p1\ndone p1", observed)
		check(t, "parcels", "p1 sent done", ended)
		if got := names(t, w.m, "p1"); !strings.HasPrefix(got, "register hold touch") {
			t.Errorf("the log is %s", got)
		}
	})
}

// Work that ends its goroutine leaves its record to the end of the lease.
func TestWorkerWhoseWorkExits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store := &hands{}, newStore()
		worker := w.start(t, store, 1, func(context.Context, *handle) error {
			runtime.Goexit()
			return nil
		}, fsmworker.Options{})
		w.run(t, worker, 30*time.Second)
		time.Sleep(31 * time.Second)
		if n, err := w.m.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("swept %d, %v: %s", n, err, names(t, w.m, "p1"))
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A failure, a panic and work that leaves everything as it was are written down.
func TestWorkerFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		worker := w.start(t, newStore(), 4, func(ctx context.Context, h *handle) error {
			switch h.Ref().ID {
			case "p1":
				return errors.New("no paper")
			case "p2":
				panic(fmt.Errorf("in the handler: %w", context.Canceled))
			case "p3":
				return nil
			}
			return errors.Join(w.send(ctx, h, "done"), errors.New("after the end"))
		}, fsmworker.Options{})
		observed, ended := w.run(t, worker, time.Minute)
		check(t, "observed", `claimed p1
failed p1: no paper
claimed p2
failed p2: the work panicked: in the handler: context canceled
claimed p3
failed p3: the work returned, but the record is still with the worker
claimed p4
failed p4: after the end`, observed)
		check(t, "parcels", "p1 sent failed\np2 sent failed\np3 sent failed\np4 sent done", ended)
		for _, id := range []string{"p1", "p2", "p3", "p4"} {
			if !strings.Contains(w.log.String(), "machine=parcel actor=w1 id="+id) {
				t.Errorf("the log does not tell of %s:\n%s", id, w.log.String())
			}
		}
	})
	p := &fsm.PanicError{Value: context.Canceled}
	if !errors.Is(p, context.Canceled) || errors.Is(&fsm.PanicError{Value: "x"}, context.Canceled) {
		t.Error("a panic of an error does not unwrap to it")
	}
}

// A worker whose record was taken away stops working on it and writes nothing.
func TestWorkerLoses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		worker := w.start(t, newStore(), 1, func(ctx context.Context, h *handle) error {
			must(t)(w.m.Apply(ctx, h, words("somebody else")))
			<-ctx.Done()
			isLost(ctx, t, fsmworker.ErrTaken, "held", "annotate", "w1")
			return context.Cause(ctx)
		}, fsmworker.Options{})
		began := time.Now()
		observed, ended := w.run(t, worker, 10*time.Minute)
		if !strings.HasPrefix(observed, "claimed p1\nlost p1: the worker no longer holds the record: ") || strings.Count(observed, "\n") != 2 {
			t.Errorf("observed:\n%s", observed)
		}
		check(t, "parcels", "p1 held", ended)
		if time.Since(began) < 10*time.Minute {
			t.Error("the worker ended early")
		}
	})
}

// isLost looks why the context of a work has ended.
func isLost(ctx context.Context, t *testing.T, why error, state, operation, actor string) {
	t.Helper()
	cause := context.Cause(ctx)
	lost := &fsmworker.LostError{}
	if !errors.As(cause, &lost) || !errors.Is(cause, fsmworker.ErrLost) || !errors.Is(cause, why) {
		t.Errorf("the context ended by %v, want a LostError with %v", cause, why)
		return
	}
	want := fsmworker.LostError{Machine: "parcel", ID: "p1", Why: why, State: state, Operation: operation, Actor: actor, Err: lost.Err}
	if *lost != want {
		t.Errorf("lost as %+v, want %+v", *lost, want)
	}
}

// Work on a record that is cancelled is told so without a heartbeat, and who did it: what
// follows the call is the caller's.
func TestWorkIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		var took time.Duration
		worker := w.start(t, newStore(), 1, func(ctx context.Context, h *handle) error {
			began := time.Now()
			must(t)(w.m.Apply(ctx, h.Ref(), storetest.Expel(storetest.Meta{Actor: "boss", Reason: "why"})))
			<-ctx.Done()
			took = time.Since(began)
			isLost(ctx, t, fsmworker.ErrMoved, "sent", "expel", "boss")
			return ctx.Err()
		}, fsmworker.Options{Beat: 59 * time.Second})
		observed, ended := w.run(t, worker, time.Minute)
		check(t, "parcels", "p1 sent", ended)
		if took > time.Second || !strings.HasPrefix(observed, "claimed p1\ncancelled p1: the worker no longer holds the record: it has left") ||
			!strings.Contains(observed, "sent by boss: expel") || !strings.Contains(w.log.String(), `level=INFO msg="moved by boss: expel"`) {
			t.Errorf("told after %v, observed:\n%s", took, observed)
		}
	})
}

// What a claim brings as the worker stops is handed back, and no work on it begins.
func TestWorkerHandsBackWhatIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		ctx, stop := context.WithCancel(t.Context())
		w.start(t, newStore(), 1, func(context.Context, *handle) error { return nil }, fsmworker.Options{})
		worker, err := fsmworker.New(w.m, "w1", fsmworker.Funcs[storetest.Parcel]{
			Claim: func(ctx context.Context, n int, until time.Time) ([]outcome, error) {
				defer stop()
				return w.m.Pick(ctx, n, storetest.Hold(w1, "a", until))
			},
			Beat:    func(context.Context, *handle, time.Time) error { return nil },
			Beats:   func(*storetest.Parcel) bool { return true },
			Work:    func(context.Context, *handle) error { t.Error("work has begun"); return nil },
			Failed:  func(context.Context, *handle, error) error { return nil },
			Release: func(ctx context.Context, h *handle) error { return w.send(ctx, h, "released") },
		}, fsmworker.Options{Lease: time.Minute, Observe: w.observe})
		if err != nil {
			t.Fatal(err)
		}
		if err := worker.Run(ctx); err != nil {
			t.Fatal(err)
		}
		check(t, "observed", "released p1: the worker is stopping", w.out.String())
		p, err := w.m.Record(t.Context(), "p1")
		if err != nil || p.State != "sent" {
			t.Errorf("the parcel is %s: %v", p.State, err)
		}
	})
}

// Run takes back what is held too long, performs effects at once, and works, until its
// context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store, performed := &hands{}, newStore(), make(chan string, 9)
		worker := w.start(t, store, 0, func(ctx context.Context, h *handle) error { return w.send(ctx, h, "done") }, fsmworker.Options{Poll: time.Hour})
		all := effects(nil)
		all["notify"] = func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
			performed <- p.ID
			return nil
		}
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), all)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Startup(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- fsmworker.Run(ctx, m, fsmworker.Upkeep{Sweep: time.Second, Deliver: time.Hour}, worker)
		}()
		synctest.Wait()
		begun := time.Now()
		must(t)(w.m.Create(ctx, storetest.Register(meta(""), in("p1"))))
		if id := <-performed; id != "p1" || time.Since(begun) != 0 {
			t.Errorf("%s was performed after %v, want p1 at once", id, time.Since(begun))
		}
		// What another worker let fall.
		tx := of[*memstore.Tx](t)(store.Begin(ctx))
		in1 := of[*machine](t)(w.m.In(ctx, fsm.Join(store, tx)))
		must(t)(in1.Create(ctx, storetest.Register(meta(""), in("p2"))))
		of[[]outcome](t)(in1.Pick(ctx, 1, storetest.Hold(storetest.Meta{Actor: "w2"}, "a", time.Now().Add(time.Minute))))
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if id := <-performed; id != "p2" || time.Since(begun) > time.Minute+2*time.Second {
			t.Errorf("%s was performed after %v, want p2 as soon as it was swept", id, time.Since(begun))
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := fsmworker.Run(t.Context(), m, fsmworker.Upkeep{Sweep: time.Nanosecond}); err == nil {
			t.Error("Run sweeps each nanosecond")
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if err := fsmworker.Run(t.Context(), m, fsmworker.Upkeep{}, worker); !errors.Is(err, fsm.ErrClosed) {
			t.Errorf("Run over a closed store: %v, want ErrClosed", err)
		}
	})
}

// When the worker stops, work that has begun may go on for the time of grace;
// what is left is handed back.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		grace           time.Duration
		observed, ended string
		took            time.Duration
	}{
		{"in time", 0, "claimed p1\nclaimed p2\ndone p1\ndone p2", "p1 sent done\np2 sent done\np3 waiting", 70 * time.Second},
		{"not in time", 20 * time.Second, "claimed p1\nclaimed p2\ndone p1\nreleased p2: the worker is stopping",
			"p1 sent done\np2 sent released\np3 waiting", 50 * time.Second},
		{"at once", -1, "claimed p1\nclaimed p2\nreleased p1: the worker is stopping\nreleased p2: the worker is stopping",
			"p1 sent released\np2 sent released\np3 waiting", 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &hands{}
				worker := w.start(t, newStore(), 3, func(ctx context.Context, h *handle) error {
					d := 40 * time.Second
					if h.Ref().ID == "p2" {
						d = 70 * time.Second
					}
					select {
					case <-time.After(d):
						return w.send(ctx, h, "done")
					case <-ctx.Done():
						time.Sleep(d / 1000) // p1 before p2
						return context.Cause(ctx)
					}
				}, fsmworker.Options{Concurrency: 2, Grace: c.grace})
				began := time.Now()
				observed, ended := w.run(t, worker, 30*time.Second)
				lines := strings.Split(strings.TrimSpace(observed), "\n")
				if len(lines) > 1 && lines[0] == "claimed p2" {
					lines[0], lines[1] = lines[1], lines[0] // two begin at once
				}
				check(t, "observed", c.observed, strings.Join(lines, "\n"))
				check(t, "parcels", c.ended, ended)
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("Run took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// As many records are worked on at once as were asked for, and all in the end.
func TestWorkerConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		var mu sync.Mutex
		now, most := 0, 0
		worker := w.start(t, newStore(), 20, func(ctx context.Context, h *handle) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return w.send(ctx, h, "done")
		}, fsmworker.Options{Concurrency: 3})
		observed, _ := w.run(t, worker, 10*time.Second)
		if done := strings.Count(observed, "done "); done != 20 || most != 3 {
			t.Errorf("%d done, at most %d at once; want 20 and 3", done, most)
		}
	})
}

// An error of the store is told and outlived; one that no repeat heals ends Run.
func TestWorkerStoreErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &hands{}
		fails := 3
		store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if w.m != nil && fails > 0 {
				fails--
				return fmt.Errorf("the disk is slow: %w", context.DeadlineExceeded)
			}
			return table.Update(ctx, f)
		}}
		worker := w.start(t, store, 1, func(ctx context.Context, h *handle) error { return w.send(ctx, h, "done") }, fsmworker.Options{})
		fails = 3
		observed, ended := w.run(t, worker, time.Minute)
		if !strings.HasPrefix(observed, "error : ") || !strings.HasSuffix(observed, "claimed p1\ndone p1\n") {
			t.Errorf("observed:\n%s", observed)
		}
		check(t, "parcels", "p1 sent done", ended)

		store.update = func(driver.Table, context.Context, func(fsm.Tx) error) error { return fsm.ErrClosed }
		if err := worker.Run(t.Context()); !errors.Is(err, fsm.ErrClosed) {
			t.Errorf("Run over a closed store: %v, want ErrClosed", err)
		}
	})
}

// A worker that cannot work is refused.
func TestNewWorkerRefuses(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	do := fsmworker.Funcs[storetest.Parcel]{
		Work:   func(context.Context, *handle) error { return nil },
		Failed: func(context.Context, *handle, error) error { return nil },
		Beat:   func(context.Context, *handle, time.Time) error { return nil },
		Beats:  func(*storetest.Parcel) bool { return true },
	}
	still, limited := do, do // nothing is kept alive; the machine says how long
	still.Beat, still.Beats, still.Holds = nil, nil, do.Beats
	limited.Lease = time.Minute
	for _, c := range []struct {
		want string
		do   fsmworker.Funcs[storetest.Parcel]
		opt  fsmworker.Options
	}{
		{"Work and Failed are required", fsmworker.Funcs[storetest.Parcel]{Work: do.Work}, fsmworker.Options{Lease: time.Second}},
		{"Work and Failed are required", fsmworker.Funcs[storetest.Parcel]{Failed: do.Failed}, fsmworker.Options{Lease: time.Second}},
		{"Beats is required", fsmworker.Funcs[storetest.Parcel]{Work: do.Work, Failed: do.Failed, Beat: do.Beat, Holds: do.Beats}, fsmworker.Options{Lease: time.Second}},
		{"Beats is required", fsmworker.Funcs[storetest.Parcel]{Work: do.Work, Failed: do.Failed}, fsmworker.Options{Lease: time.Second}},
		{"Lease is 0s", do, fsmworker.Options{}},
		{"Lease is -1s", still, fsmworker.Options{Lease: -time.Second}},
		{"Lease is 1h0m0s; expected at most 1m0s", limited, fsmworker.Options{Lease: time.Hour}},
		{"Beat is 1s", do, fsmworker.Options{Lease: time.Second, Beat: time.Second}},
		{"Beat is -1ns", do, fsmworker.Options{Lease: time.Second, Beat: -1}},
		{"Concurrency is -1", do, fsmworker.Options{Lease: time.Second, Concurrency: -1}},
	} {
		if _, err := fsmworker.New(m, "w", c.do, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewWorker: %v, want %q", err, c.want)
		}
	}
	for _, do := range []fsmworker.Funcs[storetest.Parcel]{still, limited} {
		if _, err := fsmworker.New(m, "w", do, fsmworker.Options{}); err != nil {
			t.Errorf("without a lease of its own: %v", err)
		}
	}
}

// A heartbeat that has no answer is waited for as long as the lease lasts, and no longer:
// at its end the work is told that its record is lost, also where no beat is under way.
func TestBeatThatHangs(t *testing.T) {
	t.Parallel()
	beats := map[string]func(ctx context.Context) error{
		"heeds its context": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"heeds nothing": func(context.Context) error {
			time.Sleep(2 * time.Minute)
			return errors.New("too late")
		},
		"fails at once": func(context.Context) error { return errors.New("busy") },
	}
	for name, beat := range beats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var w hands
				w.start(t, newStore(), 1, func(context.Context, *handle) error { return nil }, fsmworker.Options{})
				var began time.Time
				var took time.Duration
				var cause error
				claims := 0
				worker, err := fsmworker.New(w.m, "w1", fsmworker.Funcs[storetest.Parcel]{
					Claim: func(ctx context.Context, n int, until time.Time) ([]outcome, error) {
						if claims++; claims > 1 {
							return nil, fsm.ErrNothingToDo
						}
						began = time.Now()
						return w.m.Pick(ctx, n, storetest.Hold(w1, "a", until))
					},
					Beat:  func(ctx context.Context, _ *handle, _ time.Time) error { return beat(ctx) },
					Beats: func(*storetest.Parcel) bool { return true },
					Work: func(ctx context.Context, _ *handle) error {
						<-ctx.Done()
						took, cause = time.Since(began), context.Cause(ctx)
						return ctx.Err()
					},
					Failed: func(context.Context, *handle, error) error { return nil },
				}, fsmworker.Options{Lease: time.Minute, Beat: 35 * time.Second, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
				defer stop()
				if err := worker.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if lost := (&fsmworker.LostError{}); took != time.Minute || !errors.As(cause, &lost) || lost.Machine != "parcel" || !errors.Is(cause, fsmworker.ErrLeaseOver) {
					t.Errorf("the work was told after %v (%v), want 1m0s, a LostError of parcel and ErrLeaseOver", took, cause)
				}
			})
		})
	}
}
