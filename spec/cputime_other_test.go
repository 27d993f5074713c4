//go:build !unix

package spec_test

import "time"

var started = time.Now()

// cpuTime returns the time since the start where the processor time is not
// known.
func cpuTime() time.Duration { return time.Since(started) }
