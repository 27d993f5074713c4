package driver

import "time"

// Time returns t as records hold it: UTC, cut to microseconds, without a
// monotonic clock. Two such times are the same instant when they are ==.
func Time(t time.Time) time.Time {
	t = t.UTC() // which takes the monotonic clock away, too
	// Truncate divides the whole time since the year 1; the second is enough.
	if rest := t.Nanosecond() % 1000; rest != 0 {
		return t.Add(-time.Duration(rest))
	}
	return t
}

// Later returns a time that is microseconds later.
func Later(t time.Time, micros int64) time.Time { return time.UnixMicro(t.UnixMicro() + micros).UTC() }
