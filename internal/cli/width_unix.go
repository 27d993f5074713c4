//go:build linux || darwin

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// columns returns how wide a terminal is, in characters; 0 for what is none.
func columns(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if failed != 0 {
		return 0
	}
	return int(size.columns)
}
