package fsm

import (
	"context"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// WithPoll sets how long Watch waits at most until it looks for new events
// again. It looks soon after an event and ever less often while none comes. The
// default is 250 ms.
func WithPoll(longest time.Duration) Option { return func(o *options) { o.poll = longest } }

// shortestPoll is how long Watch waits after an event.
const shortestPoll = 5 * time.Millisecond

// Log returns the events of all records that stand behind the cursor, and ends
// where the log ends now. They come in the order of their commits, those of one
// record by revision: each once, none left out. Store the cursor of an event
// together with what was made of it, and nothing is missed or done twice.
//
// An event may come a little after its commit: a store with several writers
// waits for those that may still put an event before it. At the end of the log the
// observer is told how old the oldest one is that waits, and for whom; of more than 10 s
// there is a warning. An error ends the iteration; go on from the last cursor.
func (m *Machine[R]) Log(ctx context.Context, after driver.Cursor) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) { m.readLog(ctx, &after, yield) }
}

// Watch is Log, but at the end of the log it goes on waiting for what comes,
// until ctx ends; its error is the last thing that is yielded. It asks the store
// again and again, at the latest after WithPoll.
func (m *Machine[R]) Watch(ctx context.Context, after driver.Cursor) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		wait := shortestPoll
		for {
			before := after
			if !m.readLog(ctx, &after, yield) {
				return
			}
			if after != before {
				wait = shortestPoll
			}
			t := time.NewTimer(min(wait, m.options.poll))
			select {
			case <-ctx.Done():
				t.Stop()
				yield(driver.Entry{}, ctx.Err())
				return
			case <-t.C:
			}
			wait = min(2*wait, m.options.poll)
		}
	}
}

// readLog yields the entries behind the cursor, page by page, and moves it. It
// returns false when the iteration is over: after an error, or by the caller.
func (m *Machine[R]) readLog(ctx context.Context, after *driver.Cursor, yield func(driver.Entry, error) bool) bool {
	for {
		var page []driver.Entry
		err := m.table.View(ctx, func(r driver.Reader) (err error) {
			page, err = r.Log(*after, inspect.PageSize)
			return err
		})
		if err != nil {
			yield(driver.Entry{}, err)
			return false
		}
		for _, e := range page {
			*after = e.Cursor
			if !yield(e, nil) {
				return false
			}
		}
		if len(page) < inspect.PageSize {
			m.tellLag(ctx)
			return true
		}
	}
}

// How often the end of a log is looked at, and what lag is worth a warning.
const (
	lagEvery = time.Second
	lagBound = 10 * time.Second
)

// lag is what is known of the events that the log holds back.
type lag struct {
	next atomic.Int64 // when to look again, in nanoseconds since processStart
	last atomic.Pointer[heldBack]
}

// heldBack is how old the oldest event is that the log holds back, and who holds it.
type heldBack struct {
	behind time.Duration
	by     string
}

// lagged is what was found when the end of the log was last looked at.
func (m *Machine[R]) lagged() (behind time.Duration, by string) {
	if h := m.lag.last.Load(); h != nil {
		behind, by = h.behind, h.by
	}
	return behind, by
}

// tellLag tells of what the log holds back, unless that was done a short while ago.
func (m *Machine[R]) tellLag(ctx context.Context) {
	if m.joined != nil || driver.Inside(ctx, m.store) != nil {
		return // the caller's own transaction is open
	}
	since := int64(time.Since(processStart))
	due := m.lag.next.Load()
	if since < due || !m.lag.next.CompareAndSwap(due, since+int64(lagEvery)) {
		return
	}
	var l driver.Lag
	err := m.table.View(ctx, func(r driver.Reader) (err error) {
		l, err = r.Lag()
		return err
	})
	if err != nil {
		return // the next reading meets it
	}
	var behind time.Duration
	if !l.Since.IsZero() {
		behind = max(m.now().Sub(l.Since), time.Microsecond)
	}
	before, _ := m.lagged()
	m.lag.last.Store(&heldBack{behind, l.By})
	if behind > lagBound && before <= lagBound {
		slog.WarnContext(ctx, "the log holds events back while a transaction is open",
			"machine", m.schema.Machine, "lag", behind, "held by", l.By)
	}
	if m.options.observe != nil {
		if _, end := m.options.observe(ctx, Observed{Machine: m.schema.Machine, Log: true}); end != nil {
			end(Observation{Lag: behind, HeldBy: l.By})
		}
	}
}
