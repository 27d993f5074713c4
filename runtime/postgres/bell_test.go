package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// another opens the depot's database once more, as another process does.
func (d *depot) another(opts ...postgres.Option) *fsm.Machine[storetest.Parcel] {
	d.Helper()
	store, err := postgres.Open(d.Context(), d.dsn, append(opts, quiet)...)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { store.Close() })
	m, err := fsm.NewMachine(d.Context(), store, storetest.Descriptor(d.schema), effects)
	if err != nil {
		d.Fatal(err)
	}
	return m
}

// idler is a worker that looks for parcels at long intervals unless it is woken.
type idler struct {
	idle chan struct{} // once for each look that found nothing
	got  chan string   // the ids of what it was given
}

func (d *depot) idler(m *fsm.Machine[storetest.Parcel], actor string, poll time.Duration) *idler {
	d.Helper()
	return d.idlerOf(m, actor, poll, func() {})
}

// idlerOf is an idler that does something with each parcel.
func (d *depot) idlerOf(m *fsm.Machine[storetest.Parcel], actor string, poll time.Duration, do func()) *idler {
	d.Helper()
	w := &idler{make(chan struct{}, 1000), make(chan string, 1000)}
	me := storetest.Meta{Actor: actor}
	run, err := worker.New(m, actor, worker.Funcs[storetest.Parcel]{
		Claim: func(ctx context.Context, n int, until time.Time) ([]fsm.Outcome[storetest.Parcel], error) {
			return m.Pick(ctx, n, storetest.Hold(me, "a", until))
		},
		Beat: func(ctx context.Context, h *fsm.Held[storetest.Parcel], until time.Time) error {
			return h.EngineStay(ctx, storetest.Touch(me, until))
		},
		Beats: func(p *storetest.Parcel) bool { return p.State == "held" },
		Work: func(ctx context.Context, h *fsm.Held[storetest.Parcel]) error {
			do()
			shelved, err := h.EngineMove(ctx, storetest.Shelve(me, h.Ref().ID, "done"))
			if err == nil {
				_, err = shelved.EngineMove(ctx, storetest.Send(me))
			}
			w.got <- h.Ref().ID
			return err
		},
		Failed: func(_ context.Context, _ *fsm.Held[storetest.Parcel], cause error) error { d.Error(cause); return nil },
	}, worker.Options{Lease: time.Hour, Poll: poll, Observe: func(e worker.Event) {
		if e.Kind == worker.Idle {
			select {
			case w.idle <- struct{}{}:
			default:
			}
		}
	}})
	if err != nil {
		d.Fatal(err)
	}
	ctx, stop := context.WithCancel(d.Context())
	ended := make(chan error)
	go func() { ended <- run.Run(ctx) }()
	d.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			d.Errorf("Run: %v", err)
		}
	})
	return w
}

func (d *depot) register(m *fsm.Machine[storetest.Parcel], id string) {
	d.Helper()
	if _, err := m.Create(d.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: id, Lane: "a"})); err != nil {
		d.Fatal(err)
	}
}

// expect waits until the worker was given the parcel.
func (w *idler) expect(t *testing.T, id string) {
	t.Helper()
	select {
	case got := <-w.got:
		if got != id {
			t.Errorf("the worker was given %s, want %s", got, id)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s was not given to the worker", id)
	}
}

// listeners waits until as many sessions listen, and returns their numbers.
func (d *depot) listeners(n int, not ...int) []int {
	d.Helper()
	for {
		rows, err := d.db.QueryContext(d.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%' AND NOT pid = ANY ($1)`, append([]int{0}, not...))
		if err != nil {
			d.Fatal(err)
		}
		var list []int
		for rows.Next() {
			var pid int
			if err := rows.Scan(&pid); err != nil {
				d.Fatal(err)
			}
			list = append(list, pid)
		}
		if err := rows.Err(); err != nil {
			d.Fatal(err)
		}
		if len(list) == n {
			return list
		}
		time.Sleep(time.Millisecond)
	}
}

// A worker that would look once an hour is given at once what another process leaves.
// When its connection is cut, it comes back, and what was left meanwhile is found.
func TestWorkersAreWokenByOthers(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	w := d.idler(d.another(), "w1", time.Hour)
	old := d.listeners(1)
	<-w.idle // before it listened
	<-w.idle // since then
	d.register(d.m, "a")
	w.expect(t, "a")
	d.register(d.another(), "b") // by an announcer of its own
	w.expect(t, "b")
	if _, err := d.db.ExecContext(t.Context(), `SELECT pg_terminate_backend($1)`, old[0]); err != nil {
		t.Fatal(err)
	}
	d.register(d.m, "c")
	w.expect(t, "c")
	d.listeners(1, old...)
	d.register(d.m, "d")
	w.expect(t, "d")
	// The announcer's connection may be lost too.
	if _, err := d.db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE '%pg_notify(%' AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	// What it cannot tell is lost: a later one is told.
	for i := 0; ; i++ {
		select {
		case <-w.got:
			return
		default:
			d.register(d.m, fmt.Sprint("e", i))
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// A worker does not wait for a parcel that somebody else holds: what it found is nothing, and it
// looks again. A caller of Pick waits, and gets the parcel.
func TestWorkersPassOverWhatOthersHold(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	d.register(d.m, "a")
	other, err := d.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.ExecContext(t.Context(), `SELECT 1 FROM parcel WHERE id = 'a' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	w := d.idler(d.another(), "w1", 10*time.Millisecond)
	for range 3 {
		select {
		case <-w.idle:
		case <-time.After(time.Minute):
			t.Fatal("the worker waits for what another transaction holds")
		}
	}
	picked := make(chan error)
	go func() {
		_, err := d.another().Pick(t.Context(), 1, storetest.Hold(storetest.Meta{Actor: "b"}, "a", time.Now().Add(time.Hour)))
		picked <- err
	}()
	select {
	case err := <-picked:
		t.Errorf("the pick returned %v while another transaction held the parcel", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	select {
	case id := <-w.got:
		if err := <-picked; id != "a" || !errors.Is(err, fsm.ErrNothingToDo) {
			t.Errorf("the worker was given %s, and the pick %v", id, err)
		}
	case err := <-picked:
		switch {
		case errors.Is(err, fsm.ErrNothingToDo): // it has heard of that before us
			if id := <-w.got; id != "a" {
				t.Errorf("the pick found nothing, and the worker was given %s", id)
			}
		case err != nil:
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("nobody was given the parcel")
	}
}

// An announcement wakes as many workers as there are records: none of these gets a
// second one before all have one.
func TestAsManyAreWoken(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	m := d.another()
	const n = 3
	begun := make(chan struct{}, n)
	var all sync.WaitGroup
	all.Add(n)
	for i := range n {
		w := d.idlerOf(m, fmt.Sprint("w", i), time.Hour, func() {
			begun <- struct{}{}
			all.Done()
			all.Wait()
		})
		<-w.idle
	}
	d.listeners(1)
	var calls []fsmimpl.Call[storetest.Parcel]
	for i := range n {
		calls = append(calls, storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: fmt.Sprint("p", i), Lane: "a"}))
	}
	if _, err := d.m.CreateMany(t.Context(), calls); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		select {
		case <-begun:
		case <-time.After(time.Minute):
			for range n - i {
				all.Done() // so that the test ends
			}
			t.Fatalf("%d of %d workers were woken", i, n)
		}
	}
}

// Behind a pooler nobody listens: a worker finds by itself what others leave.
func TestNobodyListensBehindAPooler(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	w := d.idler(d.another(postgres.WithPooler()), "w1", 10*time.Millisecond)
	<-w.idle
	d.register(d.m, "a")
	w.expect(t, "a")
	var n int
	if err := d.db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("%d sessions listen, want none", n)
	}
	// It announces, since that needs no session.
	other := d.idler(d.another(), "w2", time.Hour)
	d.listeners(1)
	<-other.idle
	<-other.idle
}
