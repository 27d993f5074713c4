package fsmimpl

import (
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// MaxDuration is the longest length that a record holds: 100 years of 365 days.
const MaxDuration = 876000 * time.Hour

// Backoff is the smaller one of longest and base × 2^n.
func Backoff(base, longest time.Duration, n int64) time.Duration {
	for ; n > 0 && base > 0 && base < longest; n-- {
		base *= 2 // twice a length of 100 years at most, which is no overflow
	}
	return min(base, longest)
}

// CutDuration brings a length that may be absent into the form that records hold.
func CutDuration(o driver.Optional[time.Duration]) driver.Optional[time.Duration] {
	if d, ok := o.Get(); ok {
		return driver.Some(d.Truncate(time.Microsecond))
	}
	return o
}

// Micros returns a length that may be absent as JSON has it: a number of microseconds.
func Micros(o driver.Optional[time.Duration]) driver.Optional[int64] {
	if d, ok := o.Get(); ok {
		return driver.Some(d.Microseconds())
	}
	return driver.Optional[int64]{}
}

// OfMicros is the inverse of Micros.
func OfMicros(o driver.Optional[int64]) driver.Optional[time.Duration] {
	if n, ok := o.Get(); ok {
		return driver.Some(time.Duration(n) * time.Microsecond)
	}
	return driver.Optional[time.Duration]{}
}

// Duration reads a length that must be there.
func Duration(r *Reading, to *time.Duration) {
	n, ok := int64(0), false
	v := r.value()
	if n, ok = v.(int64); !ok {
		r.wrong(" holds %T, expected %T", v, n)
		return
	}
	if *to, ok = length(n); !ok {
		r.wrong(" holds %d microseconds, which is no length", n)
	}
}

// DurationOptional reads a length that may be absent.
func DurationOptional(r *Reading, to *driver.Optional[time.Duration]) {
	v := r.value()
	n, ok := v.(int64)
	if !ok {
		if v != nil {
			r.wrong(" holds %T, expected %T", v, n)
		}
		return
	}
	d, ok := length(n)
	if !ok {
		r.wrong(" holds %d microseconds, which is no length", n)
		return
	}
	*to = driver.Some(d)
}

// length is a number of microseconds that a time.Duration can hold.
func length(n int64) (time.Duration, bool) {
	d := time.Duration(n) * time.Microsecond
	return d, d.Microseconds() == n
}

// appendSpan writes a length as a specification does: 90s, 1h, 1500ms.
func appendSpan(b []byte, d time.Duration) []byte {
	if d == 0 {
		return append(b, "0s"...)
	}
	for _, u := range [...]struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if d%u.size == 0 {
			return append(strconv.AppendInt(b, int64(d/u.size), 10), u.name...)
		}
	}
	return append(b, d.String()...)
}
