package driver

import (
	"testing"
	"time"
)

// A time has the text of its layout, whatever its zone, and cut to microseconds.
func TestTextOfATime(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		{}, time.UnixMicro(0), time.UnixMicro(-1), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2026, 2, 28, 23, 30, 0, 1_234_567, time.FixedZone("", -3600)), time.Date(1, 1, 1, 0, 0, 0, 120_000_000, time.UTC),
	} {
		if got, want := string(appendTime([]byte("at "), at)), "at "+at.UTC().Format(timeLayout); got != want {
			t.Errorf("%v is %s, want %s", at, got, want)
		}
	}
}
