package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
	"unsafe"
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx   = kernel32.NewProc("LockFileEx")
	unlockFileEx = kernel32.NewProc("UnlockFileEx")
)

const (
	lockFailImmediately = 1
	lockExclusive       = 2
	errLockViolation    = syscall.Errno(33)
)

// locked is a file that is locked by LockFileEx.
type locked struct{ *os.File }

func openLock(name string, _ fs.FileInfo) (fileLock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open the lock beside the database: %w", err)
	}
	return locked{f}, nil
}

// call locks or unlocks the whole file.
func (f locked) call(proc *syscall.LazyProc, args ...uintptr) error {
	var at syscall.Overlapped
	args = append([]uintptr{f.Fd()}, args...)
	args = append(args, 0, math.MaxUint32, math.MaxUint32, uintptr(unsafe.Pointer(&at)))
	if ok, _, err := proc.Call(args...); ok == 0 {
		return err
	}
	return nil
}

func (f locked) try() (bool, error) {
	switch err := f.call(lockFileEx, lockExclusive|lockFailImmediately); {
	case err == nil:
		return true, nil
	case errors.Is(err, errLockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, f.failed("lock", err)
	}
}

func (f locked) lock() error   { return f.failed("lock", f.call(lockFileEx, lockExclusive)) }
func (f locked) unlock() error { return f.failed("unlock", f.call(unlockFileEx)) }
func (f locked) close() error  { return f.Close() }

func (f locked) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlstore: %s %s: %w", doing, f.Name(), err)
}
