package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// A store commits what waits together (group commit), without a timer: while one
// batch is being committed, the next one gathers. The callers do the work
// themselves. One of those who wait leads: it takes a session, takes along who
// waits, commits, and hands the lead to the one that has waited longest. A
// caller who is alone leads at once, so a batch of one costs nothing more than a
// write by itself, and there is no goroutine that could be left behind.

// job is one write that a caller of Commit waits for.
type job struct {
	ctx  context.Context
	t    *table
	w    *fsm.Write
	fate fate
	err  error // with answered
	keys []string
	wake chan fate
}

// fate is what becomes of a job.
type fate uint8

const (
	pending  fate = iota
	answered      // err says what became of it
	alone         // nothing was written: its caller tries by itself
	leading       // its caller is to lead
)

func (j *job) answer(err error) { j.fate, j.err = answered, err }

// bounds of the queue.
const (
	maxWaiting = 1024 // callers beyond it wait to be let in
	maxBatch   = 128  // writes of one transaction
)

// committer gathers writes into batches.
type committer struct {
	sessions *pool
	leaders  int // how many may lead at the same time
	// run commits a batch in a session and gives every job its fate. It returns
	// whether the session is broken.
	run func(s *session, batch []*job) (broken bool)
	// mates reports whether j can be in the batch of first.
	mates func(first, j *job) bool
	room  chan struct{}

	mu    sync.Mutex
	led   int
	queue []*job
}

func newCommitter(p *pool, leaders int, mates func(first, j *job) bool, run func(*session, []*job) bool) *committer {
	return &committer{sessions: p, leaders: leaders, mates: mates, run: run, room: make(chan struct{}, maxWaiting)}
}

// commit waits until a batch has taken the write along. A context that ends
// before takes it out of the queue.
func (c *committer) commit(ctx context.Context, t *table, w *fsm.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.room }()
	j := &job{ctx: ctx, t: t, w: w}
	c.mu.Lock()
	if c.led < c.leaders {
		c.led++
		c.mu.Unlock()
		c.lead(j)
		return j.outcome()
	}
	c.mu.Unlock()
	j.wake, j.keys = make(chan fate, 1), j.touches()
	c.mu.Lock()
	c.queue = append(c.queue, j)
	for c.led < c.leaders && len(c.queue) > 0 { // all have gone meanwhile
		c.led++
		c.promote()
	}
	c.mu.Unlock()
	var told fate
	select {
	case told = <-j.wake:
	case <-ctx.Done():
		if c.leave(j) {
			return ctx.Err()
		}
		told = <-j.wake
	}
	if told == leading {
		c.lead(j)
	}
	return j.outcome()
}

// outcome is what Commit answers.
func (j *job) outcome() error {
	if j.fate == alone {
		return j.t.commitAlone(j.ctx, j.w)
	}
	return j.err
}

// leave takes a job out of the queue; false when it is no longer in it.
func (c *committer) leave(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, j)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

// lead commits one batch, that of j, and hands the lead on.
func (c *committer) lead(j *job) {
	batch := []*job{j}
	finished := false
	defer func() {
		if !finished { // a panic: nobody knows how far it came
			for _, b := range batch {
				if b.fate == pending {
					b.answer(b.lost(errPanic))
				}
			}
		}
		c.handOver()
		for _, b := range batch {
			if b != j {
				b.wake <- b.fate
			}
		}
	}()
	s, err := c.sessions.take(j.ctx)
	if err != nil {
		if j.ctx.Err() == nil {
			batch = c.gather(j, func(_, _ *job) bool { return true }) // it would be the same for all of them
		}
		for _, b := range batch {
			b.answer(b.t.unopened(b.ctx, err))
		}
		finished = true
		return
	}
	broken := true // unless the batch ends well
	defer func() { c.sessions.give(s, broken) }()
	batch = c.gather(j, c.mates)
	work := slices.DeleteFunc(slices.Clone(batch), func(b *job) bool { return b.fate != pending })
	if len(work) == 0 {
		broken = false
	} else {
		broken = c.run(s, work)
	}
	finished = true
}

var (
	errPanic     = errors.New("sqlstore: the commit panicked")
	errTakenBack = errors.New("sqlstore: the transaction was taken back")
)

// lost is the answer of a job whose commit nobody knows the outcome of.
func (j *job) lost(err error) error {
	e := &j.w.Event
	return &fsm.AmbiguousError{Machine: j.t.schema.Machine, ID: j.w.Prev.ID, Operation: e.Operation, RequestID: e.RequestID, Err: err}
}

// refuse is the answer of a job that surely wrote nothing.
func (j *job) refuse(code fsm.Code, err error) error {
	return &fsm.Refusal{Code: code, Machine: j.t.schema.Machine, ID: j.w.Prev.ID, Operation: j.w.Event.Operation, Cause: err}
}

// gather returns the batch of first: who waits, in the order of their coming,
// one write per record and per request at most. A job whose context has ended
// comes along as answered.
func (c *committer) gather(first *job, mates func(first, j *job) bool) []*job {
	batch := []*job{first}
	if err := first.ctx.Err(); err != nil {
		first.answer(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		if first.keys == nil {
			first.keys = first.touches()
		}
		seen := keySet{}
		seen.add(first)
		left := c.queue[:0]
		for i, j := range c.queue {
			if len(batch) == maxBatch {
				left = append(left, c.queue[i:]...)
				break
			}
			switch err := j.ctx.Err(); {
			case err != nil:
				j.answer(err)
			case !mates(first, j) || !seen.add(j):
				left = append(left, j)
				continue
			}
			batch = append(batch, j)
		}
		clear(c.queue[len(left):])
		c.queue = left
	}
	for c.led < c.leaders && len(c.queue) > 0 {
		c.led++
		c.promote()
	}
	return batch
}

// promote makes the first of the queue lead.
func (c *committer) promote() {
	j := c.queue[0]
	c.queue = slices.Delete(c.queue, 0, 1)
	j.wake <- leading
}

// handOver gives the lead to the one who has waited longest.
func (c *committer) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		c.promote()
	} else {
		c.led--
	}
}

// keySet holds what the writes of a batch touch.
type keySet map[string]struct{}

// add notes what j touches; false, and nothing noted, when another write of the
// batch touches one of it too.
func (k keySet) add(j *job) bool {
	for _, key := range j.keys {
		if _, taken := k[key]; taken {
			return false
		}
	}
	for _, key := range j.keys {
		k[key] = struct{}{}
	}
	return true
}

// touches names what a write touches: the record, a request whose scope is the
// machine, and the places under unique rules that its row takes or held.
func (j *job) touches() []string {
	t, w := j.t, j.w
	keys := append(make([]string, 0, 4), t.name+"\x00id\x00"+w.Prev.ID)
	if e := &w.Event; e.RequestID != "" && e.RequestN >= 0 {
		keys = append(keys, fmt.Sprintf("%s\x00request\x00%d\x00%s", t.name, e.RequestN, e.RequestID))
	}
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		key := t.place(u, w.Row)
		if key != "" {
			keys = append(keys, key)
		}
		if old := t.place(u, w.Old); old != "" && old != key {
			keys = append(keys, old)
		}
	}
	return keys
}

// place names the place under a unique rule that a row takes; empty for none.
func (t *table) place(u *fsm.UniqueRule, row *fsm.Row) string {
	if row == nil || u.States != nil && !slices.Contains(u.States, row.State) {
		return ""
	}
	key := t.name + "\x00unique\x00" + u.Name
	for _, name := range u.Columns {
		v := row.Values[t.schema.Column(name)]
		if v == nil {
			return ""
		}
		key += fmt.Sprintf("\x00%v", v)
	}
	return key
}
