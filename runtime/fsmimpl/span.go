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

// CutLength brings a length into the form that records hold: whole microseconds. What is less than
// none stays so, and is refused.
func CutLength(d time.Duration) time.Duration {
	if d < 0 {
		return min(d.Truncate(time.Microsecond), -time.Microsecond)
	}
	return d.Truncate(time.Microsecond)
}

// CutDuration is CutLength for a length that may be absent.
func CutDuration(o driver.Optional[time.Duration]) driver.Optional[time.Duration] {
	if d, ok := o.Get(); ok {
		return driver.Some(CutLength(d))
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
		return driver.Some(Length(n))
	}
	return driver.Optional[time.Duration]{}
}

// Length returns a length of microseconds; one that no record holds is negative, so that Check
// finds it.
func Length(micros int64) time.Duration {
	if d, ok := length(micros); ok {
		return d
	}
	return -1
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
