package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// A store commits what waits together (group commit), without a delay: while one
// batch is being committed, the next one gathers. A caller who finds nobody at
// work commits at once and by itself, so a batch of one costs nothing more than a
// write by itself. If others wait when it is done, a steward goes on in its place,
// batch after batch, and ends when nobody waits: there is no goroutine
// that could be left behind, and none to be ended by Close. On a server a second
// batch begins beside a full queue, or beside a batch that takes long.

// job is one write that a caller of Commit waits for.
type job struct {
	ctx  context.Context
	t    *table
	w    *driver.Write
	fate fate
	err  error // with answered
	keys []string
	wake chan fate
	sent bool // it is in a batch that is being committed

	panicked any // of the batch that its caller leads

	self [1]*job   // see only
	some [2]string // room for keys
}

// only returns a batch of one.
func (j *job) only() []*job {
	j.self[0] = j
	return j.self[:]
}

// fate is what becomes of a job.
type fate uint8

const (
	pending  fate = iota
	answered      // err says what became of it
	alone         // nothing was written: its caller tries by itself
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
	leaders  int // how many batches may be committed at the same time
	// run commits a batch in a session and gives every job its fate. It returns
	// whether the session is broken.
	run func(s *session, batch []*job) (broken bool)
	// win, where there is one, waits in a session for the right to write. What waits is
	// gathered afterwards, so that nobody is in a batch who could not leave it; run,
	// which may get no job then, ends what win began.
	win func(ctx context.Context, s *session) (broken bool, err error)
	// mates reports whether j can be in the batch of first.
	mates func(first, j *job) bool
	room  chan struct{}
	// patience is how long a batch may take before others go on beside it.
	patience time.Duration
	alarms   alarms // of those who wait

	mu    sync.Mutex
	led   int
	slow  int // how many of them take longer than patience
	queue []*job
}

func newCommitter(p *pool, leaders int, mates func(first, j *job) bool, run func(*session, []*job) bool) *committer {
	return &committer{sessions: p, leaders: leaders, mates: mates, run: run, room: make(chan struct{}, maxWaiting),
		patience: 20 * time.Millisecond}
}

// commit waits until a batch has taken the write along. A context that ends
// before takes it out of the queue.
func (c *committer) commit(ctx context.Context, t *table, w *driver.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.room <- struct{}{}:
	default:
		if err := c.enter(ctx); err != nil {
			return t.unopened(ctx, err)
		}
	}
	defer func() { <-c.room }()
	j := &job{ctx: ctx, t: t, w: w}
	c.mu.Lock()
	if c.led == 0 {
		c.led++
		c.mu.Unlock()
		if c.win != nil || ctx.Done() == nil {
			c.lead(j)
			return j.outcome()
		}
		j.wake = make(chan fate, 1)
		go func() { // its caller may leave
			defer func() {
				j.panicked = recover()
				j.wake <- j.fate
			}()
			c.lead(j)
		}()
		return c.await(ctx, j)
	}
	c.mu.Unlock()
	j.wake, j.keys = make(chan fate, 1), j.touches()
	c.mu.Lock()
	c.queue = append(c.queue, j)
	c.call() // all may have gone meanwhile
	c.mu.Unlock()
	return c.await(ctx, j)
}

// await waits for what becomes of a job. Whose context ends leaves, and is told that nobody
// knows where the write is on its way; the others of its batch stay.
func (c *committer) await(ctx context.Context, j *job) error {
	for waits := true; waits; {
		select {
		case <-j.wake:
			return j.outcome()
		case <-ctx.Done():
			waits = false
		case <-c.alarms.of(ctx):
			waits = call.Err(ctx) == nil
		}
	}
	if c.leave(j) {
		return j.t.unopened(ctx, call.ErrOver)
	}
	if err := ctx.Err(); err != nil && c.isSent(j) {
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-j.wake:
			return j.outcome()
		case <-late.C:
			return j.lost(err)
		}
	}
	<-j.wake
	return j.outcome()
}

func (c *committer) isSent(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return j.sent
}

// enter waits until there is room in the queue.
func (c *committer) enter(ctx context.Context) error {
	waiting, done := call.Waiting(ctx)
	defer done()
	select {
	case c.room <- struct{}{}:
		return nil
	case <-waiting.Done():
		return call.Ended(ctx)
	}
}

// outcome is what Commit answers.
func (j *job) outcome() error {
	if j.panicked != nil {
		panic(j.panicked)
	}
	if j.fate == alone && j.t.dialect.blocked(j.err) {
		return j.t.commitInLine(j.ctx, j.w)
	}
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

// lead commits the batch of a caller's own job, and leaves the others to a steward.
func (c *committer) lead(j *job) {
	defer c.resign()
	c.round(j.ctx, j)
}

// resign ends a leader's work: a steward goes on where somebody waits.
func (c *committer) resign() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.led--
	c.call()
}

// call makes a steward for those who wait, where one may be.
func (c *committer) call() {
	if c.led < c.leaders && c.due(c.led) {
		c.led++
		go c.steward()
	}
}

// due reports whether a batch is to begin beside led others: where all of them take long,
// or where it is full. Two small batches at once cost more than one, for a statement costs as
// much as ten of its rows.
func (c *committer) due(led int) bool {
	return len(c.queue) > 0 && (led <= c.slow || len(c.queue) >= maxBatch)
}

// timed calls another steward when a batch takes long, such as one that waits for a lock of
// another program. The function that it returns ends the batch.
func (c *committer) timed() (end func()) {
	slow, ended := false, false
	late := time.AfterFunc(c.patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !ended {
			slow = true
			c.slow++
			c.call()
		}
	})
	return func() {
		late.Stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		if ended = true; slow {
			c.slow--
		}
	}
}

// steward commits batches until nobody waits.
func (c *committer) steward() {
	for {
		c.mu.Lock()
		if !c.due(c.led - 1) {
			c.led--
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		func() {
			defer func() { _ = recover() }() // whoever was in the batch has been told
			c.round(context.Background(), nil)
		}()
		runtime.Gosched() // whom it has answered may come back with their next write
	}
}

// round commits one batch: that of first, or without one of who has waited longest.
func (c *committer) round(ctx context.Context, first *job) {
	var batch []*job
	if first != nil {
		batch = first.only()
	}
	defer func() {
		for _, b := range batch {
			if b.fate == pending { // a panic: nobody knows how far it came
				b.answer(b.lost(errPanic))
			}
			if b != first {
				b.wake <- b.fate
			}
		}
	}()
	defer c.timed()()
	ctx = call.Within(ctx, c.sessions.limit) // a steward's, who looks then whether anybody waits any more
	s, refusal, err := c.ready(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, call.ErrOver) {
			batch = c.gather(first, func(_, _ *job) bool { return true }) // it would be the same for all of them
		}
		for _, b := range batch {
			b.answer(refusal(b))
		}
		return
	}
	broken := true // unless the batch ends well
	defer func() { c.sessions.give(s, broken) }()
	batch = c.gather(first, c.mates)
	work, decided := batch, func(b *job) bool { return b.fate != pending }
	if slices.ContainsFunc(batch, decided) {
		work = slices.DeleteFunc(slices.Clone(batch), decided)
	}
	broken = (len(work) > 0 || c.win != nil) && c.run(s, work)
	c.overtake(work)
}

// ready returns a session that may write, or what to tell those who wait for one.
func (c *committer) ready(ctx context.Context) (s *session, refusal func(*job) error, err error) {
	if s, err = c.sessions.take(ctx); err != nil {
		return nil, func(j *job) error { return j.t.unopened(j.ctx, err) }, err
	}
	if c.win == nil {
		return s, nil, nil
	}
	broken, err := c.win(ctx, s)
	if err == nil {
		return s, nil, nil
	}
	c.sessions.give(s, broken)
	return nil, func(j *job) error {
		if ctx.Err() != nil || errors.Is(err, call.ErrOver) {
			return j.t.unopened(j.ctx, err)
		}
		return j.t.fault("begin a transaction", err)
	}, err
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
	return &fsm.Refusal{ID: j.w.Prev.ID, Code: code, Machine: j.t.schema.Machine, Operation: j.w.Event.Operation, Cause: err}
}

// gather returns a batch: first, if there is one, and who waits, in the order of
// their coming, one write per record, request and place at most. A job whose
// context has ended comes along as answered.
func (c *committer) gather(first *job, mates func(first, j *job) bool) (batch []*job) {
	if first != nil {
		batch = first.only()
		if err := first.ctx.Err(); err != nil {
			first.answer(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		for _, j := range batch {
			j.sent = j.fate == pending
		}
	}()
	if len(c.queue) == 0 {
		return batch
	}
	batch = slices.Grow(batch, min(len(c.queue), maxBatch))
	seen := make(keySet, 2*len(c.queue))
	if first != nil {
		seen.add(first.touches())
	}
	left := c.queue[:0]
	for i, j := range c.queue {
		if len(batch) == maxBatch {
			left = append(left, c.queue[i:]...)
			break
		}
		switch err := j.ctx.Err(); {
		case err != nil:
			j.answer(err)
		case first != nil && !mates(first, j) || !seen.add(j.keys):
			left = append(left, j)
			continue
		case first == nil:
			first = j
		}
		batch = append(batch, j)
	}
	clear(c.queue[len(left):])
	c.queue = left // of whom each has a steward that is on its way, or finds all leaders at work
	return batch
}

// keySet holds what the writes of a batch touch.
type keySet map[string]struct{}

// add notes what a write touches; false, and nothing noted, when another one of
// the batch touches one of it too.
func (k keySet) add(keys []string) bool {
	for _, key := range keys {
		if _, taken := k[key]; taken {
			return false
		}
	}
	for _, key := range keys {
		k[key] = struct{}{}
	}
	return true
}

// touches names what a write touches: the record, a request whose scope is the
// machine, and the places under unique rules that its row takes or held.
func (j *job) touches() []string {
	t, w := j.t, j.w
	var some [256]byte
	keys := append(j.some[:0], t.name+"\x00id\x00"+w.Prev.ID)
	if e := &w.Event; e.RequestID != "" && e.RequestN >= 0 {
		keys = append(keys, t.name+"\x00request\x00"+strconv.FormatInt(e.RequestN, 10)+"\x00"+e.RequestID)
	}
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		key := t.appendPlace(some[:0], u, w.Row)
		if len(key) > 0 {
			keys = append(keys, string(key))
		}
		if old := t.appendPlace(key[len(key):], u, w.Old); len(old) > 0 && !bytes.Equal(old, key) {
			keys = append(keys, string(old))
		}
	}
	return keys
}

// appendPlace appends the name of the place under a unique rule that a row takes; nothing for none.
func (t *table) appendPlace(b []byte, u *driver.UniqueRule, row *driver.Row) []byte {
	if row == nil || !t.has(u, row) {
		return b
	}
	b = append(append(append(b, t.name...), "\x00unique\x00"...), u.Name...)
	for _, name := range u.Columns {
		b = append(b, 0)
		switch v := row.Values[t.schema.Column(name)].(type) {
		case string:
			b = append(b, v...)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		default:
			b = fmt.Append(b, v)
		}
	}
	return b
}
