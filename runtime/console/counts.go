package console

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How long counts are shown before they are made again: a while, and so long that a database is at it for a small part of its
// time, however many people look.
const (
	countsLeast = time.Second
	countsPart  = 20 // times as long as they took
	countsMost  = time.Minute
)

// counted is how many records are in each state. All viewers of a process share it.
type counted struct {
	states []stateCount
	at     time.Time     // by the machine's clock
	asked  time.Time     // by that of the process
	took   time.Duration // what it took to count
	mark   string        // of the end of the log before
	late   error         // why there are no counts: the database took too long; nil: there are
}

// shownAt is when it was counted, where that is worth a word; mark is that of the end of the log, or empty.
func (c *counted) shownAt(now time.Time, mark string) time.Time {
	if now.Sub(c.at) < countsLeast || c.mark == mark {
		return time.Time{}
	}
	return c.at
}

// fresh reports whether it need not be counted again. While the log is as it was, little can have changed.
func (c *counted) fresh(mark string) bool {
	age := time.Since(c.asked)
	return age < countsMost && (age < max(countsLeast, countsPart*c.took) || c.late == nil && mark != "" && c.mark == mark)
}

// counting holds the counts of a machine.
type counting struct {
	turn chan struct{} // of size 1: who counts
	mu   sync.Mutex
	last *counted
}

func newCounting() *counting { return &counting{turn: make(chan struct{}, 1)} }

func (c *counting) get() *counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// counts returns how many records are in each state, and which one waits longest there. One viewer at a time has them counted; who comes
// meanwhile is shown the counts before, where there are some, and else waits as long as a query may. Where the database does not answer in
// time, nobody asks it again for a while either. mark is that of the end of the log, where it is known.
func (m *Machine) counts(ctx context.Context, mark string) (*counted, error) {
	if m.closed != nil {
		return nil, m.closed
	}
	of := m.counting
	last := of.get()
	if last != nil && last.fresh(mark) {
		return last, last.late
	}
	select {
	case of.turn <- struct{}{}:
	default:
		if last != nil && last.late == nil {
			return last, nil
		}
		wait, cancel := context.WithTimeout(ctx, queryTime)
		defer cancel()
		select {
		case of.turn <- struct{}{}:
		case <-wait.Done():
			return nil, wait.Err()
		}
	}
	defer func() { <-of.turn }()
	if last = of.get(); last != nil && last.fresh(mark) { // somebody has counted meanwhile
		return last, last.late
	}
	next := &counted{at: m.now(), asked: time.Now(), mark: mark}
	if mark == "" {
		var err error
		if next.mark, _, err = m.mark(ctx); err != nil {
			return nil, err
		}
	}
	err := m.look(ctx, func(r driver.Reader) (err error) {
		next.states, err = m.count(r)
		return err
	})
	next.took = time.Since(next.asked)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return nil, err
		}
		next.late = err
	}
	of.mu.Lock()
	of.last = next
	of.mu.Unlock()
	return next, next.late
}

// count counts the records in each state, and looks for the one in it that moved last longest ago, where they are few.
func (m *Machine) count(r driver.Reader) (list []stateCount, err error) {
	all, err := r.CountStates(countMost + 1)
	if err != nil {
		return nil, err
	}
	few, sum := []string{}, int64(0)
	for _, s := range m.schema.States {
		c := stateCount{StateInfo: s, Count: min(all[s.Stored], countMost+1)}
		if !s.Terminal && c.Count > 0 && sum+c.Count <= countMost {
			few, sum = append(few, s.Stored), sum+c.Count
		}
		list = append(list, c)
	}
	if sum == 0 {
		return list, nil
	}
	for row, err := range r.Rows(driver.Query{States: few, Limit: int(sum)}) { // in no order: their states alone find them
		if err != nil {
			return nil, err
		}
		for i := range list {
			if c := &list[i]; c.Stored == row.State && (c.Oldest.IsZero() || row.UpdatedAt.Before(c.Oldest)) {
				c.Oldest = row.UpdatedAt
			}
		}
	}
	return list, nil
}
