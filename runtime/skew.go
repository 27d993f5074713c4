package fsm

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How often a process that claims compares its clock with the store's, and by how much
// they may differ.
const (
	skewEvery = 10 * time.Second
	skewBound = time.Second
)

// maxAhead is by how much the time of a call may be after the machine's clock.
const maxAhead = 24 * time.Hour

// processStart is a time that no change of the clock moves.
var processStart = time.Now()

// skew is what is known of the process's clock beside that of the store.
type skew struct {
	ahead atomic.Int64 // nanoseconds to add to the process's clock; 0: it is close enough
	next  atomic.Int64 // when to compare again, in nanoseconds since processStart
}

// WithMaxSkew sets by how much the clock of the process may differ from that of the
// database, which is PostgreSQL's; the default is a second. Where it differs by more, the
// machine uses the time of the database, warns with both times, and tells health and the
// observer. They are compared at Open, and with claims, sweeps and deliveries, every ten
// seconds at most; where that fails, again a second later. A program with WithClock or
// WithCallerTime has a time of its own, and nothing is compared.
func WithMaxSkew(d time.Duration) Option { return func(o *options) { o.skew = d } }

// compare compares the clocks, unless that was done a short while ago.
func (m *Machine[R]) compare(ctx context.Context) {
	if m.skew == nil || m.joined != nil || driver.Inside(ctx, m.store) != nil {
		return // a transaction is open, which must not wait for another session
	}
	since := int64(time.Since(processStart))
	due := m.skew.next.Load()
	if since < due || !m.skew.next.CompareAndSwap(due, since+int64(skewEvery)) {
		return
	}
	at, took, err := m.store.Now(ctx)
	if err == nil && at.IsZero() {
		return
	}
	if err != nil || took/2 > m.options.skew { // it says nothing; what was known stands
		m.skew.next.Store(since + int64(time.Second))
		return
	}
	own := m.options.process().Add(-took / 2)
	ahead := at.Sub(own)
	if ahead.Abs()-took/2 <= m.options.skew {
		ahead = 0
	}
	before := time.Duration(m.skew.ahead.Swap(int64(ahead)))
	if ahead != 0 && (ahead-before).Abs() > m.options.skew {
		slog.WarnContext(ctx, "the clocks of this process and of the database differ; the machine uses the database's",
			"machine", m.schema.Machine, "process", own.UTC(), "database", at.UTC())
	}
	if m.options.observe != nil {
		if _, end := m.options.observe(ctx, Observed{Machine: m.schema.Machine, Clock: true}); end != nil {
			end(Observation{Skew: ahead})
		}
	}
}

// ahead is what the machine adds to the process's clock.
func (m *Machine[R]) ahead() time.Duration {
	if m.skew == nil {
		return 0
	}
	return time.Duration(m.skew.ahead.Load())
}
