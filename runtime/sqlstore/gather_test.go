package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// hall is a desk whose only session the test holds until it opens: meanwhile the
// first caller waits for it, and the others in the queue.
type hall struct {
	*desk
	t       *testing.T
	session *session
	mu      sync.Mutex
	batches [][]string
	group   sync.WaitGroup
}

func newHall(t *testing.T) *hall {
	t.Helper()
	h := &hall{t: t}
	h.desk = newDesk(t, func(batch []*job) bool {
		var ids []string
		for _, j := range batch {
			ids = append(ids, j.w.Prev.ID)
			j.answer(nil)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.batches = append(h.batches, ids)
		return false
	})
	var err error
	if h.session, err = h.slots.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// enter makes callers come one after the other, the first of them to lead.
func (h *hall) enter(ids ...string) {
	h.t.Helper()
	for i, id := range ids {
		h.group.Go(func() {
			if err := h.ask(h.t.Context(), id); err != nil {
				h.t.Errorf("%s: %v", id, err)
			}
		})
		for led := 0; i == 0 && led == 0; time.Sleep(time.Millisecond) { // until it waits for the session
			h.committer.mu.Lock()
			led = h.led
			h.committer.mu.Unlock()
		}
		h.waiting(h.t, i)
	}
}

// open lets them all be committed, and returns the batches.
func (h *hall) open() [][]string {
	h.slots.give(h.session, false)
	h.group.Wait()
	return h.batches
}

// A batch holds one write of a record, also of its leader's.
func TestLeaderTakesOthersAlong(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.enter("x", "x", "y", "x")
	if diff := cmp.Diff([][]string{{"x", "y"}, {"x"}, {"x"}}, h.open()); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// Who does not fit with the first of a batch waits for another one, and keeps the
// place in the queue.
func TestOnlyMatesShareABatch(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.enter("a", "B", "c", "D", "e")
	if diff := cmp.Diff([][]string{{"a", "c", "e"}, {"B", "D"}}, h.open()); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	h = newHall(t)
	h.enter("A", "b", "c")
	if diff := cmp.Diff([][]string{{"A", "b", "c"}}, h.open()); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	h = newHall(t)
	h.enter("x", "x", "Y", "z") // a steward's batch has a first one too
	if diff := cmp.Diff([][]string{{"x", "z"}, {"x"}, {"Y"}}, h.open()); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// A batch is bounded, and nobody is passed over.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	var ids []string
	for i := range 2*maxBatch + 5 {
		ids = append(ids, fmt.Sprintf("r%03d", i))
	}
	h.enter(ids...)
	var sizes []int
	all := []string{}
	for _, b := range h.open() {
		sizes, all = append(sizes, len(b)), append(all, b...)
	}
	if diff := cmp.Diff([]int{maxBatch, maxBatch, 5}, sizes) + cmp.Diff(ids, all); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// A caller who finds nobody at work makes the commit itself, and leaves nobody
// behind. What a write touches is not even asked for.
func TestWhoIsAloneCommits(t *testing.T) {
	t.Parallel()
	panics := false
	d := newDesk(t, func(batch []*job) bool {
		if panics {
			panic("the driver broke")
		}
		batch[0].answer(nil)
		return false
	})
	for range maxWaiting + 1 { // nobody takes up room after the answer
		if err := d.ask(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		led := d.led
		d.mu.Unlock()
		if led != 0 {
			t.Fatalf("%d go on when nobody waits", led)
		}
	}
	asked := atomic.Int64{}
	places(d)
	w := placed("a", &told{said: func() { asked.Add(1) }})
	if err := d.commit(t.Context(), d.t, w); err != nil || asked.Load() != 0 {
		t.Errorf("%v, and the value was looked at %d times", err, asked.Load())
	}
	panics = true
	defer func() {
		if recover() == nil {
			t.Error("the panic of a caller's own commit did not reach it")
		}
	}()
	_ = d.ask(t.Context(), "a")
}

// places gives the machine of a desk a unique rule.
func places(d *desk) {
	d.t.schema.Columns = []driver.Column{{Name: "v", Stored: "v", Kind: driver.KindString}}
	d.t.schema.Uniques = []driver.UniqueRule{{Name: "u", Columns: []string{"v"}}}
}

func placed(id string, v any) *driver.Write {
	return &driver.Write{Prev: driver.Ref{ID: id}, Row: &driver.Row{ID: id, Values: []any{v}}, Event: driver.Event{ID: id}}
}

// told is a value that tells when it is written as a text.
type told struct{ said func() }

func (v *told) String() string { v.said(); return "told" }

// Who comes into the queue when the last leader has just gone is not left there.
func TestNobodyWaitsForNobody(t *testing.T) {
	t.Parallel()
	started, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := newDesk(t, func(batch []*job) bool {
		once.Do(func() { close(started); <-hold })
		for _, j := range batch {
			j.answer(nil)
		}
		return false
	})
	places(d)
	var group sync.WaitGroup
	group.Go(func() {
		if err := d.commit(t.Context(), d.t, placed("first", "v")); err != nil {
			t.Error(err)
		}
	})
	<-started
	var late sync.Once
	w := placed("late", &told{said: func() { late.Do(func() { close(hold); group.Wait() }) }})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := d.commit(ctx, d.t, w); err != nil {
		t.Errorf("who came late: %v", err)
	}
}

// A context that ends while the commit runs ends nothing: the caller hears what
// became of the write. One that ends before takes the write out.
func TestContextsOfABatch(t *testing.T) {
	t.Parallel()
	running, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := newDesk(t, func(batch []*job) bool {
		for _, j := range batch {
			if j.w.Prev.ID == "taken" {
				once.Do(func() { close(running); <-hold })
			}
			if j.w.Prev.ID == "gone" {
				t.Error("a write is committed whose caller has gone")
			}
			j.answer(nil)
		}
		return false
	})
	s, err := d.slots.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := d.ask(t.Context(), "first"); err != nil {
			t.Error(err)
		}
	})
	for led := 0; led == 0; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		led = d.led
		d.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- d.ask(ctx, "taken") }()
	d.waiting(t, 1)
	first, leave := context.WithCancel(t.Context()) // the first in the queue may leave, too
	group.Go(func() {
		if err := d.commit(fading(t.Context(), 1), d.t, &driver.Write{Prev: driver.Ref{ID: "gone"}, Row: &driver.Row{}}); !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone got %v", err)
		}
	})
	d.waiting(t, 2)
	d.slots.give(s, false)
	<-running
	left := make(chan error, 1)
	go func() { left <- d.ask(first, "left") }()
	d.waiting(t, 1)
	leave()
	select {
	case err := <-left:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the first in the queue cannot leave")
	}
	d.waiting(t, 0)
	cancel()
	select {
	case err := <-answer:
		t.Errorf("answered with %v before the end of the commit", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(hold)
	if err := <-answer; err != nil {
		t.Errorf("the write was committed, its caller got %v", err)
	}
	group.Wait()

	// Who leads, too.
	if err := d.commit(fading(t.Context(), 2), d.t, &driver.Write{Prev: driver.Ref{ID: "gone"}, Row: &driver.Row{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("who led and has gone got %v", err)
	}
	if s, err = d.slots.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := d.ask(ctx, "gone"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waited for a session got %v", err)
	}
	d.slots.give(s, false)
}

// fadingContext is one that has ended after it was asked so many times.
type fadingContext struct {
	context.Context
	left atomic.Int64
}

func fading(ctx context.Context, asked int64) context.Context {
	f := &fadingContext{Context: ctx}
	f.left.Store(asked)
	return f
}

func (f *fadingContext) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A panic leaves the answers of those who were told already.
func TestPanicKeepsAnswers(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.run = func(_ *session, batch []*job) bool {
		batch[0].answer(nil)
		if len(batch) > 1 {
			panic("the driver broke")
		}
		return false
	}
	h.enter("x") // the others are a steward's
	var errs [2]error
	for i, id := range []string{"Y", "Z"} {
		h.group.Go(func() { errs[i] = h.ask(t.Context(), id) })
		h.waiting(t, i+1)
	}
	h.open()
	if errs[0] != nil || !errors.Is(errs[1], fsm.ErrAmbiguous) {
		t.Errorf("got %v, want one nil and the other ambiguous", errs)
	}
}

// dead is a database that cannot be reached.
type dead struct {
	tries atomic.Int64
	hold  chan struct{}
}

func (d *dead) Connect(context.Context) (sqldriver.Conn, error) {
	d.tries.Add(1)
	<-d.hold
	return nil, errors.New("nobody there")
}
func (*dead) Driver() sqldriver.Driver { return nil }

// Where no session is to be had, it is tried once for all who wait.
func TestNoSessionForAnybody(t *testing.T) {
	t.Parallel()
	db := &dead{hold: make(chan struct{})}
	pool := sql.OpenDB(db)
	t.Cleanup(func() { pool.Close() })
	d := deskOver(t, newPool(pool, Postgres(), 1), func([]*job) bool { t.Error("a batch without a session"); return false })
	var group sync.WaitGroup
	for i, id := range []string{"a", "B", "c", "D"} {
		group.Go(func() {
			if err := d.ask(t.Context(), id); !errors.Is(err, fsm.ErrBusy) {
				t.Errorf("%s: %v, want ErrBusy", id, err)
			}
		})
		for db.tries.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		d.waiting(t, i)
	}
	close(db.hold)
	group.Wait()
	if n := db.tries.Load(); n != 1 {
		t.Errorf("%d tries to connect, want 1", n)
	}
}

// What a write touches: the record, its place in a request of the machine, and the
// places under unique rules that the row takes and held.
func TestTouches(t *testing.T) {
	t.Parallel()
	tab, err := newTable(&Store{dialect: SQLite()}, &driver.Schema{Machine: "m", Table: "m",
		Columns: []driver.Column{{Name: "v", Stored: "v"}, {Name: "w", Stored: "w"}},
		Uniques: []driver.UniqueRule{{Name: "any", Columns: []string{"v"}}, {Name: "on", Columns: []string{"v", "w"}, States: []string{"on"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	row := func(state string, values ...any) *driver.Row { return &driver.Row{State: state, Values: values} }
	for name, c := range map[string]struct {
		row, old *driver.Row
		request  string
		n        int64
		want     []string
	}{
		"nothing but the record":     {want: []string{"id x"}},
		"a request of the record":    {request: "r", n: -1, want: []string{"id x"}},
		"a request of the machine":   {request: "r", n: 0, want: []string{"id x", "request 0 r"}},
		"another one of it":          {request: "r", n: 3, want: []string{"id x", "request 3 r"}},
		"no request":                 {n: 0, want: []string{"id x"}},
		"a place":                    {row: row("off", "a", nil), want: []string{"id x", "unique any a"}},
		"no place in another state":  {row: row("off", "a", "b"), want: []string{"id x", "unique any a"}},
		"two places":                 {row: row("on", "a", "b"), want: []string{"id x", "unique any a", "unique on a b"}},
		"no place without a value":   {row: row("on", nil, "b"), want: []string{"id x"}},
		"the same place as before":   {row: row("on", "a", "b"), old: row("on", "a", "b"), want: []string{"id x", "unique any a", "unique on a b"}},
		"another place than before":  {row: row("off", "a", nil), old: row("off", "c", nil), want: []string{"id x", "unique any a", "unique any c"}},
		"a place that is given up":   {row: row("off", "a", "b"), old: row("on", "a", "b"), want: []string{"id x", "unique any a", "unique on a b"}},
		"a place that was not there": {row: row("off", "a", nil), old: row("off", nil, nil), want: []string{"id x", "unique any a"}},
	} {
		j := &job{t: tab, w: &driver.Write{Prev: driver.Ref{ID: "x"}, Row: c.row, Old: c.old, Event: driver.Event{RequestID: c.request, RequestN: c.n}}}
		var got []string
		for _, key := range j.touches() {
			got = append(got, strings.Join(slices.DeleteFunc(strings.Split(key, "\x00"), func(s string) bool { return s == tab.name }), " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
