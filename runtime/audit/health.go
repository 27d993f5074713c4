package audit

import "time"

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

// Sound reports whether a check has ended and found nothing wrong, the store takes
// writes, and no effect that gave up stays.
func (h Health) Sound() bool {
	return h.Store == nil && !h.Ended.IsZero() && !h.Running && h.Err == nil && len(h.Findings) == 0 && len(h.Refused) == 0
}

// HealthOf returns what the last check has found, so far when it is still running,
// and how the store is now.
func HealthOf[R any](m Machine[R]) Health {
	engine := m.Core().Engine()
	h := Health(engine.Health.Last())
	h.Store, h.Skew = engine.Store.Failed(), engine.Skew()
	h.Lag, h.HeldBy = engine.Lag()
	h.Refused, h.Swept = engine.Refused(), engine.Swept()
	return h
}
