package fsm

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Where the store can glance, a pick is made without a lock: one query shows the
// records, those that other picks of this machine are about to take are left out,
// and what is decided is an ordinary write that compares what it was decided on, so
// that it shares batches with all others. Several rounds are on their way at once.
// The locked round stays what gives every other answer: that there is nothing, that
// the request is known, that another program was faster. So "nothing to do" is said
// by a query that began after the call and waited for those who hold what fits; who
// sees only what others are about to take looks again when one of them has landed.

// aloft is what picks of a machine are about to take, from their decision until
// their write has ended.
type aloft struct {
	mu       sync.Mutex
	records  map[string]bool // ids
	requests map[string]bool // of the picks
	looks    map[*look]bool  // queries that are on their way
	change   chan struct{}   // closed when the next pick has landed; nil: nobody has asked

	// How often the locked way is taken, since another program takes records too.
	locked  int // picks that are still to go that way
	penalty int // how many went that way after the last one that met another
	calm    int // picks that met nobody since
}

// look is a query on its way.
type look struct {
	landed map[string]bool // what was taken since it began: it may show it as it was before
}

// bounds of how many picks lock after one that met another program's.
const (
	leastPenalty = 16
	mostPenalty  = 4096
)

// maxLooks bounds how often a pick waits for those that take what it asks for.
const maxLooks = 8

// careless reports whether the next pick may be made without a lock.
func (a *aloft) careless() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.locked == 0 {
		return true
	}
	a.locked--
	return false
}

// met notes whether a pick without a lock met another writer.
func (a *aloft) met(other bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case other && a.locked == 0: // else it is one of those that were on their way
		a.penalty = min(max(2*a.penalty, leastPenalty), mostPenalty)
		a.locked, a.calm = a.penalty, 0
	case !other && a.penalty > 0:
		if a.calm++; a.calm >= a.penalty {
			a.penalty, a.calm = a.penalty/2, 0
		}
	}
}

// begin notes a query. It returns how many records are on their way to be taken,
// and what is closed when one of them has landed.
func (a *aloft) begin() (l *look, n int, change <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looks == nil {
		a.looks, a.records, a.requests = map[*look]bool{}, map[string]bool{}, map[string]bool{}
	}
	if a.change == nil {
		a.change = make(chan struct{})
	}
	l = &look{landed: map[string]bool{}}
	a.looks[l] = true
	return l, len(a.records), a.change
}

// end forgets a query.
func (a *aloft) end(l *look) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.looks, l)
}

// free reports whether nobody takes the record of a row that a query has shown.
func (a *aloft) free(l *look, id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.records[id] && !l.landed[id]
}

// rise notes what a pick is about to take; false, and nothing noted, when one that
// asks for other records was faster, or the same request is on its way.
func rise[R any](a *aloft, j *pick[R]) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests[j.q.RequestID] || slices.ContainsFunc(j.steps, func(s *step[R]) bool { return a.records[s.row.ID] }) {
		return false
	}
	for _, s := range j.steps {
		a.records[s.row.ID] = true
	}
	a.requests[j.q.RequestID] = true
	return true
}

// land notes that the write of a pick has ended, whatever became of it: who looks
// now looks again.
func land[R any](a *aloft, j *pick[R]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range j.steps {
		delete(a.records, s.row.ID)
		for l := range a.looks {
			l.landed[s.row.ID] = true
		}
	}
	delete(a.requests, j.q.RequestID)
	if a.change != nil {
		close(a.change)
		a.change = nil
	}
}

// pickAhead makes a pick without a lock. Locked says that surely nothing was
// written, and that a locked round has to give the answer.
func (m *Machine[R]) pickAhead(j *pick[R]) (outs []Outcome[R], locked bool, err error) {
	for range maxLooks {
		if err := m.scouts[j.q.op].take(j); err != nil {
			return nil, false, err
		}
		if j.wait == nil {
			break
		}
		select {
		case <-j.wait:
		case <-j.ctx.Done():
			return nil, false, j.ctx.Err()
		}
	}
	switch {
	case j.slow || j.err != nil:
		return nil, false, j.err
	case len(j.steps) == 0:
		return nil, true, nil
	}
	defer land(&m.aloft, j)
	if len(j.steps) == 1 {
		err = m.table.Commit(j.ctx, &j.steps[0].write)
	} else {
		var slow bool
		slow, err = bulkTry(j.ctx, m.table.(Bulk), func(tx ManyTx) error { return tx.WriteMany(writesOf(j.steps)) })
		if slow {
			err = ErrMoved // or anything else: the locked round finds out
		}
	}
	var refused *Refusal
	switch {
	case err == nil:
		m.aloft.met(false)
		return m.taken(j), false, nil
	case errors.Is(err, ErrMoved):
		m.aloft.met(true)
		return nil, true, nil
	case j.ctx.Err() != nil, errors.Is(err, ErrBusy): // who is busy now is asked again by run, after a while
		return nil, false, err
	case retriable(err), errors.As(err, &refused):
		j.slow = true
		return nil, false, nil
	}
	return nil, false, err
}

// scout looks for a batch and decides on what it sees. Each pick takes from what
// those before it left, and writes by itself. Who gets nothing is left to a locked
// round.
func (m *Machine[R]) scout(ctx context.Context, batch []*pick[R]) {
	l, limit, change := m.aloft.begin()
	defer m.aloft.end(l)
	first := batch[0].q
	for _, j := range batch {
		j.steps, j.slow, j.wait, j.err = nil, false, nil, nil
		limit += j.n
	}
	rows, err := m.table.(Glancer).Glance(ctx, Query{States: first.op.From, Where: first.Where, Order: first.op.Order, Limit: limit})
	if err != nil {
		return
	}
	free := make([]*candidate[R], 0, len(rows))
	hidden := false
	for i := range rows {
		row := &rows[i].Row
		if !m.aloft.free(l, row.ID) {
			hidden = true
			continue
		}
		if rec, err := m.load(first.op, row); err == nil { // a quarantined record is never handed out
			free = append(free, &candidate[R]{row, rec, rows[i].Held})
		}
	}
	for _, j := range batch {
		m.tick(j.q)
		steps, rest, err := m.serveFrom(j, free, true)
		switch {
		case errors.Is(err, errHeld): // a locked round waits for nobody who has it
		case err != nil || len(steps) < j.n && len(rows) == limit: // there may be more behind those that were looked at
			j.slow = true
		case len(steps) < j.n && hidden: // one that is on its way may come back
			j.wait = change
		default:
			j.steps, free = steps, rest
		}
	}
	for _, j := range batch { // at last: what has risen lands, whatever happens
		if len(j.steps) > 0 && !rise(&m.aloft, j) {
			j.steps, j.wait = nil, change
		}
	}
}
