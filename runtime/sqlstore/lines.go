package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// A statement that waits for a lock keeps its session from everybody else. So on a server a
// write waits for a lock for a moment only, and then has done nothing. Its call steps into the
// line of what it has met: a record, a group, a place. Who is first there makes the call again,
// with a seat, and waits in its session; the others wait without one. Of the sessions half have
// a seat, so the other half serves who meets nothing.

const (
	moment  = 50 * time.Millisecond // that a write waits for a lock without a seat
	sitting = time.Second           // that it waits with one, before another one may sit down
)

// lines are the calls of a store that wait for locks.
type lines struct {
	seats chan struct{}

	mu sync.Mutex
	of map[string][]chan struct{} // by thing, the turns of those behind the first one
}

func newLines(sessions int) *lines {
	return &lines{seats: make(chan struct{}, max(1, sessions/2)), of: map[string][]chan struct{}{}}
}

// sit waits for a seat as long as the call may.
func (l *lines) sit(ctx context.Context) error {
	waiting, done := call.Waiting(ctx)
	defer done()
	select {
	case l.seats <- struct{}{}:
		return nil
	case <-waiting.Done():
		return call.Ended(ctx)
	}
}

func (l *lines) rise() { <-l.seats }

// enter waits until the call is the first one in the line of a thing.
func (l *lines) enter(ctx context.Context, thing string) error {
	l.mu.Lock()
	behind, others := l.of[thing]
	if !others {
		l.of[thing] = nil
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.of[thing] = append(behind, turn)
	l.mu.Unlock()
	waiting, done := call.Waiting(ctx)
	defer done()
	select {
	case <-turn:
		return nil
	case <-waiting.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.of[thing], turn); i >= 0 {
		l.of[thing] = slices.Delete(l.of[thing], i, i+1)
	} else { // it came at the same moment
		l.pass(thing)
	}
	return call.Ended(ctx)
}

// pass makes the next one the first.
func (l *lines) pass(thing string) {
	behind := l.of[thing]
	if len(behind) == 0 {
		delete(l.of, thing)
		return
	}
	l.of[thing] = behind[1:]
	close(behind[0])
}

// any reports whether anybody waits.
func (l *lines) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of) > 0
}

// spot is where a call stands: it is the first one in the lines of some things.
type spot struct {
	lines  *lines
	things []string
}

// join steps into the lines of more things. All calls do it in one order, and with no line
// left behind, so none waits for one that waits for it.
func (s *spot) join(ctx context.Context, things []string) error {
	if !slices.ContainsFunc(things, func(t string) bool { return !slices.Contains(s.things, t) }) {
		return nil
	}
	all := slices.Concat(s.things, things)
	slices.Sort(all)
	all = slices.Compact(all)
	s.leave()
	for _, thing := range all {
		if err := s.lines.enter(ctx, thing); err != nil {
			return err
		}
		s.things = append(s.things, thing)
	}
	return nil
}

// leave steps out of all lines.
func (s *spot) leave() {
	if len(s.things) == 0 {
		return
	}
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	for _, thing := range s.things {
		s.lines.pass(thing)
	}
	s.things = nil
}

// behind reports whether others are in line for one of things.
func (s *spot) behind(things []string) bool {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if len(s.lines.of) == 0 {
		return false
	}
	return slices.ContainsFunc(things, func(t string) bool {
		_, others := s.lines.of[t]
		return others && !slices.Contains(s.things, t)
	})
}

// record names a record as a thing that is waited for.
func (t *table) record(id string) string { return t.name + "\x00record\x00" + id }

// numbered names places of unique rules by the numbers of their locks.
func (t *table) numbered(numbers []int) (things []string) {
	for _, n := range numbers {
		things = append(things, t.name+"\x00place\x00"+strconv.Itoa(n))
	}
	return things
}

// thingsOf names what a write may wait for: its record, and the places that it takes.
func (t *table) thingsOf(w *driver.Write) []string {
	things := []string{t.record(w.Prev.ID)}
	if enters, _ := t.enters(w); enters {
		things = append(things, t.numbered(numbersOf(t.placesOf(w.Row)))...)
	}
	return things
}

// asks notes what the next statement may wait for. Where others are in line for it already, the
// transaction ends and its call steps in behind them. In a caller's transaction the caller waits.
func (x *txn) asks(things ...string) error {
	if x.err != nil || x.spot == nil {
		return x.err
	}
	x.things = things
	if x.spot.behind(things) {
		x.err = &met{what: "what others wait for", things: things}
	}
	return x.err
}
