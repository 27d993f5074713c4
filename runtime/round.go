package fsm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// resting are the rounds that ended while effects still run in their lanes.
type resting[R any] struct {
	mu   sync.Mutex
	list []*round[R]
}

// take returns a round to go on with; nil when none rests.
func (s *resting[R]) take() (r *round[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) > 0 { // the one that has rested longest
		r, s.list = s.list[0], s.list[1:]
	}
	return r
}

func (s *resting[R]) put(r *round[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, r)
}

// round is one call of Deliver. What is due when it begins is its own part: the
// round lasts until that is done. Meanwhile it takes what became due since. What
// still runs then stays in its lanes, for the call that goes on with the round.
type round[R any] struct {
	m         *Machine[R]
	begin     time.Time
	done      chan delivered
	lanes     map[string]*lane // by the name of the effect
	running   int
	call      int // counts the calls that went on with it
	own       int // of what runs: due when the call began
	performed int
	failed    []error
}

// lane is what a round performs of one effect.
type lane struct {
	running   int
	more, own bool // after the last claim more may be due; and may have been when the round began
}

// delivered is what became of one delivery.
type delivered struct {
	lane      *lane
	own       int // the call whose own part it is of, or 0
	performed bool
	err       error
}

// run claims and performs. An error of the store ends it; what has begun goes on.
func (r *round[R]) run(ctx context.Context) error {
	tick := time.NewTicker(r.m.options.poll)
	defer tick.Stop()
	for resting := true; resting; {
		select {
		case d := <-r.done:
			if err := r.note(d); err != nil {
				return err
			}
		default:
			resting = false
		}
	}
	for {
		full, err := r.fill(ctx)
		if err != nil || r.own == 0 && !full {
			return err
		}
		if err := r.wait(tick.C); err != nil {
			return err
		}
	}
}

// fill claims for the lanes that are free, and starts what it gets. Only while its own
// part runs it takes what became due since. full reports that there is more for a lane
// that is not free.
func (r *round[R]) fill(ctx context.Context) (full bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	now := r.begin
	if r.own > 0 {
		now = r.m.notBefore(now)
	}
	var names []string
	err = r.m.table.Look(ctx, func(reader driver.Reader) (err error) { // most of the time there is nothing to do
		names, err = reader.Effects(now)
		return err
	})
	if err != nil {
		return false, err
	}
	free := r.free(names, !now.After(r.begin))
	if len(free) < len(names) {
		full = true
	}
	if len(free) == 0 {
		return full, nil
	}
	batch, err := r.m.claim(ctx, now, free)
	for _, d := range batch {
		r.start(ctx, d)
		free[d.Effect]--
	}
	for name, n := range free {
		if l := r.lanes[name]; n > 0 {
			l.more, l.own = false, false
		}
	}
	return full, err
}

// free notes of which effects something is due, and returns for how many of each one
// there is a place. Without lanes all effects have one place between them.
func (r *round[R]) free(names []string, begin bool) map[string]int {
	for name, l := range r.lanes {
		if !slices.Contains(names, name) {
			l.more, l.own = false, false
		}
	}
	free := map[string]int{}
	for i, name := range names {
		l := r.lanes[name]
		if l == nil {
			l = &lane{}
			r.lanes[name] = l
		}
		l.more, l.own = true, l.own || begin
		n := r.m.options.lanes - l.running
		if r.m.options.lanes == 0 && i == 0 {
			n = 1 - r.running
		}
		if n > 0 {
			free[name] = n
		}
	}
	return free
}

func (r *round[R]) start(ctx context.Context, d driver.Delivery) {
	l := r.lanes[d.Effect]
	own, begin := 0, r.begin
	l.running++
	r.running++
	if l.own {
		r.own++
		own = r.call
	}
	go func() {
		performed, err := r.m.perform(ctx, d, begin)
		r.done <- delivered{l, own, performed, err}
	}()
}

// wait waits until there is a free lane and something may have become due: at once
// where more was due than there were lanes, at the next tick otherwise.
func (r *round[R]) wait(tick <-chan time.Time) error {
	for {
		select {
		case d := <-r.done:
			if err := r.note(d); err != nil || d.lane.more || r.own == 0 {
				return err
			}
		case <-tick:
			return nil
		}
	}
}

// rest waits for what runs.
func (r *round[R]) rest() error {
	var err error
	for r.running > 0 {
		err = errors.Join(err, r.note(<-r.done))
	}
	return err
}

// note counts what was delivered and returns an error of the store.
func (r *round[R]) note(d delivered) error {
	d.lane.running--
	r.running--
	if d.own == r.call {
		r.own--
	}
	if d.performed {
		r.performed++
	}
	var failed *EffectError
	var refused *Refusal
	switch {
	case d.err == nil, errors.As(d.err, &failed):
	case d.own != r.call && !errors.As(d.err, &refused) && (errors.Is(d.err, context.Canceled) || errors.Is(d.err, context.DeadlineExceeded)):
		return nil // the context of an earlier call ended; this one's is looked at in fill
	default:
		return d.err
	}
	if d.err != nil {
		r.failed = append(r.failed, d.err)
	}
	return nil
}
