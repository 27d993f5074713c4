//go:build unix

package child

import (
	"syscall"
	"time"
)

// Processor returns the processor time of this process since its start.
func Processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
