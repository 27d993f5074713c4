package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// desk is a committer over nothing: its batches are what a test makes of them.
type desk struct {
	*committer
	t     *table
	slots *pool
}

func newDesk(t *testing.T, run func(batch []*job) bool) *desk {
	t.Helper()
	db := sql.OpenDB(&answering{answer: "150004 f off origin on UTF8 UTF8 on on on 1 1 1 read-committed"})
	t.Cleanup(func() { db.Close() })
	d := Postgres()
	p := newPool(db, d, 1)
	tab, err := newTable(&Store{dialect: d}, &fsm.Schema{Machine: "m", Table: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{newCommitter(p, 1, func(_, _ *job) bool { return true }, func(_ *session, batch []*job) bool { return run(batch) }), tab, p}
}

func (d *desk) ask(ctx context.Context, id string) error {
	return d.commit(ctx, d.t, &fsm.Write{Prev: fsm.Ref{ID: id}, Row: &fsm.Row{ID: id}, Event: fsm.Event{ID: id}})
}

// waiting waits until so many callers are in the queue.
func (d *desk) waiting(t *testing.T, n int) {
	t.Helper()
	for range 1000 {
		d.mu.Lock()
		have := len(d.queue)
		d.mu.Unlock()
		if have == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("there are not %d callers in the queue", n)
}

// While one batch is committed the next one gathers, in the order of coming, with
// one write per record.
func TestBatchesGather(t *testing.T) {
	t.Parallel()
	started, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var batches [][]string
	d := newDesk(t, func(batch []*job) bool {
		once.Do(func() { close(started); <-hold })
		var ids []string
		for _, j := range batch {
			ids = append(ids, j.w.Prev.ID)
			j.answer(nil)
		}
		mu.Lock()
		batches = append(batches, ids)
		mu.Unlock()
		return false
	})
	var group sync.WaitGroup
	ask := func(id string) {
		group.Go(func() {
			if err := d.ask(t.Context(), id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	ask("first")
	<-started
	for i, id := range []string{"a", "b", "a", "c", "a", "b"} {
		ask(id)
		d.waiting(t, i+1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- d.ask(ctx, "gone") }()
	d.waiting(t, 7)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left the queue got %v", err)
	}
	close(hold)
	group.Wait()
	want := "[[first] [a b c] [a b] [a]]"
	if got := fmt.Sprint(batches); got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
}

// A panic in a commit leaves nobody waiting, and the next ones work.
func TestPanicStrandsNobody(t *testing.T) {
	t.Parallel()
	started, hold := make(chan struct{}), make(chan struct{})
	calls := 0
	d := newDesk(t, func(batch []*job) bool {
		switch calls++; calls {
		case 1:
			close(started)
			<-hold
		case 2:
			panic("the driver broke")
		}
		for _, j := range batch {
			j.answer(nil)
		}
		return false
	})
	errs := make([]error, 6)
	var group sync.WaitGroup
	group.Go(func() { errs[0] = d.ask(t.Context(), "first") })
	<-started
	for i := 1; i < len(errs); i++ {
		group.Go(func() { errs[i] = d.ask(t.Context(), fmt.Sprint("p", i)) })
	}
	d.waiting(t, len(errs)-1)
	close(hold)
	group.Wait()
	if errs[0] != nil || slices.ContainsFunc(errs[1:], func(err error) bool { return !errors.Is(err, fsm.ErrAmbiguous) }) {
		t.Errorf("got %v, want one nil and the others ambiguous", errs)
	}
	if err := d.ask(t.Context(), "after"); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

// A closed store answers those who wait.
func TestCloseStrandsNobody(t *testing.T) {
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
	errs := make([]error, 5)
	var group sync.WaitGroup
	group.Go(func() { errs[0] = d.ask(t.Context(), "first") })
	<-started
	for i := 1; i < len(errs); i++ {
		group.Go(func() { errs[i] = d.ask(t.Context(), fmt.Sprint("p", i)) })
	}
	d.waiting(t, len(errs)-1)
	closed := make(chan struct{})
	go func() { d.slots.close(); close(closed) }()
	for { // until the pool hands out no more
		d.slots.mu.Lock()
		done := d.slots.closed
		d.slots.mu.Unlock()
		if done {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(hold)
	group.Wait()
	<-closed
	if errs[0] != nil || slices.ContainsFunc(errs[1:], func(err error) bool { return !errors.Is(err, fsm.ErrClosed) }) {
		t.Errorf("got %v, want one nil and the others told that the store is closed", errs)
	}
}
