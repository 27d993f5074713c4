package main

import (
	"os"
	"syscall"
)

// syncData writes a file's data to its disk, and no more of what is about the file than is needed to read it.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
