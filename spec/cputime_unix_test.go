//go:build unix

package spec_test

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has used. A test that
// watches the clock would fail when the machine is busy with something else.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
