package fsm

import "time"

// WithProcessClock gives a machine the clock of another process.
func WithProcessClock(now func() time.Time) Option {
	return func(o *options) { o.process = now }
}
