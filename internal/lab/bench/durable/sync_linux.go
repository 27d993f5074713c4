package durable

import (
	"os"
	"syscall"
)

// dataSync waits until what was written to the file is on the disk.
func dataSync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
