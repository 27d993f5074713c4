package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Load is writers that go on whatever happens to them, and what they were told.
type Load struct {
	mu      sync.Mutex
	acked   map[string]int
	open    map[string]int // revision asked for, where the answer was an error
	errs    map[string]int // by their kind
	odd     error          // the first error that no caller should get
	last    time.Time      // of an acknowledgement
	longest time.Duration  // between two acknowledgements
	stop    chan struct{}
	wg      sync.WaitGroup
}

// Begin starts writers, the n-th on subjects[n modulo their number].
func Begin(ctx context.Context, writers int, subjects ...*Subject) *Load {
	l := &Load{acked: map[string]int{}, open: map[string]int{}, errs: map[string]int{}, stop: make(chan struct{}), last: time.Now()}
	for w := range writers {
		s := subjects[w%len(subjects)]
		l.wg.Go(func() { l.write(ctx, s, w) })
	}
	return l
}

func (l *Load) write(ctx context.Context, s *Subject, w int) {
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		if err := s.Drive(ctx, fmt.Sprintf("w%d.%d", w, n), 1, Hook{Asked: func(string, int) {}, Told: l.told}); err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (l *Load) told(id string, rev int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.acked[id] = rev
		now := time.Now()
		l.longest = max(l.longest, now.Sub(l.last))
		l.last = now
		return
	}
	l.open[id] = rev
	var refused *fsm.Refusal
	switch {
	case Unknown(err):
		l.errs["unknown"]++
	case errors.Is(err, fsm.ErrBusy):
		l.errs["busy"]++
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		l.errs["late"]++
	case errors.As(err, &refused) && l.odd == nil:
		l.odd = fmt.Errorf("%s, step %d: %w", id, rev, err)
	default:
		l.errs["connection"]++
	}
}

// Acked returns how many transitions have been acknowledged so far.
func (l *Load) Acked() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rev := range l.acked {
		n += rev
	}
	return n
}

// Failed returns how many calls have ended with an error of one of the kinds.
func (l *Load) Failed(kinds ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kind := range kinds {
		n += l.errs[kind]
	}
	return n
}

// Result is what a load came to.
type Result struct {
	Verdict
	Open    int            // calls that were answered with an error
	There   int            // of them, those that had been applied
	Errors  map[string]int // by kind: unknown, busy, late, connection
	Longest time.Duration  // without an acknowledgement
}

// End stops the writers, makes every call again that was answered with an
// error, on a subject that works, and holds everything against the store.
func (l *Load) End(ctx context.Context, s *Subject) (Result, error) {
	close(l.stop)
	l.wg.Wait()
	r := Result{Open: len(l.open), Errors: l.errs, Longest: l.longest}
	if l.odd != nil {
		return r, fmt.Errorf("a refusal that has no cause: %w", l.odd)
	}
	acked := maps.Clone(l.acked)
	for id, rev := range l.open {
		there, err := s.Settle(ctx, id, rev)
		if err != nil {
			return r, err
		}
		if there < acked[id] {
			return r, fmt.Errorf("%s: revision %d was acknowledged, only %d was there", id, acked[id], there)
		}
		if there == rev {
			r.There++
		}
		acked[id] = rev
	}
	var err error
	r.Verdict, err = s.Verify(ctx, acked)
	return r, err
}

// Stop stops the writers and holds what was acknowledged against a store, which
// may have lost what it likes: no call is made again.
func (l *Load) Stop(ctx context.Context, s *Subject) (Verdict, error) {
	close(l.stop)
	l.wg.Wait()
	return s.Verify(ctx, l.acked)
}

// String returns the figures.
func (r Result) String() string {
	return fmt.Sprintf("%d acknowledged, lost %d, doubled %d; %d calls failed (%d unknown): %d had been applied, all settled; ledger %d = committed %d",
		r.Acked, r.Lost, r.Doubled, r.Open, r.Errors["unknown"], r.There, r.Ledger, r.Committed)
}
