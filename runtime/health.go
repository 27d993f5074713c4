package fsm

import (
	"maps"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Health is what the last check of a machine's records led to: the cheap one
// that NewMachine makes, or an audit.
type Health struct {
	Running     bool             // the check is under way
	Full        bool             // it is an audit, which reads every log
	Began       time.Time        // by the machine's clock; zero: no check was made
	Ended       time.Time        // zero while it runs
	Records     int64            // looked at so far
	Total       int64            // when it began
	Quarantined int64            // of those that were looked at
	Findings    map[string]int64 // how many there are of each check
	Err         error            // what ended it early
	Store       error            // why the store takes no more writes; nil: it does
}

// Sound reports whether a check has ended and found nothing wrong, and the store
// takes writes.
func (h Health) Sound() bool {
	return h.Store == nil && !h.Ended.IsZero() && !h.Running && h.Err == nil && len(h.Findings) == 0
}

// Health returns what the last check has found, so far when it is still running,
// and how the store is now.
func (m *Machine[R]) Health() Health {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	var h Health
	if m.health.last != nil {
		h = m.health.last.h
		h.Findings = maps.Clone(h.Findings)
	}
	if s, ok := m.store.(driver.Failing); ok {
		h.Store = s.Failed()
	}
	return h
}

// health holds the newest check.
type health struct {
	mu   sync.Mutex
	last *checkRun
}

// checkRun is one check while it runs and after it.
type checkRun struct {
	of *health
	h  Health
}

func (s *health) begin(full bool, now time.Time) *checkRun {
	run := &checkRun{of: s, h: Health{Running: true, Full: full, Began: now, Findings: map[string]int64{}}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = run
	return run
}

func (r *checkRun) change(f func(h *Health)) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	f(&r.h)
}

func (r *checkRun) expect(total int64) { r.change(func(h *Health) { h.Total = total }) }

func (r *checkRun) found(f *Finding) { r.change(func(h *Health) { h.Findings[f.Check]++ }) }

func (r *checkRun) record(quarantined bool) {
	r.change(func(h *Health) {
		h.Records++
		if quarantined {
			h.Quarantined++
		}
	})
}

func (r *checkRun) end(err error, now time.Time) {
	r.change(func(h *Health) { h.Running, h.Ended, h.Err = false, now, err })
}
