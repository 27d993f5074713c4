package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// desk is a committer over nothing: its batches are what a test makes of them.
type desk struct {
	*committer
	t     *table
	slots *pool
}

func newDesk(t *testing.T, run func(batch []*job) bool) *desk {
	t.Helper()
	return deskOver(t, newSlots(t, 1), run)
}

// newSlots returns sessions that answer all that they are asked.
func newSlots(t *testing.T, n int) *pool {
	t.Helper()
	db := sql.OpenDB(&answering{answer: "150004 f off origin on UTF8 UTF8 on on on 1 1 1 read-committed f"})
	t.Cleanup(func() { db.Close() })
	return newPool(db, Postgres(), n)
}

// deskOver is newDesk over sessions of the test's own. A write whose id is in small
// letters takes only such along.
func deskOver(t *testing.T, p *pool, run func(batch []*job) bool) *desk {
	t.Helper()
	d := p.dialect
	tab, err := newTable(&Store{dialect: d}, &driver.Schema{Machine: "m", Table: "m"})
	if err != nil {
		t.Fatal(err)
	}
	mates := func(first, j *job) bool {
		return strings.ToLower(first.w.Prev.ID) != first.w.Prev.ID || strings.ToLower(j.w.Prev.ID) == j.w.Prev.ID
	}
	desk := &desk{newCommitter(p, 1, mates, func(_ *session, batch []*job) bool {
		if len(batch) == 0 {
			t.Error("a transaction for nobody")
		}
		return run(batch)
	}), tab, p}
	t.Cleanup(func() { desk.rests(t) })
	return desk
}

// rests waits until nobody leads and nobody waits, and nothing is kept of those who did.
func (d *desk) rests(t *testing.T) {
	t.Helper()
	for range 5000 {
		d.mu.Lock()
		led, queue := d.led, d.queue
		d.mu.Unlock()
		if led == 0 && len(queue) == 0 {
			for _, j := range queue[:cap(queue)] {
				if j != nil {
					t.Errorf("the write of %q is kept", j.w.Prev.ID)
				}
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("somebody leads or waits for ever")
}

// ask commits a write. What is answered too late is not waited for.
func (d *desk) ask(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return d.commit(ctx, d.t, &driver.Write{Prev: driver.Ref{ID: id}, Row: &driver.Row{ID: id}, Event: driver.Event{ID: id}})
}

// waiting waits until so many callers are in the queue.
func (d *desk) waiting(t *testing.T, n int) {
	t.Helper()
	for range 20_000 {
		d.mu.Lock()
		have, led := len(d.queue), d.led
		d.mu.Unlock()
		if led > d.leaders {
			t.Fatalf("%d lead, at most %d may", led, d.leaders)
		}
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
	select {
	case err := <-gone:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("who left the queue got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody can leave the queue")
	}
	d.waiting(t, 6)
	close(hold)
	group.Wait()
	want := "[[first] [a b c] [a b] [a]]"
	if got := fmt.Sprint(batches); got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
}

// Beside a batch that is being committed another one begins where it is full, or where the
// first one takes long.
func TestBatchesBeside(t *testing.T) {
	t.Parallel()
	sizes, hold := make(chan int, 4), make(chan struct{})
	d := deskOver(t, newSlots(t, 2), func(batch []*job) bool {
		sizes <- len(batch)
		<-hold
		for _, j := range batch {
			j.answer(nil)
		}
		return false
	})
	d.leaders, d.patience = 2, time.Hour
	var group sync.WaitGroup
	ask := func(i int) {
		group.Go(func() {
			if err := d.ask(t.Context(), fmt.Sprint("w", i)); err != nil {
				t.Error(err)
			}
		})
	}
	next := func() int {
		select {
		case n := <-sizes:
			return n
		case <-time.After(10 * time.Second):
			t.Error("no batch begins")
			return 0
		}
	}
	ask(0)
	if n := next(); n != 1 {
		t.Errorf("the first batch has %d writes, want 1", n)
	}
	for i := 1; i < maxBatch; i++ {
		ask(i)
	}
	d.waiting(t, maxBatch-1) // they wait
	ask(maxBatch)
	if n := next(); n != maxBatch {
		t.Errorf("the second batch has %d writes, want %d", n, maxBatch)
	}
	close(hold)
	group.Wait()

	hold = make(chan struct{})
	d.patience = time.Millisecond
	ask(1)
	next()
	ask(2)
	if n := next(); n != 1 {
		t.Errorf("beside a slow batch there are %d writes, want 1", n)
	}
	close(hold)
	group.Wait()
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
	if errs[0] != nil || slices.ContainsFunc(errs[1:], func(err error) bool { return !errors.Is(err, driver.ErrClosed) }) {
		t.Errorf("got %v, want one nil and the others told that the store is closed", errs)
	}
}
