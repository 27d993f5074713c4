package inspect

import (
	"maps"
	"sync"
	"time"
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
	// Skew is how far the database's clock was ahead of the process's when they were last
	// compared; 0 where it is close enough (fsm.WithMaxSkew). The machine uses the database's.
	Skew time.Duration
	// Lag is the age of the oldest committed event that Log and Watch held back when one of them
	// last came to the end of the log, and HeldBy the transaction that they wait for.
	Lag    time.Duration
	HeldBy string
	// Refused counts by effect the deliveries that gave up and whose step under `failed` was
	// refused, as far as this process has called it: they stay until the step is taken.
	Refused map[string]int64
	// Swept is when a sweep of this process last came to its end: no record kept it from that, and the store
	// answered. Zero: none has.
	Swept time.Time
}

// State holds what the newest check has found.
type State struct {
	mu   sync.Mutex
	last *CheckRun
}

// CheckRun is one check while it runs and after it.
type CheckRun struct {
	of *State
	h  Health
}

// Begin notes that a check has begun.
func (s *State) Begin(full bool, now time.Time) *CheckRun {
	run := &CheckRun{of: s, h: Health{Running: true, Full: full, Began: now, Findings: map[string]int64{}}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = run
	return run
}

// Change changes what is told of the check.
func (r *CheckRun) Change(f func(h *Health)) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	f(&r.h)
}

// Expect says how many records there are.
func (r *CheckRun) Expect(total int64) { r.Change(func(h *Health) { h.Total = total }) }

// Found counts a finding.
func (r *CheckRun) Found(f *Finding) { r.Change(func(h *Health) { h.Findings[f.Check]++ }) }

// Record counts a record.
func (r *CheckRun) Record(quarantined bool) {
	r.Change(func(h *Health) {
		h.Records++
		if quarantined {
			h.Quarantined++
		}
	})
}

// End notes that the check has ended, and returns how many findings there are of each check.
func (r *CheckRun) End(err error, now time.Time) map[string]int64 {
	found := map[string]int64{}
	for _, check := range Checks {
		found[check] = 0
	}
	r.Change(func(h *Health) {
		h.Running, h.Ended, h.Err = false, now, err
		maps.Copy(found, h.Findings)
	})
	return found
}

// Last returns what the newest check has found, so far when it is still running.
func (s *State) Last() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return Health{}
	}
	h := s.last.h
	h.Findings = maps.Clone(h.Findings)
	return h
}
