package driver

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Bell tells workers that found nothing to do that there may be something now. A store
// has one for all who use it in this process; the zero Bell is ready. What it tells may be
// wrong or get lost: a worker looks for itself, and looks again after a while.
//
// It also tells who holds a record that somebody has moved it.
//
// Carry, CarryMove and Hear, where set, connect it with other processes. They return at once.
type Bell struct {
	// Carry passes on to other processes that n more are there than workers waited here.
	Carry func(queue string, n int)
	// CarryMove passes on to other processes that a record has moved that nobody here holds.
	CarryMove func(queue, id string)
	// Hear is called when a worker of this process waits or holds a record for the first
	// time. From then on Near, MovedNear and All are called for what others carry.
	Hear func()

	heard   sync.Once
	mu      sync.Mutex
	queues  map[string]*bellQueue
	holders map[holding][]*func()
}

// bellQueue is one queue's part of a Bell.
type bellQueue struct {
	rung uint64          // how often
	idle []chan struct{} // of those who wait, the longest first; each is closed to wake one
}

// holding names a record that is held.
type holding struct{ queue, id string }

// queue returns the part of a queue. The caller has the lock.
func (b *Bell) queue(name string) *bellQueue {
	q := b.queues[name]
	if q == nil {
		if b.queues == nil {
			b.queues = map[string]*bellQueue{}
		}
		q = &bellQueue{}
		b.queues[name] = q
	}
	return q
}

// Ring says, after the commit, that n records may be there that were not there before.
// It wakes as many workers, those of this process first.
func (b *Bell) Ring(queue string, n int) {
	if n -= b.Near(queue, n); n > 0 && b.Carry != nil {
		b.Carry(queue, n)
	}
}

// Near wakes at most n workers of this process and returns how many.
func (b *Bell) Near(queue string, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue(queue)
	q.rung++
	n = min(n, len(q.idle))
	for _, c := range q.idle[:n] {
		close(c)
	}
	q.idle = q.idle[n:]
	return n
}

// All wakes all workers of this process and calls all who hold a record: something may
// not have been heard.
func (b *Bell) All() {
	b.call(func(holding) bool { return true })
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queues {
		q.rung++
		for _, c := range q.idle {
			close(c)
		}
		q.idle = nil
	}
}

// Hold calls moved when a record may have been moved, until release is called. It may be
// called in vain, by any goroutine, and returns at once.
func (b *Bell) Hold(queue, id string, moved func()) (release func()) {
	b.hear()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holders == nil {
		b.holders = map[holding][]*func(){}
	}
	h, f := holding{queue, id}, &moved
	b.holders[h] = append(b.holders[h], f)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.holders[h] = slices.DeleteFunc(b.holders[h], func(g *func()) bool { return g == f }); len(b.holders[h]) == 0 {
			delete(b.holders, h)
		}
	}
}

// Moved says, after the commit, that a record has left a state in which a worker may hold
// it. It calls who holds it in this process; where nobody does, it tells other processes.
func (b *Bell) Moved(queue, id string) {
	if !b.MovedNear(queue, id) && b.CarryMove != nil {
		b.CarryMove(queue, id)
	}
}

// MovedNear calls who holds the record in this process, and reports whether anybody does.
// An empty id names each record of the queue.
func (b *Bell) MovedNear(queue, id string) bool {
	if id == "" {
		return b.call(func(h holding) bool { return h.queue == queue })
	}
	b.mu.Lock()
	list := slices.Clone(b.holders[holding{queue, id}])
	b.mu.Unlock()
	for _, f := range list {
		(*f)()
	}
	return len(list) > 0
}

// call calls who holds such records, and reports whether anybody does.
func (b *Bell) call(such func(holding) bool) bool {
	b.mu.Lock()
	var list []*func()
	for h, fs := range b.holders {
		if such(h) {
			list = append(list, fs...)
		}
	}
	b.mu.Unlock()
	for _, f := range list {
		(*f)()
	}
	return len(list) > 0
}

// hear connects the bell with other processes, once.
func (b *Bell) hear() {
	if b.Hear != nil {
		b.heard.Do(b.Hear)
	}
}

// Mark returns what Wait is given by a worker that looks before it waits, so that
// nothing is lost which is rung in between.
func (b *Bell) Mark(queue string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue(queue).rung
}

// Wait waits until the queue is rung for the worker, at once where it was rung since the
// mark, and at most for d. It returns when ctx ends, too.
func (b *Bell) Wait(ctx context.Context, queue string, mark uint64, d time.Duration) {
	b.hear()
	b.mu.Lock()
	q := b.queue(queue)
	if q.rung != mark {
		b.mu.Unlock()
		return
	}
	woken := make(chan struct{})
	q.idle = append(q.idle, woken)
	b.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-woken:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, c := range q.idle {
		if c == woken {
			q.idle = append(q.idle[:i:i], q.idle[i+1:]...)
			return
		}
	}
	if ctx.Err() != nil && len(q.idle) > 0 { // it was woken as it left: another one looks
		close(q.idle[0])
		q.idle = q.idle[1:]
	}
}
