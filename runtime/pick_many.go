package fsm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Picks of several callers that ask for the same records are taken along
// together: one query locks as many records as they want in all, and one
// transaction writes them. A caller who finds nobody at work for these records
// picks at once; who comes meanwhile waits and is in the next round. Whoever a
// round cannot serve picks by itself.

// picking gathers the picks of one operation.
type picking[R any] struct {
	run func(ctx context.Context, batch []*pick[R]) // a round

	mu    sync.Mutex
	led   [][]driver.Cond // what the rounds of now ask for, each something else
	queue []*pick[R]
}

// pick is one call on its way through a round.
type pick[R any] struct {
	ctx  context.Context
	n    int
	q    *request[R]
	done chan struct{} // closed when the round is over; nil: the caller runs it

	steps []*step[R] // what it takes in this round
	slow  bool       // surely nothing was written: another way has to give the answer
	err   error
}

// maxPicks bounds the records of a round of several callers.
const maxPicks = 512

// errPickPanic is the answer of those whose round nobody knows the end of.
var errPickPanic = errors.New("another pick of the same batch panicked")

// pickTogether is the first try of a pick.
func (m *Machine[R]) pickTogether(ctx context.Context, n int, q *request[R]) (outs []Outcome[R], slow bool, err error) {
	if _, ok := m.table.(driver.Bulk); !ok {
		return nil, true, nil
	}
	j := &pick[R]{ctx: ctx, n: n, q: q}
	if err := m.picks[q.op].take(j); err != nil {
		return nil, false, err
	}
	if j.slow || j.err != nil {
		return nil, j.slow, j.err
	}
	return m.taken(j), false, nil
}

// taken returns the outcomes of what a pick took.
func (m *Machine[R]) taken(j *pick[R]) []Outcome[R] {
	outs := make([]Outcome[R], len(j.steps))
	for i, s := range j.steps {
		outs[i] = m.stepOutcome(s)
	}
	return outs
}

// take waits until a round has served j. A context that ends before takes it out
// of the queue.
func (p *picking[R]) take(j *pick[R]) error {
	p.mu.Lock()
	if where := j.q.Where; p.leader(where) < 0 {
		p.led = append(p.led, where)
		p.mu.Unlock()
		defer p.next(where)
		p.run(j.ctx, []*pick[R]{j})
		return nil
	}
	j.done = make(chan struct{})
	p.queue = append(p.queue, j)
	p.mu.Unlock()
	select {
	case <-j.done:
	case <-j.ctx.Done():
		if p.leave(j) {
			return j.ctx.Err()
		}
		late := time.NewTimer(parting)
		defer late.Stop()
		select {
		case <-j.done:
		case <-late.C: // the others stay
			return &AmbiguousError{Operation: j.q.op.Name, RequestID: j.q.RequestID, Err: j.ctx.Err()}
		}
	}
	return nil
}

// leave takes a pick out of the queue; false when it is in a round.
func (p *picking[R]) leave(j *pick[R]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queue, j)
	if i < 0 {
		return false
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	return true
}

// leader returns the place in led of who asks for the same; -1: nobody does.
func (p *picking[R]) leader(where []driver.Cond) int {
	return slices.IndexFunc(p.led, func(led []driver.Cond) bool { return inspect.SameConds(led, where) })
}

// next ends a round of one: those who came meanwhile are served by a goroutine of
// their own, which ends when nobody waits any more.
func (p *picking[R]) next(where []driver.Cond) {
	if batch := p.gather(where); batch != nil {
		go p.serve(batch)
	}
}

func (p *picking[R]) serve(batch []*pick[R]) {
	for where := batch[0].q.Where; batch != nil; batch = p.gather(where) {
		p.serveOne(batch)
	}
}

// serveOne runs a round and tells those who wait for it.
func (p *picking[R]) serveOne(batch []*pick[R]) {
	over := false
	defer func() {
		if !over {
			_ = recover() // each of them looks for what became of it
		}
		for _, j := range batch {
			if !over {
				j.slow, j.err = false, errPickPanic
			}
			close(j.done)
		}
	}()
	ctx := batch[0].ctx
	if len(batch) > 1 { // nobody's end is that of the others
		ctx = context.WithoutCancel(ctx)
	}
	p.run(ctx, batch)
	over = true
}

// gather returns who has waited longest for what fits, and those who can be served
// with it; nil when nobody waits for it any more, and then nobody leads.
func (p *picking[R]) gather(where []driver.Cond) []*pick[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	var batch, left []*pick[R]
	n := 0
	for _, j := range p.queue {
		if n > 0 && n+j.n > maxPicks || !inspect.SameConds(where, j.q.Where) {
			left = append(left, j)
			continue
		}
		batch, n = append(batch, j), n+j.n
	}
	p.queue = left
	if batch == nil {
		i := p.leader(where)
		p.led = slices.Delete(p.led, i, i+1)
	}
	return batch
}

// round picks for a batch in one transaction.
func (m *Machine[R]) round(ctx context.Context, batch []*pick[R]) {
	slow, err := bulkTry(ctx, m.table.(driver.Bulk), func(tx driver.ManyTx) error {
		steps, err := m.choose(tx, batch)
		if err != nil {
			return err
		}
		now := m.now()
		for _, j := range batch {
			for _, s := range j.steps {
				if m.over(j.q, s, now) != nil { // it is found out which call is too late
					return errOver
				}
				s.write.Within = m.lasts(j.q, s, now)
			}
		}
		return tx.WriteMany(writesOf(steps)) // it may commit
	})
	if slow || err != nil {
		for _, j := range batch {
			j.slow, j.err = slow, err
		}
	}
}

// choose locks records for a batch and decides on them. Each pick takes from what
// those before it left.
func (m *Machine[R]) choose(tx driver.Tx, batch []*pick[R]) ([]*step[R], error) {
	first, limit := batch[0].q, 0
	for _, j := range batch {
		limit += j.n
	}
	look := m.look(first, limit)
	if look.Park = m.parks(tx, first); look.Park != nil {
		look.Stir = first.at
	}
	rows, err := inspect.Collect(tx, look)
	if err != nil {
		return nil, err
	}
	look.Stir = time.Time{}
	free := make([]*candidate[R], 0, len(rows))
	seen := make(map[string]bool, len(rows))
	for i := range rows {
		seen[rows[i].ID] = true
		if rec, err := m.load(first.op, &rows[i]); err == nil { // a quarantined record is never handed out
			free = append(free, &candidate[R]{row: &rows[i], rec: rec})
		}
	}
	if look.Park != nil && m.stands(tx, first, free) { // each clears the way for itself
		return nil, &errMet{}
	}
	var all []*step[R]
	var idle []*pick[R] // those who found nothing
	made := make(map[string]bool, len(batch))
	for _, j := range batch {
		j.steps, j.slow, j.err = nil, false, nil // the transaction may have begun anew
		m.tick(j.q)
		steps, rest, err := m.serveFrom(j, free)
		switch {
		// The same call twice at the same time waits for the answer of the first, and
		// there may be more behind those that were looked at.
		case err != nil || made[j.q.RequestID] || len(steps) < j.n && len(rows) == limit:
			j.slow = true
		case len(steps) == 0:
			idle = append(idle, j)
		default:
			j.steps, free, all = steps, rest, append(all, steps...)
		}
		made[j.q.RequestID] = true
	}
	held := ""
	if slices.ContainsFunc(idle, func(j *pick[R]) bool { return !j.q.worker }) {
		held, err = heldRecord(tx, look, seen)
	}
	for _, j := range idle {
		if j.slow = held != "" && !j.q.worker; err == nil && !j.slow { // each waits for itself for what others have
			err = m.nothing(tx, j)
		}
	}
	return all, err
}

// candidate is a record that fits a query.
type candidate[R any] struct {
	row *driver.Row
	rec R
}

// serveFrom decides for one pick and returns the records that are left. Its error
// is one that does not speak of a record: it is found out again where it counts.
func (m *Machine[R]) serveFrom(j *pick[R], free []*candidate[R]) (steps []*step[R], rest []*candidate[R], err error) {
	for i, c := range free {
		if len(steps) == j.n {
			return steps, append(rest, free[i:]...), nil
		}
		rest = append(rest, c)
		if j.q.Fits != nil && !j.q.Fits(&c.rec, j.q.at) {
			continue
		}
		s, err := m.decide(j.q.op, &j.q.Call, c.row, c.rec, c.row.ID, nil, j.q.origin(j.q.RequestID, int64(len(steps))))
		var refused *Refusal
		switch {
		case errors.As(err, &refused) && ofRecord(refused.Code):
		case err != nil:
			return nil, nil, err
		case s.write.Row != nil: // else it would be recorded only: it does not pass `require`
			steps, rest = append(steps, s), rest[:len(rest)-1]
		}
	}
	return steps, rest, nil
}

// nothing answers a pick that nothing is left for, unless it was made before.
func (m *Machine[R]) nothing(tx driver.Tx, j *pick[R]) error {
	if !j.q.own {
		events, err := tx.Request("", j.q.RequestID)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			j.slow = true
			return nil
		}
	}
	j.err = m.unless(j.q, "", m.refusal(ErrNothingToDo, j.q.op, "", ""))
	return nil
}
